"""Messages in OpenAI's shape, and its many relatives, as our messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxeng.core.messages import Message
from ctxeng.harness.importers.anthropic_blocks import read_content, result_text
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.values import (
    base64_bytes,
    first_text,
    joined,
    listed,
    mapped,
    moment,
    placeholder,
    text_of,
)
from ctxeng.harness.sessions.text import parse_json

_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
_DATA_URL = re.compile(r"data:([\w.+/-]+);base64,")


def read_message(raw: Any) -> Message | None:
    """Return a message, its seq still 0; None where there is no role or nothing is said.

    Understands content as text, null or parts; ``tool_calls`` and the older ``function_call``;
    tool results; Anthropic's blocks; and parts as OpenTelemetry names them.
    """
    message = mapped(raw)
    role = role_of(message.get("role") or message.get("type"))
    if role is None:
        return None
    text, blocks = _content(message)
    blocks += [_call(call) for call in listed(message.get("tool_calls"))]
    if isinstance(message.get("function_call"), dict):
        blocks.append(_call({"function": message["function_call"], "id": ""}))
    if role == "tool" and not any(str(b["type"]).endswith("tool_result") for b in blocks):
        text, blocks = _result(message, text, blocks)
    if not text.strip() and not blocks:
        return None
    return Message(
        seq=0,
        role=role,
        content=text,
        speaker=text_of(message.get("name")) or None if role in ("user", "assistant") else None,
        timestamp=moment(message.get("timestamp") or message.get("created_at")),
        message_id=text_of(message.get("id")) or None,
        blocks=tuple(blocks),
    )


def _content(message: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    content = message.get("content")
    if content is None and "parts" in message:
        content = message["parts"]
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return text_of(content) or first_text(message, "text", "refusal"), []
    texts, blocks = [], []
    for part in content:
        text, block = _part(part)
        texts.append(text)
        blocks += block
    return joined(texts), blocks


def _part(part: Any) -> tuple[str, list[dict[str, Any]]]:
    if isinstance(part, str):
        return part, []
    block = mapped(part)
    kind = text_of(block.get("type")) or ("text" if "text" in block else "unknown")
    if kind in _TEXT_PARTS:
        return first_text(block, "text", "content", "refusal"), []
    if kind == "reasoning":
        thought = first_text(block, "reasoning", "summary", "text")
        return "", [{"type": "thinking", "thinking": thought}] if thought else []
    reader = _READERS.get(kind)
    if reader is not None:
        return "", [reader(block, kind)]
    content = read_content([block])
    return content.text, content.blocks


def _call(call: Any, _: str = "") -> dict[str, Any]:
    function = mapped(mapped(call).get("function")) or mapped(call)
    name = text_of(function.get("name"))
    arguments = function.get("arguments", function.get("args", function.get("input")))
    return {
        "type": "tool_use",
        "id": first_text(mapped(call), "id", "call_id"),
        "name": name or text_of(mapped(call).get("function")),
        "input": arguments_of(arguments),
    }


def arguments_of(value: Any) -> dict[str, Any]:
    """Return the arguments of a call as an object, however they are written."""
    if isinstance(value, str) and value.strip():
        try:
            value = parse_json(value.encode("utf-8", "replace"))
        except ValueError:
            return {"arguments": value}
    if isinstance(value, dict):
        return value
    return {} if value in (None, "") else {"arguments": value}


def _response(block: Mapping[str, Any], _: str) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": first_text(block, "id", "call_id"),
        "content": result_text(block.get("response", block.get("result"))),
    }


def _result(
    message: Mapping[str, Any], text: str, blocks: list[dict[str, Any]]
) -> tuple[str, list[dict[str, Any]]]:
    call = first_text(message, "tool_call_id", "call_id")
    if not call:
        return text, blocks
    result = {"type": "tool_result", "tool_use_id": call, "content": text}
    return "", [result | ({"is_error": True} if message.get("error") else {}), *blocks]


def _media(block: Mapping[str, Any], kind: str) -> dict[str, Any]:
    about = mapped(block.get(kind)) or mapped(block.get("file")) or block
    url = first_text(about, "url", "image_url", "file_data", "data") or text_of(block.get(kind))
    name = kind.removeprefix("input_").removesuffix("_url")
    found = _DATA_URL.match(url)
    if found or "data" in about:
        media_type = found[1] if found else text_of(about.get("format"))
        data = url[found.end() :] if found else url
        return placeholder(name, media_type=media_type, size=base64_bytes(data),
                           title=first_text(about, "filename"))  # fmt: skip
    return placeholder(name, title=first_text(about, "filename", "file_id") or url[:200])


def read_all(raws: Sequence[Any]) -> list[Message]:
    """Return the messages that say something, numbered."""
    found = [message for raw in raws if (message := read_message(raw)) is not None]
    return [message.with_(seq=seq) for seq, message in enumerate(found)]


_MEDIA = ("image_url", "input_image", "input_audio", "file", "video_url", "audio_url")
_READERS: dict[str, Callable[[Mapping[str, Any], str], dict[str, Any]]] = {
    "tool_call": _call,
    "tool_call_response": _response,
    **dict.fromkeys(_MEDIA, _media),
}
