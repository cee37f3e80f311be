"""A run from the command line: repeatable, resumable, and whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Workspace, cells

FILES = {
    "manifest.json",
    "cells.parquet",
    "contexts.parquet",
    "artifacts.parquet",
    "calls.parquet",
    "report.html",
    "recall_by_position.png",
}


def test_a_second_run_gives_the_same_cells_and_makes_no_call(workspace: Workspace) -> None:
    """Equal inputs give equal tables; the ledger answers every call of the second run."""
    first = workspace.run("run", "experiments/small.toml", "--json")
    second = workspace.run("run", "experiments/small.toml", "--json")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert first.json["calls_made"] > 100
    assert second.json["calls_made"] == 0
    assert second.json["calls"] == first.json["calls"]
    assert first.json["run_id"] != second.json["run_id"]
    assert cells(first.json["path"]) == cells(second.json["path"])
    assert {p.name for p in Path(first.json["path"]).iterdir()} >= FILES


def test_replay_only_needs_every_call_in_the_ledger(workspace: Workspace) -> None:
    """Without a ledger replay-only gives errors, not misses; with one it equals the run."""
    empty = workspace.run("run", "experiments/small.toml", "--cache", "replay-only", "--json")
    assert empty.json["outcomes"] == {"error": empty.json["cells"]}
    full = workspace.run("run", "experiments/small.toml", "--json")
    again = workspace.run("run", "experiments/small.toml", "--cache", "replay-only", "--json")
    assert cells(again.json["path"]) == cells(full.json["path"])


@pytest.mark.parametrize("delay", [0.3, 1.2, 2.5])
def test_a_killed_run_completes_with_the_same_table(
    make_workspace: Callable[[str], Workspace], delay: float
) -> None:
    """kill -9 at any moment, the very first start of the database included, loses nothing."""
    whole, cut = make_workspace("whole"), make_workspace("cut")
    expected = whole.run("run", "experiments/small.toml", "--json")
    running = cut.start("run", "experiments/small.toml", "--json")
    time.sleep(delay)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    finished = cut.run("run", "experiments/small.toml", "--json")
    assert finished.code == 0, finished.err
    assert cells(finished.json["path"]) == cells(expected.json["path"])
    left = [p.name for p in (cut.path / "reports").iterdir() if p.name.startswith(".")]
    assert left == []


def test_two_runs_at_once_do_not_disturb_each_other(workspace: Workspace) -> None:
    """Two processes share the database and the ledger and give the same table."""
    other = workspace.start("run", "experiments/small.toml", "--json")
    mine = workspace.run("run", "experiments/small.toml", "--json")
    assert other.wait(timeout=120) == 0
    runs = [p for p in (workspace.path / "reports").iterdir() if (p / "manifest.json").is_file()]
    assert len(runs) == 2
    assert cells(runs[0]) == cells(runs[1])
    assert mine.code == 0


def test_a_workspace_path_with_spaces_works(make_workspace: Callable[[str], Workspace]) -> None:
    """The embedded server takes any path."""
    spaced = make_workspace("my work space")
    done = spaced.run("run", "experiments/small.toml", "--sessions", "1", "--json")
    assert done.code == 0, done.err
    assert done.json["sessions"] == 1


def test_a_call_limit_stops_cleanly_and_the_run_goes_on_later(workspace: Workspace) -> None:
    """The limit is a line and exit code 2; raising it makes only the remaining calls."""
    stopped = workspace.run("run", "experiments/small.toml", "--max-calls", "40", "--json")
    assert stopped.code == 2
    assert "max_calls must allow another call, got a limit of 40" in stopped.err
    assert len(stopped.err.splitlines()) == 1
    whole = workspace.run("run", "experiments/small.toml", "--json")
    assert whole.code == 0
    assert whole.json["calls_made"] <= whole.json["calls"] - 30


def test_a_report_repeats_the_run(workspace: Workspace) -> None:
    """`report` prints rows of the same run, by id, prefix or `latest`."""
    done = workspace.run("run", "experiments/small.toml")
    assert done.code == 0, done.err
    first = done.out.splitlines()[0]
    assert first.startswith("Made with the offline model")
    assert all(len(line) <= 100 for line in done.out.splitlines() if "/" not in line)
    rows = workspace.run("report", "latest", "--json")
    assert rows.code == 0
    assert {"arm", "bucket", "n", "sessions", "recall", "low", "high", "in_context"} <= set(
        rows.json
    )


def test_another_embedder_in_the_same_workspace_just_works(workspace: Workspace) -> None:
    """The replay's index belongs to the embedder; changing it needs no cleaning up."""
    arguments = ("run", "experiments/small.toml", "--sessions", "1", "--probes", "2", "--json")
    first = workspace.call(*arguments)
    file = workspace.path / "experiments" / "small.toml"
    text = file.read_text("utf-8").replace('embedder = "hashing"', 'embedder = "minilm"')
    file.write_text(text, "utf-8")
    second = workspace.call(*arguments)
    assert (first.code, second.code) == (0, 0), first.err + second.err


def test_an_interrupted_run_says_how_to_go_on(workspace: Workspace) -> None:
    """Ctrl-C: one line, exit code 130, and the same command finishes the work."""
    running = subprocess.Popen(
        workspace.command("run", "experiments/small.toml", "--json"),
        cwd=workspace.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(2.5)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert said == "ctxeng: interrupted; run the same command again to go on\n"
    assert workspace.run("run", "experiments/small.toml", "--json").code == 0
