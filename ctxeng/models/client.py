"""Open a client: a model behind the ledger, with limits."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self, runtime_checkable

from ctxeng.core.calls import ModelClient, ModelRequest, ModelResponse, Usage
from ctxeng.core.errors import CallMissing, ModelError
from ctxeng.models.claims import claimed
from ctxeng.models.keys import call_key
from ctxeng.models.ledger import Ledger
from ctxeng.models.limits import Limits
from ctxeng.models.offline import OFFLINE, OfflineModel
from ctxeng.models.prices import cost_usd
from ctxeng.tokens import HeuristicCounter

CacheMode = Literal["normal", "replay-only", "fresh"]
LAST_SECONDS = 10.0  # how long closing waits for calls in flight


@runtime_checkable
class Closable(Protocol):
    """A client that holds connections."""

    async def aclose(self) -> None:
        """Close them."""
        ...


class LedgerClient:
    """Answers from the ledger where it can, and makes every other call once."""

    def __init__(
        self,
        inner: ModelClient,
        ledger: Ledger,
        *,
        mode: CacheMode = "normal",
        limits: Limits,
        batched: bool = False,
    ) -> None:
        """Put a ledger before a client.

        Args:
            batched: the inner client sends batches, and its calls have the batch price.
        """
        self._inner = inner
        self._batched = batched
        self._ledger = ledger
        self._mode = mode
        self._limits = limits
        self._in_flight: dict[str, asyncio.Task[ModelResponse]] = {}
        self._fresh: set[str] = set()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the answer, from the ledger or by one call; equal calls in flight share it.

        Raises:
            CallMissing: replay-only, and the ledger does not hold the call.
        """
        key = call_key(request)
        if request.subject:
            self._ledger.concerns(key, request.subject)
        if self._mode != "fresh" or key in self._fresh:
            known = self._ledger.find(key)
            if known is not None:
                return known
        if self._mode == "replay-only":
            raise CallMissing(
                f"ledger must hold the call {key[:12]} ({request.role}, {request.prompt_id}), got "
                f"none in {self._ledger.path}. Run once without --cache replay-only."
            )
        running = self._in_flight.get(key)
        if running is not None:
            return replace(await asyncio.shield(running), from_ledger=True)
        running = asyncio.ensure_future(self._call(key, request))
        self._in_flight[key] = running
        running.add_done_callback(lambda task: self._landed(key, task))
        return await asyncio.shield(running)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Give calls in flight a moment to be noted, for they are paid; then close the client."""
        running = list(self._in_flight.values())
        if running and not self._batched:
            await asyncio.wait(running, timeout=LAST_SECONDS)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if isinstance(self._inner, Closable):
            await self._inner.aclose()

    def _landed(self, key: str, task: asyncio.Task[ModelResponse]) -> None:
        self._in_flight.pop(key, None)
        if not task.cancelled():
            task.exception()  # seen: nobody may be waiting for it any more

    async def _call(self, key: str, request: ModelRequest) -> ModelResponse:
        """Make a call, or take the answer of a process that is making it."""
        if self._mode == "fresh":
            return await self._made(key, request)
        async with claimed(self._ledger.path, key):
            known = self._ledger.find(key)
            return known if known is not None else await self._made(key, request)

    async def _made(self, key: str, request: ModelRequest) -> ModelResponse:
        expected = expected_cost_usd(request, batched=self._batched)
        self._limits.reserve(expected_cost_usd=expected)
        cost = None
        try:
            self._ledger.sending(key, request)
            response = await self._inner.complete(request)
            cost = cost_usd(request.model, response.usage, batch=self._batched)
        except ModelError as error:
            if error.usage is not None:
                cost = cost_usd(request.model, error.usage, batch=self._batched)
            error.cost_usd = cost
            self._ledger.failed(key, error)
            raise
        finally:
            self._limits.settle(expected_cost_usd=expected, cost_usd=cost)
        response = replace(response, key=key, cost_usd=cost)
        self._ledger.answered(key, response, replaces=self._mode == "fresh")
        self._fresh.add(key)
        return response


@asynccontextmanager
async def closing(client: ModelClient) -> AsyncIterator[ModelClient]:
    """Yield a client, and close it afterwards if it holds connections."""
    try:
        yield client
    finally:
        if isinstance(client, Closable):
            await client.aclose()


class ModelRouter:
    """Sends each request to the model it names: the offline baseline, or the Messages API.

    The provider's client is made on the first call that needs it, so that offline runs and
    replays from the ledger need neither a key nor a network.
    """

    def __init__(self, open_remote: Callable[[], ModelClient]) -> None:
        self._offline = OfflineModel()
        self._open_remote = open_remote
        self._remote: ModelClient | None = None

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the named model's response."""
        if request.model == OFFLINE:
            return await self._offline.complete(request)
        if self._remote is None:
            self._remote = self._open_remote()
        return await self._remote.complete(request)

    async def aclose(self) -> None:
        """Close the provider's client, if one was made."""
        if isinstance(self._remote, Closable):
            await self._remote.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How calls get to the Messages API.

    Args:
        batched: gather calls into Message Batches. base_url: None for the environment's.
        concurrency, timeout_seconds: calls in flight at once, and what one try may take (live).
        quiet_seconds: with no further call for so long, a batch is sent.
        poll_seconds: how often a batch in flight is asked after.
    """

    batched: bool = False
    base_url: str | None = None
    concurrency: int = 8
    timeout_seconds: float = 120.0
    quiet_seconds: float = 2.0
    poll_seconds: float = 20.0


def open_client(
    *,
    ledger: Ledger,
    mode: CacheMode = "normal",
    limits: Limits | None = None,
    delivery: Delivery | None = None,
) -> LedgerClient:
    """Return a client that answers from the ledger where it can, for any model a request names."""
    how = delivery or Delivery()

    def remote() -> ModelClient:
        if how.batched:
            from ctxeng.models.batches import BatchModel

            return BatchModel(
                ledger,
                base_url=how.base_url,
                quiet_seconds=how.quiet_seconds,
                poll_seconds=how.poll_seconds,
            )
        from ctxeng.models.anthropic_client import AnthropicModel

        return AnthropicModel(
            concurrency=how.concurrency,
            base_url=how.base_url,
            timeout_seconds=how.timeout_seconds,
        )

    return LedgerClient(
        ModelRouter(remote), ledger, mode=mode, limits=limits or Limits(), batched=how.batched
    )


def expected_cost_usd(request: ModelRequest, *, batched: bool = False) -> float:
    """Return an upper estimate of a call's cost; 0 where the price is unknown.

    A third more than the local token estimate (a token per three ASCII characters, 1.4 per
    character of Japanese), all of it written to the cache, and all of ``max_tokens``.
    """
    if not cost_usd(request.model, Usage(cache_write_tokens=1, output_tokens=1), batch=batched):
        return 0.0
    tools = (*request.tools, *((request.tool,) if request.tool is not None else ()))
    counter = HeuristicCounter()
    tokens = sum(counter.count(str(part)) for part in (*request.system, *request.messages, *tools))
    most = Usage(cache_write_tokens=math.ceil(tokens * 4 / 3), output_tokens=request.max_tokens)
    return cost_usd(request.model, most, batch=batched) or 0.0
