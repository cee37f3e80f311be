"""The Messages API as a client. Transport faults are retried by the SDK, useless answers here."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage
from ctxeng.core.errors import ModelError, ModelRejected, ModelUnavailable
from ctxeng.models.exchange import (
    USELESS,
    message_of,
    parameters,
    response_of,
    status_error,
    unreadable,
    usage_of,
)
from ctxeng.models.sdk import open_sdk, reason, secrets
from ctxeng.models.throttle import Throttle

if TYPE_CHECKING:
    from anthropic.types import Message

TRANSPORT_RETRIES = 6
USELESS_RETRIES = 5  # at one useless answer in eleven, 1 call in 2 million stays without another
TIMEOUT_SECONDS = 120.0
DEADLINE_SECONDS = 900.0


@dataclass(slots=True)
class _Bill:
    """What the tries of one call that came back useless were billed for."""

    usage: Usage | None = None

    def add(self, usage: Usage) -> None:
        self.usage = usage if self.usage is None else self.usage + usage


class AnthropicModel:
    """Sends requests to any Messages-compatible server; bounded in flight, with a deadline.

    How many are in flight adapts to rate limits (:class:`Throttle`). Close it, or use it with
    ``async with``.
    """

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
        self._secrets = secrets()
        self.throttle = Throttle(concurrency)
        self._client = open_sdk(
            base_url=base_url,
            retries=transport_retries,
            timeout_seconds=timeout_seconds,
            middleware=[self._observed],
        )
        self._useless_retries = useless_retries
        self._deadline_seconds = deadline_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return a usable answer.

        Raises:
            ModelUnavailable: overload, rate limit or connection, after all retries or the deadline.
            ModelRejected: the request is invalid, or does not fit the model's window.
            ModelRefused, EmptyAnswer, MalformedTool: every try came back useless.
        Every error carries the usage that useless tries before it were billed for.
        """
        bill = _Bill()
        async with self.throttle.slot():
            try:
                async with asyncio.timeout(self._deadline_seconds):
                    return await self._usable(request, bill)
            except TimeoutError:
                late = ModelUnavailable(
                    f"call must end within {self._deadline_seconds:g} s ({request.role})."
                )
                late.usage = bill.usage
                raise late from None
            except ModelError as error:
                error.usage = bill.usage
                raise

    async def _usable(self, request: ModelRequest, bill: _Bill) -> ModelResponse:
        for attempt in range(self._useless_retries + 1):
            started = time.perf_counter()
            message = await self._send(request)
            seconds = time.perf_counter() - started
            bill.add(usage_of(message))
            try:
                response = response_of(request, message)
            except USELESS:
                if attempt == self._useless_retries:
                    raise
            else:
                return replace(response, usage=bill.usage or Usage(), latency_seconds=seconds)
        raise AssertionError("the loop returns or raises")

    async def _send(self, request: ModelRequest) -> Message:
        import anthropic

        body = parameters(request)
        named = {name: body.pop(name) for name in ("model", "max_tokens", "messages")}
        try:
            answer: object = await self._client.messages.create(**named, extra_body=body)
        except anthropic.APIStatusError as error:
            raise status_error(error.status_code, reason(error.body, self._secrets)) from None
        except anthropic.AnthropicError as error:
            raise ModelUnavailable(f"{type(error).__name__} ({request.role}).") from None
        except UnicodeEncodeError:
            raise ModelRejected(f"request must be well-formed text ({request.role}).") from None
        except (UnicodeDecodeError, json.JSONDecodeError):
            raise unreadable(request) from None
        return message_of(request, answer)

    async def _observed(self, request: Any, call_next: Any) -> Any:
        """Show every answer's status and headers to the throttle; the SDK calls it for each try."""
        sent_in_round = self.throttle.round
        response = await call_next(request)
        self.throttle.observe(response.status_code, response.headers, sent_in_round=sent_in_round)
        return response
