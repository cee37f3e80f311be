"""Content blocks in Anthropic's shape, as several formats carry them, in our canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxeng.harness.importers.values import base64_bytes, joined, mapped, placeholder, text_of
from ctxeng.harness.sessions.records import encode


@dataclass(slots=True)
class Content:
    """Words and blocks of one message.

    ``results`` counts the blocks that are tool results; ``unknown`` names the block types that are
    kept without being understood.
    """

    texts: list[str] = field(default_factory=list)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    results: int = 0

    @property
    def text(self) -> str:
        """Return the words, a blank line between blocks."""
        return joined(self.texts) if self.texts else ""

    @property
    def only_results(self) -> bool:
        """Return whether the message carries tool results and nothing else."""
        return 0 < self.results == len(self.blocks) and not self.text


def read_content(value: Any) -> Content:
    """Return the content of a message: a string, a list of blocks, or nothing."""
    content = Content()
    if isinstance(value, str):
        content.texts.append(value)
        return content
    for block in value if isinstance(value, list) else ():
        if isinstance(block, dict):
            _read_block(block, content)
        elif isinstance(block, str):
            content.texts.append(block)
    return content


def result_text(value: Any) -> str:
    """Return a tool result as text, with a placeholder for what is no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return text_of(value)
    return "\n".join(part for item in value if (part := _result_part(item)))


def _read_block(block: dict[str, Any], content: Content) -> None:
    kind = block.get("type")
    if not isinstance(kind, str):
        kind = text_of(kind)
    if kind == "text":
        content.texts.append(text_of(block.get("text")))
    elif kind in ("thinking", "redacted_thinking"):
        if text := text_of(block.get("thinking")):
            content.blocks.append({"type": "thinking", "thinking": text})
    elif kind.endswith("tool_use"):
        content.blocks.append(_tool_use(block, kind))
    elif kind.endswith("tool_result"):
        content.blocks.append(_tool_result(block, kind))
        content.results += 1
    elif kind in ("image", "document", "file", "audio", "video"):
        content.blocks.append(media(block, kind))
    else:
        content.blocks.append({**block, "type": kind or "unknown"})
        content.unknown.append(kind or "without a type")


def _tool_use(block: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "id": text_of(block.get("id")),
        "name": text_of(block.get("name")),
        "input": mapped(block.get("input")),
    }


def _tool_result(block: Mapping[str, Any], kind: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "type": kind,
        "tool_use_id": text_of(block.get("tool_use_id")),
        "content": result_text(block.get("content")),
    }
    if block.get("is_error"):
        result["is_error"] = True
    return result


def media(block: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the placeholder of an image or file block."""
    source = mapped(block.get("source"))
    return placeholder(
        kind,
        media_type=text_of(source.get("media_type")),
        size=base64_bytes(source.get("data")),
        title=text_of(block.get("title")) or text_of(source.get("url")),
    )


def _result_part(item: Any) -> str:
    if isinstance(item, str):
        return item
    block = mapped(item)
    kind = text_of(block.get("type"))
    if "text" in block:
        return text_of(block["text"])
    if "source" in block:
        about = media(block, kind or "file")
        size = f", {about['bytes']:,} bytes" if "bytes" in about else ""
        return f"[{kind}: {about.get('media_type', 'unknown')}{size}]"
    for key in ("content", "stdout", "encrypted_content"):
        if key in block and key != "encrypted_content":
            return result_text(block[key])
    words = [text_of(block.get(key)) for key in ("title", "url", "tool_name", "name", "error_code")]
    about_it = " ".join(word for word in words if word)
    if block and not kind and not about_it:
        return encode(block).decode()
    return f"[{kind or 'result'}{f': {about_it}' if about_it else ''}]" if block else ""
