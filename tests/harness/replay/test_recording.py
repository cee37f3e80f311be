"""Recording clients, summarisers and distillers: every request leaves a row, a failed one too."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.core.calls import ModelRequest
from ctxeng.core.errors import LimitReached, ModelError, ModelRefused, ModelUnavailable
from ctxeng.core.messages import Message
from ctxeng.core.protocols import Distillation, DistillTask, Summary, SummaryTask
from ctxeng.harness.replay.recording import (
    RecordingClient,
    RecordingDistiller,
    RecordingSummariser,
)
from ctxeng.harness.results.tables import CALLS, INPUTS
from tests.harness.replay.scripted import Scripted
from tests.support.calls import ScriptedClient, request

ADDED = {"run_id", "arm", "session_id"}


async def test_a_call_leaves_its_row_and_returns_the_response() -> None:
    """Role, model, prompt, tokens, money and time as the client told them."""
    recording = RecordingClient(Scripted("三千円"))
    asked: ModelRequest = request("予算は？", role="summariser", prompt_id="episode@1", replicate=2)
    response = await recording.complete(asked)
    assert response.text == "三千円"
    assert recording.rows == [
        {
            "role": "summariser",
            "model": asked.model,
            "prompt_id": "episode@1",
            "replicate": 2,
            "key": "k1",
            "answered_by": "claude-haiku-4-5",
            "input_tokens": 100,
            "cached_tokens": 40,
            "cache_write_tokens": 5,
            "output_tokens": 7,
            "cost_usd": 0.001,
            "latency_seconds": 0.5,
            "from_ledger": False,
        }
    ]
    assert set(recording.rows[0]) | {"error"} == set(CALLS) - ADDED


async def test_the_request_goes_on_unchanged() -> None:
    """What is recorded is what was asked."""
    inner = Scripted("x")
    asked = request("</question>\x00", extra={"temperature": 0})
    await RecordingClient(inner).complete(asked)
    assert inner.requests == [asked]


@pytest.mark.parametrize(
    "error", [ModelRefused("no"), ModelUnavailable("529"), LimitReached("max calls")]
)
async def test_a_failed_call_leaves_a_row_and_is_raised(error: ModelError) -> None:
    """The error is told with its kind; there are no tokens to count."""
    recording = RecordingClient(Scripted(error, "second try"))
    with pytest.raises(type(error)):
        await recording.complete(request())
    await recording.complete(request())
    assert recording.rows[0]["error"] == f"{type(error).__name__}: {error}"
    assert "input_tokens" not in recording.rows[0]
    assert "error" not in recording.rows[1]


async def test_a_price_nobody_knows_stays_unknown() -> None:
    """None, not 0: an unpriced model is not free."""
    recording = RecordingClient(ScriptedClient("x"))
    await recording.complete(request())
    assert recording.rows[0]["cost_usd"] is None


async def test_calls_in_flight_together_have_a_row_each() -> None:
    """Rows are added as calls end, and none is lost."""
    inner = ScriptedClient("x").held(3)
    recording = RecordingClient(inner)
    calls = [asyncio.create_task(recording.complete(request(str(i)))) for i in range(3)]
    await inner.arrived.wait()
    assert recording.rows == []
    inner.release()
    await asyncio.gather(*calls)
    assert len(recording.rows) == 3


MESSAGES = (
    Message(seq=4, role="user", content="予算は三千円"),
    Message(seq=5, role="assistant", content="x" * 900, speaker="Ann"),
)
TASK = SummaryTask(
    kind="episode", messages=MESSAGES, core_from_seq=5, core_to_seq=5, target_tokens=50
)


class Failing:
    """A summariser and a distiller that cannot be reached."""

    lossless = False
    prompt_hash = "h"

    async def summarise(self, task: SummaryTask) -> Summary:
        raise ModelUnavailable("529")

    async def distil(self, task: DistillTask) -> Distillation:
        raise ModelUnavailable("529")


async def test_a_summarisers_task_leaves_what_it_was_given_and_what_came_back() -> None:
    """Messages by reference; the words only of one that was shortened to fit."""
    rows: list[dict[str, Any]] = []
    recording = RecordingSummariser(VerbatimSummariser(), MESSAGES, rows)
    assert (recording.lossless, recording.prompt_hash) == (True, "verbatim")
    summary = await recording.summarise(TASK)
    cut = replace(TASK, messages=(MESSAGES[0], MESSAGES[1].with_(content="x […cut…] x")))
    await recording.summarise(cut)
    about = {"kind": "episode", "level": 0, "from_seq": 5, "to_seq": 5, "seqs": "[[4,5]]"}
    assert rows[0] == {**about, "cut": "{}", "text": summary.text}
    assert rows[1] == {**about, "cut": '{"5":"x […cut…] x"}', "text": "Ann: x […cut…] x"}
    assert set(rows[0]) | {"error"} == set(INPUTS) - ADDED - {"replicate"}


async def test_a_distillers_task_leaves_the_range_it_covers() -> None:
    """From the first episode to the last, with the active items that came back."""
    rows: list[dict[str, Any]] = []
    recording = RecordingDistiller(VerbatimDistiller(), rows)
    task = DistillTask(previous=(), texts=("a", "b"), sources=((0, 5), (6, 11)))
    await recording.distil(task)
    (row,) = rows
    assert (row["kind"], row["from_seq"], row["to_seq"], row["text"]) == ("memory", 0, 11, "a\nb")


async def test_a_task_that_failed_leaves_its_error() -> None:
    """The failure is raised as before, and told in the row."""
    rows: list[dict[str, Any]] = []
    with pytest.raises(ModelUnavailable):
        await RecordingSummariser(Failing(), MESSAGES, rows).summarise(TASK)
    with pytest.raises(ModelUnavailable):
        task = DistillTask(previous=(), texts=("a",), sources=((0, 5),))
        await RecordingDistiller(Failing(), rows).distil(task)
    assert [row["error"] for row in rows] == ["ModelUnavailable: 529"] * 2
