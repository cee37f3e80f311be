"""The Messages API as a client. Transport faults are retried by the SDK, useless answers here."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage
from ctxeng.core.errors import (
    EmptyAnswer,
    InputError,
    MalformedTool,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
)

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
TRANSPORT_RETRIES = 6
USELESS_RETRIES = 3
TIMEOUT_SECONDS = 120.0
DEADLINE_SECONDS = 900.0


class AnthropicModel:
    """Sends requests to any Messages-compatible server; bounded in flight, with a deadline."""

    def __init__(
        self,
        *,
        concurrency: int = 8,
        base_url: str | None = None,
        transport_retries: int = TRANSPORT_RETRIES,
        useless_retries: int = USELESS_RETRIES,
        timeout_seconds: float = TIMEOUT_SECONDS,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        """Make a client.

        Raises:
            InputError: no key is set. The message names the variable, never a value.
        """
        if not any(os.environ.get(name) for name in KEY_VARIABLES):
            raise InputError(
                f"{KEY_VARIABLES[0]} must be set to call a model over the Messages API. "
                "Set it, or use the model id `offline`."
            )
        self._client = _sdk_client(base_url, transport_retries, timeout_seconds)
        self._slots = asyncio.Semaphore(concurrency)
        self._useless_retries = useless_retries
        self._deadline_seconds = deadline_seconds

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return a usable answer.

        Raises:
            ModelUnavailable: overload, rate limit or connection, after all retries or the deadline.
            ModelRejected: the request is invalid, or does not fit the model's window.
            ModelRefused, EmptyAnswer, MalformedTool: every try came back useless.
        """
        async with self._slots:
            try:
                async with asyncio.timeout(self._deadline_seconds):
                    return await self._usable(request)
            except TimeoutError:
                raise ModelUnavailable(
                    f"call must end within {self._deadline_seconds:.0f} s ({request.role})."
                ) from None

    async def _usable(self, request: ModelRequest) -> ModelResponse:
        for attempt in range(self._useless_retries + 1):
            started = time.perf_counter()
            message = await self._send(request)
            try:
                return _response(request, message, time.perf_counter() - started)
            except (ModelRefused, EmptyAnswer, MalformedTool):
                if attempt == self._useless_retries:
                    raise
        raise AssertionError("the loop returns or raises")

    async def _send(self, request: ModelRequest) -> Message:
        import anthropic

        try:
            return cast("Message", await self._client.messages.create(**_arguments(request)))
        except anthropic.APIStatusError as error:
            raise _status_error(error.status_code, _reason(error.body)) from None
        except anthropic.APIConnectionError as error:
            raise ModelUnavailable(f"{type(error).__name__} ({request.role}).") from None
        except anthropic.APIResponseValidationError:
            raise ModelUnavailable(f"unreadable response ({request.role}).") from None


def _sdk_client(base_url: str | None, retries: int, timeout_seconds: float) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(base_url=base_url, max_retries=retries, timeout=timeout_seconds)


def _arguments(request: ModelRequest) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [dict(message) for message in request.messages],
    }
    if request.system:
        arguments["system"] = [dict(block) for block in request.system]
    tools = [dict(tool) for tool in request.tools]
    if request.tool is not None:
        tools.append(dict(request.tool))
        arguments["tool_choice"] = {"type": "tool", "name": request.tool["name"]}
    if tools:
        arguments["tools"] = tools
    if request.extra:
        arguments["extra_body"] = dict(request.extra)
    return arguments


def _response(request: ModelRequest, message: Message, seconds: float) -> ModelResponse:
    """Return a response that can be used, or raise what is wrong with it."""
    if message.stop_reason == "refusal":
        raise ModelRefused(f"the model declined ({request.role}).")
    if message.stop_reason == "model_context_window_exceeded":
        raise ModelRejected(f"prompt must fit the model's window ({request.role}).")
    text = "".join(block.text for block in message.content if block.type == "text")
    tool_input = _tool_input(request, message)
    if request.tool is None and not text.strip():
        kinds = ", ".join(block.type for block in message.content) or "nothing"
        raise EmptyAnswer(f"answer must hold text, got {kinds} (stop: {message.stop_reason}).")
    return ModelResponse(
        text=text,
        tool_input=tool_input,
        stop_reason=message.stop_reason or "end_turn",
        model=message.model,
        usage=_usage(message),
        latency_seconds=seconds,
    )


def _tool_input(request: ModelRequest, message: Message) -> Mapping[str, Any] | None:
    if request.tool is None:
        return None
    name = request.tool["name"]
    for block in message.content:
        if block.type == "tool_use" and block.name == name and isinstance(block.input, Mapping):
            _require_keys(request.tool, block.input)
            return dict(block.input)
    raise MalformedTool(f"answer must call {name} (stop: {message.stop_reason}).")


def _require_keys(tool: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    missing = [key for key in tool["input_schema"].get("required", ()) if key not in given]
    if missing:
        raise MalformedTool(f"{tool['name']} must be given {', '.join(missing)}.")


def _usage(message: Message) -> Usage:
    usage = message.usage
    return Usage(
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cache_read_input_tokens or 0,
        cache_write_tokens=usage.cache_creation_input_tokens or 0,
        output_tokens=usage.output_tokens,
    )


def _status_error(status: int, reason: str) -> ModelRejected | ModelUnavailable:
    if status in (408, 409, 425, 429) or status >= 500:
        return ModelUnavailable(f"status {status}: {reason}")
    return ModelRejected(f"status {status}: {reason}")


def _reason(body: object) -> str:
    """Return the API's own message, shortened; nothing of the request or its headers."""
    error = body.get("error") if isinstance(body, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else None
    return str(message or "no message")[:300]
