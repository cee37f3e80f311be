"""From a run on the command line to the way of one fact, and to its answers scored again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Workspace, cells


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    return pq.read_table(folder / f"{name}.parquet").to_pylist()


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_explain_and_rescore_work_on_a_finished_run(workspace: Workspace) -> None:
    """One run; its facts explained in text and JSON, its answers scored and judged again."""
    experiment = workspace.path / "experiments" / "small.toml"
    text = experiment.read_text("utf-8").replace("[models]", '[models]\nartifact_judge = "offline"')
    experiment.write_text(text, "utf-8")
    arguments = ("--sessions", "1", "--probes", "12", "--json")
    done = workspace.call("run", "experiments/small.toml", *arguments)
    assert done.code == 0, done.err
    first, run_id = Path(done.json["path"]), done.json["run_id"]
    before = files(first)
    asked = table(first, "paraphrases")
    assert asked and {row["states_it"] for row in asked} == {None}, "the offline model cannot tell"
    judged = [row for row in table(first, "calls") if row["prompt_id"] == "states@1"]
    assert len(judged) == len(asked)
    lost = next(c for c in cells(first) if c["arm"] == "rolling" and c["loss_stage"])

    told = workspace.call("explain", "latest", lost["probe_id"], "--arm", "rolling")
    assert told.code == 0, told.err
    assert f"Lost: {lost['loss_stage'].replace('_', ' ')}" in told.out
    assert "6 The answer and the verdict" in told.out
    assert "Every arm" in workspace.call("explain", run_id, lost["probe_id"]).out
    rows = workspace.call("explain", run_id, lost["probe_id"], "--json").out.splitlines()
    by_arm = {row["arm"]: row for row in map(json.loads, rows)}
    assert set(by_arm) == {"three_tier", "rolling", "full", "none"}
    assert by_arm["rolling"]["loss_stage"] == lost["loss_stage"]
    assert by_arm["rolling"]["statement"] and by_arm["rolling"]["prompt"]

    again = workspace.call("rescore", run_id, "--json")
    assert again.code == 0, again.err
    assert (again.json["outcomes_moved"], again.json["loss_stages_moved"]) == ({}, 0)
    assert again.json["run_id"] == f"{run_id}-rescored"
    assert cells(again.json["path"]) == cells(first)
    judged = workspace.call("rejudge", run_id, "--artifact-judge", "offline")
    assert judged.code == 0, judged.err
    assert "Outcomes that differ" in judged.out
    second = workspace.call("rejudge", f"{run_id}-rejudged", "--json")
    assert second.json["run_id"] == f"{run_id}-rejudged-2"
    assert files(first) == before, "a run is never written again"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("explain", "nowhere", "p"), "run must be a run folder"),
        (("rescore", "nowhere"), "run must be a run folder"),
        (("rejudge", "nowhere"), "run must be a run folder"),
    ],
)
def test_a_run_that_is_not_there_is_one_line(
    workspace: Workspace, arguments: tuple[str, ...], says: str
) -> None:
    """What is wrong and what to do, exit code 2."""
    done = workspace.call(*arguments)
    assert done.code == 2
    assert says in done.err and len(done.err.splitlines()) == 1
