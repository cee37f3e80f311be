"""Open a client: a model behind the ledger, with limits."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Literal

from ctxeng.core.calls import ModelClient, ModelRequest, ModelResponse
from ctxeng.core.errors import CallMissing, ModelError
from ctxeng.models.keys import call_key
from ctxeng.models.ledger import Ledger
from ctxeng.models.limits import Limits
from ctxeng.models.offline import OFFLINE, OfflineModel
from ctxeng.models.prices import cost_usd, price_of
from ctxeng.tokens import HeuristicCounter

CacheMode = Literal["normal", "replay-only", "fresh"]


class LedgerClient:
    """Answers from the ledger where it can, and makes every other call once."""

    def __init__(
        self, inner: ModelClient, ledger: Ledger, *, mode: CacheMode = "normal", limits: Limits
    ) -> None:
        self._inner = inner
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
        if running is None:
            running = asyncio.ensure_future(self._call(key, request))
            self._in_flight[key] = running
            running.add_done_callback(lambda _: self._in_flight.pop(key, None))
        return await asyncio.shield(running)

    async def _call(self, key: str, request: ModelRequest) -> ModelResponse:
        expected = expected_cost_usd(request)
        self._limits.reserve(expected_cost_usd=expected)
        cost = None
        try:
            self._ledger.sending(key, request)
            response = await self._inner.complete(request)
            cost = cost_usd(request.model, response.usage)
        except ModelError as error:
            cost = cost_usd(request.model, error.usage) if error.usage is not None else None
            raise
        finally:
            self._limits.settle(expected_cost_usd=expected, cost_usd=cost)
        response = replace(response, key=key, cost_usd=cost)
        self._ledger.answered(key, response, replaces=self._mode == "fresh")
        self._fresh.add(key)
        return response


class ModelRouter:
    """Sends each request to the model it names: the offline baseline, or the Messages API.

    The provider's client is made on the first call that needs it, so that offline runs and
    replays from the ledger need neither a key nor a network.
    """

    def __init__(self, *, concurrency: int = 8, base_url: str | None = None) -> None:
        self._offline = OfflineModel()
        self._remote: ModelClient | None = None
        self._concurrency = concurrency
        self._base_url = base_url

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the named model's response."""
        if request.model == OFFLINE:
            return await self._offline.complete(request)
        if self._remote is None:
            from ctxeng.models.anthropic_client import AnthropicModel

            self._remote = AnthropicModel(concurrency=self._concurrency, base_url=self._base_url)
        return await self._remote.complete(request)


def open_client(
    *,
    ledger: Ledger,
    mode: CacheMode = "normal",
    limits: Limits | None = None,
    concurrency: int = 8,
    base_url: str | None = None,
) -> ModelClient:
    """Return a client that answers from the ledger where it can, for any model a request names."""
    router = ModelRouter(concurrency=concurrency, base_url=base_url)
    return LedgerClient(router, ledger, mode=mode, limits=limits or Limits())


def expected_cost_usd(request: ModelRequest) -> float:
    """Return an upper estimate of a call's cost; 0 where the price is unknown.

    A third more than the local token estimate (a token per three ASCII characters, 1.4 per
    character of Japanese), all of it written to the cache, and all of ``max_tokens``.
    """
    price = price_of(request.model)
    if price is None:
        return 0.0
    tools = (*request.tools, *((request.tool,) if request.tool is not None else ()))
    counter = HeuristicCounter()
    tokens = sum(counter.count(str(part)) for part in (*request.system, *request.messages, *tools))
    given = tokens * 4 / 3
    price = price.for_prompt(int(given))
    return given * price.cache_write + request.max_tokens * price.output
