"""The client of a dry run: it answers what is known and stands in for the rest, sending nothing."""

from __future__ import annotations

import pytest

from ctxeng.compaction.guards import drifted
from ctxeng.compaction.models import MEMORY_TOOL, MemoryAnswer
from ctxeng.core.calls import ModelResponse, Usage
from ctxeng.core.markup import nest, wrap
from ctxeng.models import Ledger, PredictingClient
from ctxeng.models.keys import call_key
from ctxeng.tokens import open_counter
from tests.support.calls import request

TARGET = wrap("section", "80", name="target_tokens")
TOOL = {"role": "distiller", "prompt_id": "memory@1", "tool": MEMORY_TOOL, "max_tokens": 560}


def summary(text: str = "予算は1850ドルです。", **changes: object) -> object:
    given = {"role": "summariser", "prompt_id": "episode@1", "max_tokens": 224, **changes}
    return request(f"{text}\n{TARGET}", **given)


def distillation(*items: tuple[str, str]) -> object:
    old = "\n".join(wrap("item", text, id=name, kind="anchor", status="active") for name, text in items)  # fmt: skip
    return request(nest("memory", old) + TARGET, **TOOL)


async def test_a_held_call_is_answered_as_it_was() -> None:
    """Nothing is foretold of it."""
    ledger = Ledger.open(None)
    asked = request()
    ledger.sending(call_key(asked), asked)
    ledger.answered(call_key(asked), ModelResponse(text="1,850", model="m"))
    found = await PredictingClient(ledger).complete(asked)
    assert (found.text, found.from_ledger) == ("1,850", True)


async def test_a_missing_call_is_foretold_once() -> None:
    """Asked again it is as good as in the ledger; the ledger itself learns nothing."""
    ledger = Ledger.open(None)
    client = PredictingClient(ledger)
    first, again = await client.complete(request()), await client.complete(request())
    assert (first.from_ledger, again.from_ledger) == (False, True)
    assert first.text == again.text != ""
    assert ledger.counts() == {"answered": 0, "unanswered": 0}


async def test_a_stand_in_has_the_wanted_length_and_no_language() -> None:
    """80 tokens, give or take a few, for any counter; a Japanese summary does not drift."""
    found = await PredictingClient(Ledger.open(None)).complete(summary())
    for name in ("heuristic", "cl100k"):
        assert open_counter(name).count(found.text) == pytest.approx(80, abs=16)
    assert not drifted(found.text, ["予算は1850ドルです。"])
    assert found.usage.output_tokens == 80
    assert found.cost_usd == pytest.approx((found.usage.input_tokens + 80 * 5) * 1e-6)


async def test_different_calls_have_different_stand_ins() -> None:
    """What reads them must not come to look like one call."""
    client = PredictingClient(Ledger.open(None))
    texts = {(await client.complete(summary(text))).text for text in ("a", "b", "c")}
    assert len(texts) == 3


async def test_a_stand_in_memory_keeps_to_its_tool_and_its_length() -> None:
    """It replaces the oldest item and leaves the others their room."""
    client = PredictingClient(Ledger.open(None))
    empty = await client.complete(distillation())
    (first,) = MemoryAnswer.model_validate(empty.tool_input).items
    assert (first.replaces, open_counter("heuristic").count(first.text)) == (None, pytest.approx(80, abs=2))  # fmt: skip
    later = await client.complete(distillation(("i1", "x" * 40), ("i2", "y" * 200)))
    (second,) = MemoryAnswer.model_validate(later.tool_input).items
    assert second.replaces == "i1"
    assert open_counter("heuristic").count(second.text) == pytest.approx(80 - 50, abs=2)


async def test_readers_and_judges_are_foretold_with_all_they_may_say() -> None:
    """An upper bound; a judge's stand-in decides nothing."""
    client = PredictingClient(Ledger.open(None))
    answer = await client.complete(request("x" * 400))
    assert answer.usage == Usage(input_tokens=100, output_tokens=100)
    judge = await client.complete(request(role="judge", tool={"name": "record_verdict"}))
    assert judge.tool_input == {"verdict": "undecided", "reason": "dry run"}


async def test_the_offline_model_answers_itself() -> None:
    """It is free, so nothing need be guessed."""
    asked = request(wrap("message", "We ship 14 crates to Osaka."), role="summariser", model="offline", prompt_id="episode@1")  # fmt: skip
    found = await PredictingClient(Ledger.open(None)).complete(asked)
    assert "14 crates" in found.text
    assert (found.from_ledger, found.cost_usd) == (False, 0)


async def test_fresh_foretells_what_the_ledger_holds() -> None:
    """The text stays the known one, so that prompts that read it have their true size."""
    ledger = Ledger.open(None)
    asked = request()
    ledger.sending(call_key(asked), asked)
    ledger.answered(call_key(asked), ModelResponse(text="1,850", model="m"))
    found = await PredictingClient(ledger, fresh=True).complete(asked)
    assert (found.text, found.from_ledger) == ("1,850", False)


async def test_a_batch_is_foretold_at_half_the_price() -> None:
    """Input and output alike."""
    plain, batched = (PredictingClient(Ledger.open(None), batch=b) for b in (False, True))
    costs = [(await client.complete(request())).cost_usd for client in (plain, batched)]
    assert costs[0] is not None
    assert costs[1] == pytest.approx(costs[0] / 2)
