"""Requests and clients for tests of whatever asks a model."""

from __future__ import annotations

import asyncio
from typing import Any

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage

HAIKU = "claude-haiku-4-5"


def request(text: str = "What is the budget?", **changes: Any) -> ModelRequest:
    """Return a reader's request that differs from the plain one as told."""
    fields: dict[str, Any] = {
        "role": "reader",
        "model": HAIKU,
        "messages": ({"role": "user", "content": text},),
        "max_tokens": 100,
        "prompt_id": "reader@1",
        **changes,
    }
    return ModelRequest(**fields)


class ScriptedClient:
    """A model client that answers with texts, or raises, in order; the last one is repeated.

    ``held(n)`` makes every call wait until ``release``; ``arrived`` is set by the n-th.
    """

    def __init__(self, *script: str | Exception, usage: Usage | None = None) -> None:
        self.requests: list[ModelRequest] = []
        self.arrived = asyncio.Event()
        self._released = asyncio.Event()
        self._released.set()
        self._awaited = 1
        self._script = list(script)
        self._usage = usage or Usage(input_tokens=10, output_tokens=5)

    def held(self, awaited: int = 1) -> ScriptedClient:
        """Hold calls back from now on."""
        self._awaited = awaited
        self._released.clear()
        return self

    def release(self) -> None:
        """Let every held call go on."""
        self._released.set()

    async def complete(self, asked: ModelRequest) -> ModelResponse:
        """Return the next answer of the script."""
        self.requests.append(asked)
        if len(self.requests) >= self._awaited:
            self.arrived.set()
        await self._released.wait()
        step = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(step, Exception):
            raise step
        return ModelResponse(text=step, model=asked.model, usage=self._usage)
