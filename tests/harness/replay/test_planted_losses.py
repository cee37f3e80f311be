"""Not self-confirming: a loss that was planted changes exactly the cells it should."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import ModelUnavailable
from ctxeng.core.protocols import Summary, SummaryTask
from ctxeng.harness.replay.partial import PartialRun
from ctxeng.harness.replay.runner import replay
from ctxeng.store import Store
from tests.support import planted

Cell = dict[str, Any]
LOST = "planted-14"


async def cells_of(store: Store, plan: Any) -> dict[tuple[str, str], Cell]:
    rows = await replay(plan, store=store)
    return {(row["arm"], row["probe_id"]): row for row in rows["cells"]}


def changed(before: dict[Any, Cell], after: dict[Any, Cell], column: str) -> set[str]:
    assert before.keys() == after.keys()
    return {key[1] for key in before if before[key][column] != after[key][column]}


async def test_positions_are_those_the_session_was_planted_with(
    store: Store, tmp_path: Path
) -> None:
    """Seams lie at multiples of six: spans over them are boundary, the newest two recent."""
    cells = await cells_of(store, planted.plan(tmp_path))
    buckets = {probe: cell["bucket"] for (_, probe), cell in cells.items()}
    assert {f"planted-{seq}" for seq in planted.INTERIOR} == _in(buckets, "interior")
    assert {f"planted-{seq}" for seq in planted.BOUNDARY} == _in(buckets, "boundary")
    assert {f"planted-{seq}" for seq in planted.RECENT} == _in(buckets, "recent")
    assert {"planted-absent"} == _in(buckets, "none")


async def test_a_faithful_replay_recalls_everything(store: Store, tmp_path: Path) -> None:
    """A lossless summariser and a perfect reader leave nothing to lose."""
    cells = await cells_of(store, planted.plan(tmp_path))
    assert {cell["outcome"] for cell in cells.values()} == {"recalled"}
    assert {cell["loss_stage"] for cell in cells.values()} == {None}


async def test_a_dropped_message_changes_its_own_cell_and_no_other(
    store: Store, tmp_path: Path
) -> None:
    """The summariser loses the message that states one fact."""
    faithful = await cells_of(store, planted.plan(tmp_path / "a", token="a"))
    losing = planted.LosingSummariser(lambda message, task: message.seq == 14)
    lossy = await cells_of(store, planted.plan(tmp_path / "b", summariser=losing, token="b"))
    for column in ("value_in_context", "outcome", "loss_stage", "value_in_artifact"):
        assert changed(faithful, lossy, column) == {LOST}, column
    cell = lossy["episodes", LOST]
    assert (cell["value_in_context"], cell["outcome"]) == (False, "abstained")
    assert cell["loss_stage"] == "lost_in_summary"


async def test_losing_what_straddles_a_seam_changes_the_boundary_cells_alone(
    store: Store, tmp_path: Path
) -> None:
    """The summariser loses the first and the last message of every core range."""
    faithful = await cells_of(store, planted.plan(tmp_path / "a", token="a"))
    losing = planted.LosingSummariser(
        lambda message, task: message.seq <= task.core_from_seq or message.seq >= task.core_to_seq
    )
    lossy = await cells_of(store, planted.plan(tmp_path / "b", summariser=losing, token="b"))
    expected = {f"planted-{seq}" for seq in planted.BOUNDARY}
    assert changed(faithful, lossy, "value_in_context") == expected
    assert changed(faithful, lossy, "outcome") == expected


async def test_a_reader_that_ignores_its_context_changes_outcomes_but_not_presence(
    store: Store, tmp_path: Path
) -> None:
    """Presence is decided without a model; the loss is the reader's."""
    faithful = await cells_of(store, planted.plan(tmp_path / "a", token="a"))
    reader = planted.FixedReader("UNKNOWN")
    deaf = await cells_of(store, planted.plan(tmp_path / "b", reader=reader, token="b"))
    stated = {probe for _, probe in faithful} - {"planted-absent"}
    assert changed(faithful, deaf, "value_in_context") == set()
    assert changed(faithful, deaf, "outcome") == stated
    assert {deaf["episodes", probe]["loss_stage"] for probe in stated} == {"reader_missed"}


async def test_controls_are_on_their_mark(store: Store, tmp_path: Path) -> None:
    """In context: full, verbatim, oracle and restated hold every fact, none holds nothing."""
    losing = planted.LosingSummariser(lambda message, task: "KX-" in message.text)
    plan = planted.plan(
        tmp_path, summariser=losing, controls=("full", "none", "oracle", "restated", "verbatim")
    )
    cells = await cells_of(store, plan)
    shares: dict[str, set[bool]] = {}
    for (arm, probe), cell in cells.items():
        if probe != "planted-absent":
            shares.setdefault(arm, set()).add(cell["value_in_context"])
    assert shares["full"] == shares["verbatim"] == {True}
    assert shares["oracle"] == shares["restated"] == {True}
    assert shares["none"] == {False}
    assert shares["episodes"] == {True, False}
    assert cells["none", "planted-absent"]["outcome"] == "recalled"


@pytest.mark.parametrize("strategy", ["episodes", "rolling"])
async def test_a_failed_answer_is_an_error_and_never_a_miss(
    store: Store, tmp_path: Path, strategy: str
) -> None:
    """A reader whose every call fails gives errors, no loss stage, and keeps presence."""

    class Broken:
        async def complete(self, request: ModelRequest) -> ModelResponse:
            raise ModelUnavailable("status 529: overloaded")

    plan = planted.plan(tmp_path, reader=Broken(), arms={strategy: planted.settings(strategy)})
    cells = await cells_of(store, plan)
    assert {cell["outcome"] for cell in cells.values()} == {"error"}
    assert {cell["loss_stage"] for cell in cells.values()} == {None}
    assert {"ModelUnavailable: status 529: overloaded"} == {c["error"] for c in cells.values()}


async def test_a_failed_compaction_call_makes_errors_not_misses(
    store: Store, tmp_path: Path
) -> None:
    """When the summariser cannot be reached the arm was not measured; no more calls are made."""
    asked = []

    class Unreachable:
        lossless = False
        prompt_hash = "x"

        async def summarise(self, task: SummaryTask) -> Summary:
            asked.append(task)
            raise ModelUnavailable("status 529: overloaded")

    cells = await cells_of(store, planted.plan(tmp_path, summariser=Unreachable()))
    assert {cell["outcome"] for cell in cells.values()} == {"error"}
    assert len(asked) == 1


async def test_an_interrupted_replay_goes_on_where_it_stopped(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit that is finished is not asked again, and the table is that of one whole run."""

    class FailsOnceAUnitIsSaved(planted.PerfectReader):
        async def complete(self, request: ModelRequest) -> ModelResponse:
            if "<summary" in str(request.messages):  # the other unit's: units are played at once
                await saved.wait()
                raise RuntimeError("power cut")
            return await super().complete(request)

    arms = {"episodes": planted.settings(), "rolling": planted.settings("rolling")}
    whole = await cells_of(store, planted.plan(tmp_path / "whole", arms=arms, token="w"))
    saved = asyncio.Event()
    save = PartialRun.save

    def save_and_tell(*given: Any) -> None:
        save(*given)
        saved.set()

    monkeypatch.setattr(PartialRun, "save", save_and_tell)
    cut = planted.plan(tmp_path / "cut", arms=arms, reader=FailsOnceAUnitIsSaved())
    with pytest.raises(RuntimeError, match="power cut"):
        await replay(cut, store=store)
    reader = planted.PerfectReader()
    resumed = await cells_of(store, planted.plan(tmp_path / "cut", arms=arms, reader=reader))
    assert resumed == whole
    assert reader.calls == len(planted.probes())


def _in(buckets: dict[str, str], name: str) -> set[str]:
    return {probe for probe, bucket in buckets.items() if bucket == name}
