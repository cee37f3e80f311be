"""Two thousand calls of every role through the SDK, with and without a fifth of them failing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ctxeng.compaction.models import MEMORY_TOOL
from ctxeng.core.calls import ModelRequest, Usage
from ctxeng.core.errors import ModelUnavailable
from ctxeng.core.markup import nest, wrap
from ctxeng.fakeapi import FakeApi, FaultPlan, serving
from ctxeng.fakeapi.faults import ANSWER_FAULTS, TRANSPORT_FAULTS
from ctxeng.harness.scoring.judge import JUDGE_TOOL
from ctxeng.models import Ledger, LedgerClient, Limits
from ctxeng.models.anthropic_client import AnthropicModel
from ctxeng.models.client import ModelRouter
from ctxeng.models.offline import OFFLINE, OfflineModel
from ctxeng.models.prices import cost_usd
from tests.support.calls import HAIKU, request
from tests.support.messages_server import answer, error, serving_script, thinking_only

CALLS = 2_000
LENGTH = wrap("section", "40", name="target_tokens")


def call(number: int, model: str) -> ModelRequest:
    """Return the number-th call: every role has its turn, and no two calls are alike."""
    fact = f"Order {number} costs {number + 7} euros. 주문 {number}번은 취소하지 마세요."
    text = {"type": "text", "text": fact}
    match number % 10:
        case 0:
            prompt = nest("transcript", wrap("message", fact, seq=number, speaker="Ana")) + LENGTH
            told: dict[str, Any] = {"role": "summariser", "prompt_id": "episode@1"}
            content: Any = prompt
        case 1:
            notes = wrap("episode", fact, **{"from": 0, "to": 5})
            told = {"role": "distiller", "prompt_id": "memory@1", "tool": MEMORY_TOOL}
            content = nest("memory", "") + nest("episodes", notes) + LENGTH
        case 2:
            told = {"role": "judge", "prompt_id": "judge@1", "tool": JUDGE_TOOL}
            content = wrap("answer", fact)
        case _:
            told = {"role": "reader", "prompt_id": "reader@1"}
            content = [text, {"type": "text", "text": f"What does order {number} cost?"}]
    return request(
        model=model, max_tokens=400, messages=({"role": "user", "content": content},), **told
    )


async def test_with_a_fifth_of_the_calls_failing_every_answer_is_the_same(
    canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers are the model's own, and the server was asked once for each call and each fault."""
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    expected = [await OfflineModel().complete(call(number, OFFLINE)) for number in range(CALLS)]
    quick = [kind for kind in (*TRANSPORT_FAULTS, *ANSWER_FAULTS) if kind != "timeout"]
    kinds = (*quick * 3, "timeout")  # each costs the client three seconds
    plan = FaultPlan(rate=0.2, seed=11, kinds=kinds, retry_after_seconds=0.001)
    ledger = Ledger.open(None)
    with serving(FakeApi(faults=plan)) as api:
        remote = AnthropicModel(
            base_url=api.base_url, concurrency=32, timeout_seconds=3, useless_retries=8
        )
        async with LedgerClient(ModelRouter(lambda: remote), ledger, limits=Limits()) as client:
            asked = (client.complete(call(number, HAIKU)) for number in range(CALLS))
            answers = await asyncio.gather(*asked)
    assert [(a.text, a.tool_input) for a in answers] == [(e.text, e.tool_input) for e in expected]
    assert set(plan.made) == {*TRANSPORT_FAULTS, *ANSWER_FAULTS}
    assert 400 < plan.made.total() < 600
    assert api.counts.messages == CALLS + plan.made.total()
    assert len(api.counts.bodies) == CALLS
    assert ledger.counts() == {"answered": CALLS, "unanswered": 0}


async def test_useless_tries_before_a_fault_of_transport_are_on_the_bill(
    canary: str, tmp_path: Path
) -> None:
    """Two tries of ten and five tokens were paid for; the ledger keeps it, the limit counts it."""
    limits = Limits(max_cost_usd=1.0)
    path = tmp_path / "ledger.sqlite"
    with serving_script(
        thinking_only(), thinking_only(), error(400, "invalid_request_error")
    ) as api:
        remote = AnthropicModel(base_url=api.base_url)
        async with LedgerClient(ModelRouter(lambda: remote), Ledger.open(path), limits=limits) as c:
            with pytest.raises(Exception, match="status 400") as caught:
                await c.complete(request())
    usage = Usage(input_tokens=20, output_tokens=10)
    assert caught.value.usage == usage
    assert caught.value.cost_usd == limits.cost_usd == cost_usd(HAIKU, usage)
    rows = (
        Ledger.open(path)._connection.execute("SELECT error, cost_usd FROM failed_calls").fetchall()
    )
    assert rows == [("ModelRejected", cost_usd(HAIKU, usage))]


async def test_useless_tries_before_the_deadline_are_on_the_bill(canary: str) -> None:
    """A call that ran out of time has paid for what came in time."""
    waits = error(529, "overloaded_error", headers={"retry-after": "60"})
    with serving_script(thinking_only(), waits) as api:
        async with AnthropicModel(base_url=api.base_url, deadline_seconds=1) as model:
            with pytest.raises(ModelUnavailable, match="must end within 1 s") as caught:
                await model.complete(request())
    assert caught.value.usage == Usage(input_tokens=10, output_tokens=5)


async def test_of_equal_calls_at_once_one_is_made_and_one_is_counted(canary: str) -> None:
    """Who joins a call in flight has made none."""
    with serving_script(answer("Kestrel")) as api:
        remote = AnthropicModel(base_url=api.base_url)
        async with LedgerClient(
            ModelRouter(lambda: remote), Ledger.open(None), limits=Limits()
        ) as client:
            answers = await asyncio.gather(*(client.complete(request()) for _ in range(4)))
    assert [a.from_ledger for a in answers] == [False, True, True, True]
    assert len(api.requests) == 1


async def test_closing_waits_for_a_paid_answer_to_be_noted(canary: str) -> None:
    """The caller was cancelled while its call was in flight; the answer is in the ledger."""
    ledger = Ledger.open(None)
    with serving(FakeApi(latency_seconds=0.2)) as api:
        remote = AnthropicModel(base_url=api.base_url)
        async with LedgerClient(ModelRouter(lambda: remote), ledger, limits=Limits()) as client:
            asking = asyncio.create_task(client.complete(request()))
            while not api.counts.messages:  # noqa: ASYNC110 - the server is another thread
                await asyncio.sleep(0.01)
            asking.cancel()
    assert ledger.counts() == {"answered": 1, "unanswered": 0}
