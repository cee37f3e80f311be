"""Faults come at the rate that was asked for, by seed and request, whatever the order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import anthropic
import pytest

from ctxeng.fakeapi import FAULTS, FakeApi, FaultPlan
from ctxeng.fakeapi.faults import ITEM_FAULTS
from tests.fakeapi.conftest import body, client


def drawn(plan: FaultPlan, names: list[str]) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    for name in names:
        found.setdefault(name, []).append(plan.for_message(name))
    return found


def test_the_same_seed_gives_the_same_faults_in_any_order() -> None:
    """What happens to a request's n-th try depends on seed, request and n alone."""
    names = [f"r{i}" for i in range(200)] * 3
    shuffled = list(names)
    random.Random(1).shuffle(shuffled)
    first = drawn(FaultPlan(rate=0.2, seed=7), names)
    assert drawn(FaultPlan(rate=0.2, seed=7), shuffled) == first
    assert drawn(FaultPlan(rate=0.2, seed=8), names) != first


def test_every_kind_comes_about_equally_often() -> None:
    """20 % of 20,000 requests, in nine kinds: 444 each; four standard deviations are 84."""
    plan = FaultPlan(rate=0.2, seed=3)
    for i in range(20_000):
        plan.for_message(f"r{i}")
    assert set(plan.made) == set(FAULTS) - set(ITEM_FAULTS)
    assert all(abs(count - 444) < 84 for count in plan.made.values()), plan.made
    assert abs(plan.made.total() - 4000) < 230


def test_after_the_longest_row_a_request_is_answered() -> None:
    """So that a test with a rate of one can end."""
    plan = FaultPlan(rate=1.0, most_in_a_row=2)
    assert [plan.for_message("r") is None for _ in range(6)] == [False, False, True] * 2


def test_without_a_rate_nothing_fails() -> None:
    """The default server is a good one."""
    plan = FaultPlan()
    assert Counter(plan.for_message(f"r{i}") for i in range(1000)) == {None: 1000}


SEEN = {
    "rate_limit": anthropic.RateLimitError,
    "overloaded": anthropic.InternalServerError,
    "server_error": anthropic.InternalServerError,
    "timeout": anthropic.APITimeoutError,
    "dropped": anthropic.APIConnectionError,
}


@pytest.mark.parametrize(("kind", "error"), SEEN.items(), ids=SEEN)
async def test_a_fault_of_transport_is_what_the_sdk_sees(
    start: Callable[..., FakeApi], kind: str, error: type[Exception]
) -> None:
    """Each kind as the SDK's own class; a rate limit says how long to wait."""
    api = start(faults=FaultPlan(rate=1.0, kinds=(kind,), retry_after_seconds=7))
    async with client(api, timeout=0.3 if kind == "timeout" else 30) as sdk:
        with pytest.raises(error) as caught:
            await sdk.messages.create(**body())
    if kind == "rate_limit":
        assert caught.value.response.headers["retry-after"] == "7"
        assert caught.value.body["error"]["type"] == "rate_limit_error"
    assert api.faults.made == {kind: 1}


ANSWERED = {
    "thinking_only": (["thinking"], "end_turn"),
    "refusal": (["text"], "refusal"),
    "max_tokens": (["thinking"], "max_tokens"),
    "malformed_tool": (["thinking"], "end_turn"),
}


@pytest.mark.parametrize(("kind", "shape"), ANSWERED.items(), ids=ANSWERED)
async def test_a_useless_answer_is_a_success_that_is_billed(
    start: Callable[..., FakeApi], kind: str, shape: tuple[list[str], str]
) -> None:
    """Status 200, a stop reason, tokens; without a tool there is no input to spoil."""
    api = start(faults=FaultPlan(rate=1.0, kinds=(kind,)))
    async with client(api) as sdk:
        message = await sdk.messages.create(**body())
    assert ([block.type for block in message.content], message.stop_reason) == shape
    assert message.usage.output_tokens > 0
