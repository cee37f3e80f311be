"""Stored answers scored and judged again, without the reader and without the database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import InputError, LimitReached, ModelUnavailable
from ctxeng.harness.attribution.stored import StoredRun
from ctxeng.harness.replay.paraphrasing import paraphrase_rows
from ctxeng.harness.replay.rescoring import rescored
from tests.harness.replay.scripted import readers
from tests.support import planted
from tests.support.stored_runs import replayed_run

STRATEGIES = ("episodes", "rolling", "hybrid")
CONTROLS = ("full", "none", "oracle", "restated", "verbatim")


class Judge:
    """Gives one verdict to everybody, and keeps what it was asked."""

    def __init__(self, verdict: str | Exception) -> None:
        self._verdict = verdict
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.requests.append(request)
        if isinstance(self._verdict, Exception):
            raise self._verdict
        given = {"verdict": self._verdict, "reason": "seen"}
        return ModelResponse(text="", tool_input=given, model=request.model, key="k")


@pytest.fixture(scope="module")
def run(server: Path, worker: str, tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """Return a run over one session whose summariser loses one message."""
    folder = tmp_path_factory.mktemp("rescoring")
    plan = planted.plan(
        folder / "scratch",
        arms={name: planted.settings(name) for name in STRATEGIES},
        controls=CONTROLS,
        summariser=planted.LosingSummariser(lambda message, task: message.seq == 14),
    )
    return StoredRun.open(replayed_run(plan, folder, server=server, database=f"rescoring_{worker}"))


def edited(run: StoredRun, **changes: Any) -> StoredRun:
    """Return the run with columns changed in the cell of the lost fact in the episodes arm."""
    cells = [
        {**cell, **changes}
        if (cell["arm"], cell["probe_id"]) == ("episodes", "planted-14")
        else cell
        for cell in run.cells
    ]
    return StoredRun(manifest=run.manifest, tables={**run.tables, "cells": cells})


async def cell_after(run: StoredRun, *arguments: Any) -> dict[str, Any]:
    found = await rescored(run, *arguments)
    return next(
        cell
        for cell in found.cells
        if (cell["arm"], cell["probe_id"]) == ("episodes", "planted-14")
    )


async def test_unchanged_rules_give_every_cell_again(run: StoredRun) -> None:
    """Presence, outcome, loss stage: all that was measured follows from what was stored."""
    found = await rescored(run)
    assert (found.moved, found.stages_moved) == ({}, 0)
    before = [{k: v for k, v in cell.items() if k != "run_id"} for cell in run.cells]
    assert list(found.cells) == before
    assert len(before) == (len(STRATEGIES) + len(CONTROLS)) * len(planted.probes())


@pytest.mark.parametrize(
    ("answer", "outcome", "stage"),
    [
        ("It is KX-0014.", "recalled", None),
        ("It is KX-0099.", "missed", "lost_in_summary"),
        ("I don't know.", "abstained", "lost_in_summary"),
        ("Perhaps it was KX-0014.", "undecided", "lost_in_summary"),
    ],
)
async def test_the_stored_answer_decides(
    run: StoredRun, answer: str, outcome: str, stage: str | None
) -> None:
    """Only the cell whose answer differs moves, and it moves by the rules."""
    changed = edited(run, answer=answer, outcome="abstained", judge_verdict=None)
    cell = await cell_after(changed)
    assert (cell["outcome"], cell["loss_stage"]) == (outcome, stage)
    found = await rescored(changed)
    assert sum(found.moved.values()) == (outcome != "abstained")


async def test_a_stored_verdict_stands_until_a_judge_is_asked(run: StoredRun) -> None:
    """Rescoring keeps what the judge said; rejudging asks about ambiguous answers alone."""
    doubtful = edited(run, answer="Perhaps it was KX-0014.", judge_verdict="correct")
    assert (await cell_after(doubtful))["outcome"] == "recalled"
    judge = Judge("incorrect")
    cell = await cell_after(doubtful, readers(judge=judge))  # type: ignore[arg-type]
    assert (cell["outcome"], cell["judged_by"], cell["judge_verdict"]) == (
        "missed", "judge", "incorrect",
    )  # fmt: skip
    assert [request.role for request in judge.requests] == ["judge"]


async def test_the_audit_sample_is_judged_again(run: StoredRun) -> None:
    """The same seeded sample as in the run, here all of it; an audit never changes an outcome."""
    experiment = {**run.manifest["experiment"], "audit_share": 1.0, "seed": 1}
    audited = replace(run, manifest={**run.manifest, "experiment": experiment})
    judge = Judge("incorrect")
    found = await rescored(audited, readers(judge=judge))  # type: ignore[arg-type]
    assert len(judge.requests) == len(run.cells)
    assert found.moved == {}
    assert {cell["judge_verdict"] for cell in found.cells} == {"incorrect"}
    assert all(cell["audited"] for cell in found.cells)


async def test_a_judge_that_fails_leaves_the_answer_undecided(run: StoredRun) -> None:
    """A failed call is told in the cell and is no verdict."""
    doubtful = edited(run, answer="Perhaps it was KX-0014.", judge_verdict="correct")
    cell = await cell_after(doubtful, readers(judge=Judge(ModelUnavailable("529"))))  # type: ignore[arg-type]
    assert (cell["outcome"], cell["error"]) == ("undecided", "judge ModelUnavailable: 529")


@pytest.mark.parametrize("outcome", ["error", "refused", "skipped"])
async def test_what_nobody_answered_stays_as_it_was(run: StoredRun, outcome: str) -> None:
    """No answer, nothing to score; errors and refusals have no loss stage."""
    cell = await cell_after(edited(run, answer=None, outcome=outcome, error="529"))
    assert (cell["outcome"], cell["error"]) == (outcome, "529")
    assert cell["loss_stage"] == ("lost_in_summary" if outcome == "skipped" else None)


async def test_a_run_without_its_prompts_cannot_be_scored_again(run: StoredRun) -> None:
    """Older or trimmed runs are told what they lack."""
    bare = StoredRun(manifest=run.manifest, tables={**run.tables, "contexts": []})
    with pytest.raises(InputError, match="must hold its probes and prompts"):
        await rescored(bare)


async def test_artifacts_are_asked_about_only_where_a_fact_is_lost(run: StoredRun) -> None:
    """One question for each artifact that covers the lost fact without its value, in each arm."""
    judge = Judge("no")
    told = await paraphrase_rows(run, judge, model="m")
    assert {row["probe_id"] for row in told} == {"planted-14"}
    asked = {(row["arm"], row["artifact_id"]) for row in told}
    rolling = {a.artifact_id for a in run.artifacts("rolling", "planted", 0) if a.covers(14)}
    assert {i for arm, i in asked if arm == "rolling"} == rolling
    assert {i for arm, i in asked if arm == "episodes"} == {"episode/0/12-17/v1"}
    assert {row["states_it"] for row in told} == {False}
    found = await rescored(
        StoredRun(manifest=run.manifest, tables={**run.tables, "paraphrases": told})
    )
    assert found.stages_moved == 0


async def test_a_fact_said_in_other_words_was_not_lost_in_the_summary(run: StoredRun) -> None:
    """The judge finds it in the artifact that the prompt shows: the reader had it."""
    told = await paraphrase_rows(run, Judge("yes"), model="m")
    judged = StoredRun(manifest=run.manifest, tables={**run.tables, "paraphrases": told})
    found = await rescored(judged)
    stages = {
        (cell["arm"], cell["loss_stage"])
        for cell in found.cells
        if cell["probe_id"] == "planted-14"
    }
    assert {("episodes", "reader_missed"), ("rolling", "reader_missed")} <= stages
    (path,) = [
        row for row in judged.paraphrases(
            next(c for c in run.cells if c["arm"] == "episodes" and c["probe_id"] == "planted-14")
        ).items()
    ]  # fmt: skip
    assert path == ("episode/0/12-17/v1", True)


@pytest.mark.parametrize("said", [ModelUnavailable("529"), "maybe"])
async def test_a_judge_of_artifacts_that_fails_says_nothing(run: StoredRun, said: Any) -> None:
    """An error or an unknown word is no verdict, and moves no stage."""
    told = await paraphrase_rows(run, Judge(said), model="m")
    assert told and {row["states_it"] for row in told} == {None}
    found = await rescored(
        StoredRun(manifest=run.manifest, tables={**run.tables, "paraphrases": told})
    )
    assert found.stages_moved == 0


async def test_a_limit_stops_the_judging(run: StoredRun) -> None:
    """The run's limit is for the person at the keyboard, not a verdict."""
    with pytest.raises(LimitReached):
        await paraphrase_rows(run, Judge(LimitReached("max_calls")), model="m")
