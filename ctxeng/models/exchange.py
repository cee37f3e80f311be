"""The wire: from a request to the API's parameters, and from the API's message to a response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage, is_token_count
from ctxeng.core.errors import (
    EmptyAnswer,
    KeyRefused,
    MalformedTool,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
)
from ctxeng.core.text import well_formed
from ctxeng.models.catalogue import facts_of, request_defaults
from ctxeng.models.schema import first_fault

if TYPE_CHECKING:
    from anthropic.types import Message

USELESS = (ModelRefused, EmptyAnswer, MalformedTool)  # worth asking again


def parameters(request: ModelRequest) -> dict[str, Any]:
    """Return the body of a request, as the API takes it.

    A tool whose use is forced is only offered to a model that takes no forcing.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [dict(message) for message in request.messages],
    }
    if request.system:
        body["system"] = [dict(block) for block in request.system]
    tools = [dict(tool) for tool in request.tools]
    if request.tool is not None:
        tools.append(dict(request.tool))
        forced = {"type": "tool", "name": request.tool["name"]}
        takes = facts_of(request.model).forced_tool
        body["tool_choice"] = forced if takes else {"type": "auto"}
    if tools:
        body["tools"] = tools
    return {**body, **request_defaults(request.model, request.extra), **dict(request.extra)}


def message_of(request: ModelRequest, answer: object) -> Message:
    """Return the SDK's answer if it has the shape of a message: it passes on whatever came.

    Raises:
        ModelUnavailable: it has not.
    """
    from anthropic.types import Message

    readable = (
        isinstance(answer, Message)
        and isinstance(answer.content, list)
        and all(map(_is_block, answer.content))
        and isinstance(answer.model, str)
        and all(map(is_token_count, _counts(answer)))
    )
    if not readable:
        raise unreadable(request)
    return cast("Message", answer)


def _is_block(block: object) -> bool:
    kind = getattr(block, "type", None)
    return isinstance(kind, str) and (
        kind != "text" or isinstance(getattr(block, "text", None), str | None)
    )


def _counts(message: Message) -> tuple[object, ...]:
    """Return what stands where tokens are billed; what caching may leave out counts as 0."""
    usage = message.usage
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return (
        getattr(usage, "input_tokens", None),
        getattr(usage, "output_tokens", None),
        *(getattr(usage, name, None) or 0 for name in cached),
    )


def unreadable(request: ModelRequest) -> ModelUnavailable:
    """Return the error for an answer that is no message."""
    return ModelUnavailable(f"response must be a message, got something else ({request.role}).")


def response_of(request: ModelRequest, message: Message) -> ModelResponse:
    """Return a response that can be used.

    Raises:
        ModelRefused, EmptyAnswer, MalformedTool: the answer is of no use; asking again may help.
        ModelRejected: the prompt does not fit the model's window.
    """
    if message.stop_reason == "refusal":
        raise ModelRefused(f"the model declined ({request.role}).")
    if message.stop_reason == "model_context_window_exceeded":
        raise ModelRejected(f"prompt must fit the model's window ({request.role}).")
    text = "".join(block.text or "" for block in message.content if block.type == "text")
    tool_input = _tool_input(request, message)
    if request.tool is None and not text.strip():
        kinds = ", ".join(block.type for block in message.content) or "nothing"
        raise EmptyAnswer(f"answer must hold text, got {kinds} (stop: {message.stop_reason}).")
    return ModelResponse(
        text=well_formed(text),
        tool_input=tool_input,
        stop_reason=message.stop_reason or "end_turn",
        model=message.model,
        usage=usage_of(message),
    )


def usage_of(message: Message) -> Usage:
    """Return the tokens that a message was billed for."""
    usage = message.usage
    return Usage(
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cache_read_input_tokens or 0,
        cache_write_tokens=usage.cache_creation_input_tokens or 0,
        output_tokens=usage.output_tokens,
    )


def status_error(status: int, reason: str) -> ModelRejected | ModelUnavailable:
    """Return the error of an HTTP status that is no success."""
    if status in (408, 409, 425, 429) or status >= 500:
        return ModelUnavailable(f"status {status}: {reason}")
    return (KeyRefused if status in (401, 403) else ModelRejected)(f"status {status}: {reason}")


def _tool_input(request: ModelRequest, message: Message) -> Mapping[str, Any] | None:
    if request.tool is None:
        return None
    name = request.tool["name"]
    if message.stop_reason == "max_tokens":
        raise MalformedTool(f"answer must call {name} whole (stop: max_tokens).")
    for block in message.content:
        if block.type == "tool_use" and block.name == name and isinstance(block.input, Mapping):
            fault = first_fault(block.input, request.tool.get("input_schema", {}), where=name)
            if fault:
                raise MalformedTool(f"{fault}.")
            given = json.dumps(dict(block.input), ensure_ascii=False)
            return cast("dict[str, Any]", json.loads(well_formed(given)))
    raise MalformedTool(f"answer must call {name} (stop: {message.stop_reason}).")
