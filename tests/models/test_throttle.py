"""How many calls may be in flight: after a rate limit fewer, after successes more again."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest

from ctxeng.fakeapi import FakeApi, FaultPlan, serving
from ctxeng.models.anthropic_client import AnthropicModel
from ctxeng.models.throttle import Throttle
from tests.support.calls import request


async def test_no_more_than_the_limit_are_in_flight() -> None:
    """Ten tasks through three places; each gets its turn."""
    throttle, most, done = Throttle(3), 0, 0

    async def work() -> None:
        nonlocal most, done
        async with throttle.slot():
            most = max(most, throttle.in_flight)
            await asyncio.sleep(0)
        done += 1

    await asyncio.gather(*(work() for _ in range(10)))
    assert (most, done, throttle.in_flight) == (3, 10, 0)


async def test_rate_limits_of_one_round_count_once() -> None:
    """Ten calls in flight that all hear 429 say one thing, not ten: 10 → 7 → 4.9."""
    throttle = Throttle(10)
    for _ in range(10):
        throttle.observe(429, {}, sent_in_round=0)
    assert throttle.allowed == pytest.approx(7)
    throttle.observe(529, {}, sent_in_round=1)
    assert throttle.allowed == pytest.approx(4.9)
    throttle.observe(500, {}, sent_in_round=2)
    assert throttle.allowed == pytest.approx(4.9)


async def test_a_round_of_successes_allows_one_more_up_to_the_limit() -> None:
    """Additive increase: n answers at n in flight add about one."""
    throttle = Throttle(8)
    throttle.allowed = 4.0
    for _ in range(5):
        throttle.observe(200, {}, sent_in_round=0)
    assert 5.0 < throttle.allowed < 5.2
    for _ in range(100):
        throttle.observe(200, {}, sent_in_round=0)
    assert throttle.allowed == 8.0


async def test_it_never_falls_below_one() -> None:
    """A run behind a hard limit goes on, one call at a time."""
    throttle = Throttle(2)
    for number in range(20):
        throttle.observe(429, {}, sent_in_round=number)
    assert throttle.allowed == 1.0
    async with throttle.slot():
        assert throttle.in_flight == 1


async def test_a_call_that_is_given_up_while_it_waits_leaves_its_place() -> None:
    """Whether it still stood in the queue or had just been called."""
    throttle = Throttle(1)
    async with AsyncExitStack() as held:
        await held.enter_async_context(throttle.slot())
        waiting = [asyncio.create_task(throttle.slot().__aenter__()) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        await held.aclose()  # calls the second, which is given up in the same moment
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    async with asyncio.timeout(5), throttle.slot():
        assert throttle.in_flight == 1


RESET = {"anthropic-ratelimit-tokens-reset": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
PAUSED: dict[str, tuple[int, dict[str, str], bool]] = {
    "asked to wait": (429, {"retry-after": "30"}, True),
    "nothing left": (200, {"anthropic-ratelimit-tokens-remaining": "0", **RESET}, True),
    "something left": (200, {"anthropic-ratelimit-tokens-remaining": "1000", **RESET}, False),
    "no reset is named": (200, {"anthropic-ratelimit-tokens-remaining": "0"}, False),
    "a date that is none": (
        200,
        {"anthropic-ratelimit-x-remaining": "0", "anthropic-ratelimit-x-reset": "soon"},
        False,
    ),
    "a wait that is no number": (429, {"retry-after": "soon"}, False),
}


@pytest.mark.parametrize(("status", "headers", "waits"), PAUSED.values(), ids=PAUSED)
async def test_new_calls_wait_where_the_provider_says_so(
    status: int, headers: dict[str, str], waits: bool
) -> None:
    """By retry-after, or by a limit with nothing left until its reset."""
    throttle = Throttle(4)
    throttle.observe(status, headers, sent_in_round=0)
    entering = asyncio.create_task(throttle.slot().__aenter__())
    for _ in range(3):
        await asyncio.sleep(0)
    assert entering.done() is not waits
    entering.cancel()
    await asyncio.gather(entering, return_exceptions=True)


async def test_a_client_settles_under_the_servers_limit(canary: str) -> None:
    """Thirty-two at once against a server that takes four: all are answered, at a cost of few tries."""
    api = FakeApi(
        faults=FaultPlan(retry_after_seconds=0.001), most_in_flight=4, latency_seconds=0.01
    )
    with serving(api):
        async with AnthropicModel(
            base_url=api.base_url, concurrency=32, transport_retries=40
        ) as model:
            answers = await asyncio.gather(
                *(model.complete(request(f"Number {i} is red. What is red?")) for i in range(120))
            )
        assert len(answers) == 120
        assert model.throttle.allowed < 12
        assert api.counts.messages == 120 + api.faults.made["over_limit"]
