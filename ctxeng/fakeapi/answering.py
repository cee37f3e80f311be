"""Answers: a model reads the prompt from the wire, the offline one where no other is given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from ctxeng.core.calls import ModelClient, ModelRequest, ModelResponse, ModelRole
from ctxeng.core.errors import EmptyAnswer
from ctxeng.fakeapi.faults import AnswerFault
from ctxeng.fakeapi.prompt_cache import InputUsage
from ctxeng.fakeapi.rules import blocks_of, tool_uses
from ctxeng.fakeapi.tokens import text_tokens
from ctxeng.models.offline import OFFLINE, VERSION
from ctxeng.models.offline.summarise import SECTIONS

_LENGTH = '<section name="target_tokens"'  # in a summariser's and a distiller's prompt alone
THINKING_TOKENS = 60


async def answer(
    body: Mapping[str, Any],
    usage: InputUsage,
    *,
    digest: str,
    model: ModelClient,
    fault: AnswerFault | None = None,
) -> dict[str, Any]:
    """Return the API's message for a valid request body."""
    name, content, stop = await _content(body, model)
    if fault is not None:
        content, stop = _spoiled(fault, content)
    output = sum(_block_output(block) for block in content)
    return {
        "id": f"msg_{digest[:24]}",
        "type": "message",
        "role": "assistant",
        "model": f"{name}:{body['model']}",  # so that no report takes it for Claude's
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {**usage.body(), "output_tokens": output, "service_tier": "standard"},
    }


async def _content(
    body: Mapping[str, Any], model: ModelClient
) -> tuple[str, list[dict[str, Any]], str]:
    """Return who answered, the blocks, and why they end."""
    request = _request(body)
    try:
        response = await model.complete(request)
    except EmptyAnswer:
        return VERSION, [], "end_turn"
    if response.tool_input is not None and request.tool is not None:
        return response.model, [_tool_use(request.tool["name"], response)], "tool_use"
    text, whole = _within(response.text, body["max_tokens"])
    stop = response.stop_reason if whole else "max_tokens"
    return response.model, [{"type": "text", "text": text}] if text else [], stop


def _request(body: Mapping[str, Any]) -> ModelRequest:
    """Return the request as the offline model takes it; its role is told from the prompt."""
    system = body.get("system", ())
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
    tool = next(iter(tool_uses(body)), None)
    role = _role(body, tool)
    states = all(name in "".join(block["text"] for block in blocks) for name in SECTIONS)
    return ModelRequest(
        role=role,
        model=OFFLINE,
        system=tuple(blocks),
        messages=tuple(body["messages"]),
        tool=tool if role in ("judge", "distiller") else None,
        max_tokens=body["max_tokens"],
        prompt_id="rolling@wire" if states else "episode@wire",
    )


def _role(body: Mapping[str, Any], tool: Mapping[str, Any] | None) -> ModelRole:
    """Return who asks: our prompts state a length or force one of our tools, a reader's do not."""
    last = "".join(block.get("text", "") for block in blocks_of(body["messages"][-1]))
    properties = tool["input_schema"].get("properties", {}) if tool is not None else {}
    if "verdict" in properties:
        return "judge"
    if _LENGTH not in last:
        return "reader"
    return "distiller" if "items" in properties else "summariser"


def _tool_use(name: str, response: ModelResponse) -> dict[str, Any]:
    given = dict(response.tool_input or {})
    digest = hashlib.sha256(orjson.dumps(given)).hexdigest()
    return {"type": "tool_use", "id": f"toolu_{digest[:24]}", "name": name, "input": given}


def _within(text: str, max_tokens: int) -> tuple[str, bool]:
    """Return the text cut to a number of tokens, and whether it is whole."""
    if text_tokens(text) <= max_tokens:
        return text, True
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if text_tokens(text[:middle]) <= max_tokens else (low, middle - 1)
        )
    return text[:low], False


def _spoiled(fault: AnswerFault, content: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """Return a useless answer instead of a good one."""
    thought = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmF0dXJl"}
    tool = next((block for block in content if block["type"] == "tool_use"), None)
    match fault:
        case "refusal":
            return [{"type": "text", "text": "I can't"}], "refusal"
        case "malformed_tool" if tool is not None:
            return [{**tool, "input": {"unexpected": True}}], "tool_use"
        case "max_tokens" if tool is not None:
            return [{**tool, "input": {}}], "max_tokens"
        case "max_tokens":
            return [thought], "max_tokens"
        case _:
            return [thought], "end_turn"


def _block_output(block: Mapping[str, Any]) -> int:
    match block["type"]:
        case "text":
            return text_tokens(block["text"])
        case "tool_use":
            return text_tokens(orjson.dumps(block["input"]).decode())
        case _:
            return THINKING_TOKENS
