"""A run from the command line: repeatable, resumable, and whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome, Workspace, cells, small_workspace
from tests.support.databases import remove_database

FILES = {
    "manifest.json",
    "cells.parquet",
    "contexts.parquet",
    "artifacts.parquet",
    "calls.parquet",
    "report.html",
    "recall_by_position.png",
}


RUN = ("run", "experiments/small.toml", "--json")
ALONE = (*RUN, "--jobs", "1")  # in this process: for what does not depend on how work is spread


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, Outcome]]:
    """Run the small experiment once, as a process that spreads it over others."""
    workspace = small_workspace(tmp_path_factory.mktemp("small") / "workspace")
    first = workspace.run(*RUN)
    assert first.code == 0, first.err
    yield workspace, first
    remove_database(workspace.path)


def test_a_second_run_gives_the_same_cells_and_makes_no_call(
    small: tuple[Workspace, Outcome],
) -> None:
    """Equal inputs give equal tables; the ledger answers every call of the second run.

    The first was spread over processes, the second was not.
    """
    workspace, first = small
    second = workspace.call(*ALONE)
    assert second.code == 0, second.err
    assert first.json["calls_made"] > 100
    assert second.json["calls_made"] == 0
    assert second.json["calls"] == first.json["calls"]
    assert first.json["run_id"] != second.json["run_id"]
    assert cells(first.json["path"]) == cells(second.json["path"])
    assert {p.name for p in Path(first.json["path"]).iterdir()} >= FILES


def test_replay_only_needs_every_call_in_the_ledger(
    small: tuple[Workspace, Outcome], workspace: Workspace
) -> None:
    """Without a ledger replay-only gives errors, not misses, and fails; with one it equals the run."""
    empty = workspace.call(*ALONE, "--cache", "replay-only")
    assert empty.code == 2
    assert "ledger must hold every call" in empty.err
    assert empty.json["outcomes"] == {"error": empty.json["cells"]}
    assert empty.json["calls_made"] == 0
    home, full = small
    again = home.call(*ALONE, "--cache", "replay-only")
    assert cells(again.json["path"]) == cells(full.json["path"])


@pytest.mark.parametrize("delay", [0.3, 1.2, 2.5])
def test_a_killed_run_completes_with_the_same_table(
    small: tuple[Workspace, Outcome], workspace: Workspace, delay: float
) -> None:
    """kill -9 at any moment, the very first start of the database included, loses nothing."""
    _, expected = small
    running = workspace.start(*RUN)
    time.sleep(delay)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    finished = workspace.call(*ALONE)
    assert finished.code == 0, finished.err
    assert cells(finished.json["path"]) == cells(expected.json["path"])
    left = [p.name for p in (workspace.path / "reports").iterdir() if p.name.startswith(".")]
    assert left == []


def test_two_runs_at_once_do_not_disturb_each_other(workspace: Workspace) -> None:
    """Two processes share the database and the ledger and give the same table."""
    other = workspace.start(*RUN)
    mine = workspace.run(*RUN)
    assert other.wait(timeout=120) == 0
    runs = [p for p in (workspace.path / "reports").iterdir() if (p / "manifest.json").is_file()]
    assert len(runs) == 2
    assert cells(runs[0]) == cells(runs[1])
    assert mine.code == 0


def test_a_workspace_path_with_spaces_works(make_workspace: Callable[[str], Workspace]) -> None:
    """The embedded server takes any path."""
    spaced = make_workspace("my work space")
    done = spaced.call(*ALONE, "--sessions", "1")
    assert done.code == 0, done.err
    assert done.json["sessions"] == 1


def test_a_call_limit_stops_cleanly_and_the_run_goes_on_later(workspace: Workspace) -> None:
    """The limit is a line and exit code 2; raising it makes only the remaining calls."""
    stopped = workspace.call(*ALONE, "--max-calls", "40")
    assert stopped.code == 2
    assert "max_calls must allow another call, got a limit of 40" in stopped.err
    assert len(stopped.err.splitlines()) == 1
    whole = workspace.call(*ALONE)
    assert whole.code == 0
    assert whole.json["calls_made"] <= whole.json["calls"] - 30


def test_a_report_repeats_the_run(workspace: Workspace) -> None:
    """`report` prints rows of the same run, by id, prefix or `latest`."""
    done = workspace.call("run", "experiments/small.toml", "--jobs", "1")
    assert done.code == 0, done.err
    first = done.out.splitlines()[0]
    assert first.startswith("Made with the offline model")
    assert all(len(line) <= 100 for line in done.out.splitlines() if "/" not in line)
    rows = workspace.call("report", "latest", "--json")
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
    assert workspace.call(*ALONE).code == 0
