"""The client behind the ledger: every call once, within its limits, for whichever model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.calls import Usage
from ctxeng.core.errors import (
    CallMissing,
    EmptyAnswer,
    InputError,
    LimitReached,
    ModelRejected,
    ModelUnavailable,
)
from ctxeng.models import OFFLINE, Ledger, LedgerClient, Limits, open_client
from ctxeng.models.client import Delivery, expected_cost_usd
from ctxeng.models.keys import call_key
from ctxeng.models.prices import cost_usd
from tests.support.calls import HAIKU, ScriptedClient, request
from tests.support.messages_server import (
    FakeApi,
    answer,
    overloaded,
    thinking_only,
    tool_call,
)


def client(
    inner: ScriptedClient, ledger: Ledger | None = None, *, mode: Any = "normal", **limits: Any
) -> LedgerClient:
    """Return a client over a script."""
    return LedgerClient(inner, ledger or Ledger.open(None), mode=mode, limits=Limits(**limits))


async def test_an_answered_call_is_not_made_again() -> None:
    """The second answer is the first, and says that it is from the ledger."""
    inner = ScriptedClient("1,850", "never")
    asking = client(inner)
    first, second = await asking.complete(request()), await asking.complete(request(role="judge"))
    assert len(inner.requests) == 1
    assert (first.text, first.from_ledger, first.key) == ("1,850", False, call_key(request()))
    assert (second.text, second.from_ledger, second.key) == ("1,850", True, first.key)
    assert second.usage == first.usage


async def test_a_damaged_answer_is_no_answer_and_gives_way_to_the_next() -> None:
    """The call is made once more; replay-only names it as missing."""
    inner, ledger = ScriptedClient("1,850", "1,850 again"), Ledger.open(None)
    await client(inner, ledger).complete(request())
    ledger._connection.execute("UPDATE calls SET response = substr(response, 3)")
    with pytest.raises(CallMissing):
        await client(inner, ledger, mode="replay-only").complete(request())
    texts = [(await client(inner, ledger).complete(request())).text for _ in range(2)]
    assert texts == ["1,850 again", "1,850 again"]
    assert len(inner.requests) == 2


async def test_another_replicate_is_a_call_of_its_own() -> None:
    """So that the variance of a random model can be measured."""
    inner = ScriptedClient("a", "b")
    asking = client(inner)
    texts = [(await asking.complete(request(replicate=i))).text for i in (0, 1, 0, 1)]
    assert texts == ["a", "b", "a", "b"]
    assert len(inner.requests) == 2


async def test_equal_calls_in_flight_share_one_answer() -> None:
    """Eight ask at once while the model is still thinking; one pays."""
    inner = ScriptedClient("shared", "never").held()
    asking = client(inner)
    waiting = [asyncio.ensure_future(asking.complete(request())) for _ in range(8)]
    await inner.arrived.wait()
    inner.release()
    assert {r.text for r in await asyncio.gather(*waiting)} == {"shared"}
    assert len(inner.requests) == 1


async def test_a_caller_that_gives_up_does_not_cost_the_answer() -> None:
    """The call goes on, is stored, and serves who asks next."""
    inner = ScriptedClient("paid for", "never").held()
    asking = client(inner)
    leaving = asyncio.ensure_future(asking.complete(request()))
    await inner.arrived.wait()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    staying = asyncio.ensure_future(asking.complete(request()))
    inner.release()
    assert (await staying).text == "paid for"
    assert len(inner.requests) == 1


async def test_a_failed_call_is_not_kept_and_may_be_made_again() -> None:
    """All that shared it fail; the ledger knows that it was sent."""
    inner = ScriptedClient(ModelUnavailable("overload"), "better")
    ledger = Ledger.open(None)
    asking = client(inner, ledger)
    failed = await asyncio.gather(
        *(asking.complete(request()) for _ in range(3)), return_exceptions=True
    )
    assert [type(error) for error in failed] == [ModelUnavailable] * 3
    assert len(inner.requests) == 1
    assert ledger.counts() == {"answered": 0, "unanswered": 1}
    assert (await asking.complete(request())).text == "better"
    assert ledger.counts() == {"answered": 1, "unanswered": 0}


async def test_replay_only_answers_from_the_ledger_and_makes_no_call(tmp_path: Path) -> None:
    """A missing call is named by key, role and prompt, with the remedy."""
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    await client(ScriptedClient("known"), ledger).complete(request())
    inner = ScriptedClient("never")
    replaying = client(inner, ledger, mode="replay-only", max_calls=0)
    assert (await replaying.complete(request())).text == "known"
    with pytest.raises(CallMissing) as caught:
        await replaying.complete(request("새 질문"))
    assert str(caught.value) == (
        f"ledger must hold the call {call_key(request('새 질문'))[:12]} (reader, reader@1), got "
        f"none in {ledger.path}. Run once without --cache replay-only."
    )
    assert inner.requests == []
    assert ledger.counts() == {"answered": 1, "unanswered": 0}


async def test_a_fresh_run_makes_every_call_once_and_keeps_the_new_answer() -> None:
    """Within the run a call has one answer; the runs after it see that one."""
    ledger = Ledger.open(None)
    await client(ScriptedClient("old"), ledger).complete(request())
    inner = ScriptedClient("new", "never")
    fresh = client(inner, ledger, mode="fresh")
    first, second = await fresh.complete(request()), await fresh.complete(request())
    assert [(r.text, r.from_ledger) for r in (first, second)] == [("new", False), ("new", True)]
    assert len(inner.requests) == 1
    later = await client(ScriptedClient("never"), ledger).complete(request())
    assert later.text == "new"


async def test_a_fresh_call_that_fails_leaves_the_old_answer_in_place() -> None:
    """A broken night costs no earlier result."""
    ledger = Ledger.open(None)
    await client(ScriptedClient("old"), ledger).complete(request())
    with pytest.raises(ModelUnavailable):
        await client(ScriptedClient(ModelUnavailable("x")), ledger, mode="fresh").complete(
            request()
        )
    assert (await client(ScriptedClient("never"), ledger).complete(request())).text == "old"


async def test_the_call_over_the_limit_is_neither_made_nor_noted() -> None:
    """Answers from the ledger are not calls."""
    inner, ledger = ScriptedClient("a", "b"), Ledger.open(None)
    asking = client(inner, ledger, max_calls=1)
    await asking.complete(request())
    await asking.complete(request())
    with pytest.raises(LimitReached, match="--max-calls"):
        await asking.complete(request("another"))
    assert len(inner.requests) == 1
    assert ledger.counts() == {"answered": 1, "unanswered": 0}


async def test_calls_at_once_stay_within_the_limit_on_money() -> None:
    """Of ten calls at the expected price, only those are made that fit together."""
    price = expected_cost_usd(request("0"))
    inner = ScriptedClient("x").held(3)
    asking = client(inner, max_cost_usd=3.5 * price)
    waiting = [asyncio.ensure_future(asking.complete(request(str(i)))) for i in range(10)]
    await inner.arrived.wait()
    inner.release()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert len(inner.requests) == 3
    assert sum(isinstance(outcome, LimitReached) for outcome in outcomes) == 7


async def test_money_is_counted_by_what_was_used_failed_calls_included() -> None:
    """By hand for Haiku 4.5: 10 tokens in and 5 out cost 35 millionths of a dollar."""
    limits = Limits(max_cost_usd=1.0)
    failed = EmptyAnswer("thinking only")
    failed.usage = Usage(input_tokens=40, output_tokens=20)
    inner = ScriptedClient("a", failed, ModelRejected("invalid"))
    asking = LedgerClient(inner, Ledger.open(None), limits=limits)
    response = await asking.complete(request("1"))
    assert response.cost_usd == pytest.approx(35e-6)
    assert limits.cost_usd == pytest.approx(35e-6)
    with pytest.raises(EmptyAnswer):
        await asking.complete(request("2"))
    assert limits.cost_usd == pytest.approx(5 * 35e-6)
    with pytest.raises(ModelRejected):
        await asking.complete(request("3"))
    assert limits.cost_usd == pytest.approx(5 * 35e-6)
    assert (limits.calls, limits.held_usd) == (3, 0.0)


async def test_a_model_of_unknown_price_costs_none() -> None:
    """Not zero: the report says that it does not know."""
    response = await client(ScriptedClient("x")).complete(request(model="local-model"))
    assert response.cost_usd is None


async def test_a_request_that_is_no_json_is_rejected_before_anything_is_counted() -> None:
    """Half an emoji in a question fails its own call only."""
    inner, limits = ScriptedClient("x"), Limits(max_calls=1)
    asking = LedgerClient(inner, Ledger.open(None), limits=limits)
    with pytest.raises(ModelRejected):
        await asking.complete(request("\ud83d"))
    assert (inner.requests, limits.calls) == ([], 0)


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({"text": "a" * 4000}, 1000),
        ({"text": "予" * 1000}, 1050),
        ({"text": "예" * 1000}, 1400),
        ({"text": "", "system": ({"type": "text", "text": "b" * 4000},)}, 1000),
        ({"text": "", "tools": ({"name": "c" * 4000},)}, 1000),
        ({"text": "", "tool": {"name": "d" * 4000}}, 1000),
    ],
    ids=["English", "Japanese", "Korean", "system", "tools", "forced tool"],
)
def test_the_expected_price_covers_the_whole_prompt_in_every_script(
    changes: dict[str, Any], tokens: int
) -> None:
    """Never below the local count at the dearest price of input, plus all of max_tokens."""
    asked = request(**changes)
    least = cost_usd(HAIKU, Usage(cache_write_tokens=tokens, output_tokens=asked.max_tokens))
    assert least is not None
    assert least < expected_cost_usd(asked) < 1.5 * least


@given(st.text(max_size=200), st.integers(1, 5000))
@settings(max_examples=50, deadline=None)
def test_a_longer_prompt_or_answer_is_never_expected_to_cost_less(text: str, tokens: int) -> None:
    """And a model without a price is expected to cost nothing."""
    price = expected_cost_usd(request(text, max_tokens=tokens))
    assert price <= expected_cost_usd(request(text + "予", max_tokens=tokens))
    assert price < expected_cost_usd(request(text, max_tokens=tokens + 1))
    assert expected_cost_usd(request(text, model="local-model", max_tokens=tokens)) == 0


async def test_the_offline_model_needs_no_key_and_is_kept_in_the_ledger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is free, and answers from the prompt."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    ledger = Ledger.open(None)
    asked = request(
        model=OFFLINE,
        messages=(
            {"role": "user", "content": "The budget is 1,850 dollars."},
            {"role": "user", "content": "What is the budget?"},
        ),
    )
    first = await open_client(ledger=ledger).complete(asked)
    assert (first.text, first.cost_usd) == ("The budget is 1,850 dollars.", 0)
    again = await open_client(ledger=ledger, mode="replay-only").complete(asked)
    assert (again.text, again.from_ledger) == (first.text, True)


async def test_a_model_over_the_network_needs_a_key_only_when_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Opening a client and replaying a ledger do not."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    ledger = Ledger.open(None)
    await client(ScriptedClient("known"), ledger).complete(request())
    opened = open_client(ledger=ledger)
    assert (await opened.complete(request())).text == "known"
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY must be set"):
        await opened.complete(request("unknown"))


async def test_a_call_over_the_network_is_paid_once_and_replayed_without_it(
    server: FakeApi, tmp_path: Path
) -> None:
    """The whole way: overload, answer, price, ledger, replay by another client."""
    server.play(overloaded(), answer("Kestrel", usage={"cache_read_input_tokens": 100}))
    path = tmp_path / "ledger.sqlite"
    how = Delivery(base_url=server.base_url)
    async with open_client(ledger=Ledger.open(path), delivery=how) as asking:
        first = await asking.complete(request())
    assert first.text == "Kestrel"
    assert first.cost_usd == pytest.approx((10 * 1 + 100 * 0.1 + 5 * 5) / 1e6)
    assert len(server.requests) == 2
    replay = open_client(ledger=Ledger.open(path), mode="replay-only", delivery=how)
    again = await replay.complete(request())
    assert (again.text, again.cost_usd, again.from_ledger) == ("Kestrel", first.cost_usd, True)
    assert len(server.requests) == 2


async def test_a_forced_tool_call_is_replayed_with_its_input(server: FakeApi) -> None:
    """Structured answers are kept like words."""
    tool = {"name": "record", "input_schema": {"type": "object"}}
    server.play(tool_call("record", {"예산": [1, None]}))
    ledger = Ledger.open(None)
    async with open_client(ledger=ledger, delivery=Delivery(base_url=server.base_url)) as asking:
        await asking.complete(request(tool=tool))
    again = await open_client(ledger=ledger, mode="replay-only").complete(request(tool=tool))
    assert (again.text, again.tool_input) == ("", {"예산": [1, None]})


async def test_money_spent_on_useless_answers_counts_against_the_limit(
    server: FakeApi,
) -> None:
    """Six tries of thinking only cost six answers: 6 * 35 millionths of a dollar."""
    server.play(thinking_only())
    limits = Limits(max_cost_usd=1.0)
    how = Delivery(base_url=server.base_url)
    async with open_client(ledger=Ledger.open(None), limits=limits, delivery=how) as asking:
        with pytest.raises(EmptyAnswer):
            await asking.complete(request())
    assert len(server.requests) == 6
    assert limits.cost_usd == pytest.approx(6 * 35e-6)
