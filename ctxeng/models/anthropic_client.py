"""The Messages API as a client. Transport faults are retried by the SDK, useless answers here."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
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
from ctxeng.core.text import well_formed
from ctxeng.models.schema import first_fault

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
            InputError: no key is set, or one that no header can carry. The message names the
                variable, never a value.
        """
        self._secrets = _secrets()
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
                    f"call must end within {self._deadline_seconds:g} s ({request.role})."
                ) from None

    async def _usable(self, request: ModelRequest) -> ModelResponse:
        wasted = Usage()
        for attempt in range(self._useless_retries + 1):
            started = time.perf_counter()
            message = await self._send(request)
            seconds = time.perf_counter() - started
            used = wasted + _usage(message)
            try:
                return replace(_response(request, message), usage=used, latency_seconds=seconds)
            except (ModelRefused, EmptyAnswer, MalformedTool) as error:
                wasted = error.usage = used
                if attempt == self._useless_retries:
                    raise
        raise AssertionError("the loop returns or raises")

    async def _send(self, request: ModelRequest) -> Message:
        import anthropic

        try:
            answer = await self._client.messages.create(**_arguments(request))
        except anthropic.APIStatusError as error:
            raise _status_error(error.status_code, self._reason(error.body)) from None
        except anthropic.AnthropicError as error:
            raise ModelUnavailable(f"{type(error).__name__} ({request.role}).") from None
        except UnicodeEncodeError:
            raise ModelRejected(f"request must be well-formed text ({request.role}).") from None
        except (UnicodeDecodeError, json.JSONDecodeError):
            raise _unreadable(request) from None
        return _message(request, answer)

    def _reason(self, body: object) -> str:
        """Return the API's own message, shortened; no key, even where the server repeats it."""
        error = body.get("error") if isinstance(body, Mapping) else None
        reason = str((error.get("message") if isinstance(error, Mapping) else None) or "no message")
        for secret in self._secrets:
            reason = reason.replace(secret, "[key]")
        return reason[:300]


def _secrets() -> tuple[str, ...]:
    """Return the keys that are set, for taking them out of messages."""
    found = {name: key for name in KEY_VARIABLES if (key := os.environ.get(name))}
    if not found:
        raise InputError(
            f"{KEY_VARIABLES[0]} must be set to call a model over the Messages API. "
            "Set it, or use the model id `offline`."
        )
    for name, key in found.items():
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise InputError(
                f"{name} must be printable ASCII without spaces. "
                "Set it again; look for a line break or a quotation mark around it."
            )
    return tuple(found.values())


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


def _message(request: ModelRequest, answer: object) -> Message:
    """Return the SDK's answer if it has the shape of a message: it passes on whatever came."""
    from anthropic.types import Message

    readable = (
        isinstance(answer, Message)
        and isinstance(answer.content, list)
        and all(isinstance(getattr(block, "type", None), str) for block in answer.content)
        and isinstance(answer.model, str)
        and isinstance(getattr(answer.usage, "input_tokens", None), int)
        and isinstance(getattr(answer.usage, "output_tokens", None), int)
    )
    if not readable:
        raise _unreadable(request)
    return cast("Message", answer)


def _unreadable(request: ModelRequest) -> ModelUnavailable:
    return ModelUnavailable(f"response must be a message, got something else ({request.role}).")


def _response(request: ModelRequest, message: Message) -> ModelResponse:
    """Return a response that can be used, or raise what is wrong with it."""
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
    )


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
