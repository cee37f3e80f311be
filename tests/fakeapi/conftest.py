"""Fixtures: the local API over HTTP, and the ordinary SDK as its client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from ctxeng.fakeapi import FakeApi, serving

HAIKU = "claude-haiku-4-5"


@pytest.fixture
def start() -> Iterator[Callable[..., FakeApi]]:
    """Return a starter of servers, which are stopped afterwards."""
    running = []

    def begin(**options: Any) -> FakeApi:
        context = serving(FakeApi(**options))
        running.append(context)
        return context.__enter__()

    yield begin
    for context in running:
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def api() -> Iterator[FakeApi]:
    """Keep one server without faults for a module's tests."""
    with serving(FakeApi()) as server:
        yield server


@pytest.fixture
async def sdk(api: FakeApi) -> AsyncIterator[AsyncAnthropic]:
    """Return the SDK's client of that server."""
    async with client(api) as opened:
        yield opened


def client(api: FakeApi, **options: Any) -> AsyncAnthropic:
    """Return the SDK's client of a server; it tries once."""
    return AsyncAnthropic(
        base_url=api.base_url, api_key="any-key", **{"max_retries": 0, "timeout": 30, **options}
    )


def body(**changes: Any) -> dict[str, Any]:
    """Return a plain valid request body that differs as told."""
    return {
        "model": HAIKU,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "The budget is 1,850. What is the budget?"}],
        **changes,
    }
