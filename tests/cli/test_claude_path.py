"""Whole runs through the local Messages API: live and in batches, failing, killed, with a key.

The server's answers are the offline model's, so the answers of every run are known; the table is
that of an undisturbed run, because only an offline run is scored as one that quotes.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ctxeng.fakeapi import FAULTS, FakeApi, FaultPlan, serving
from ctxeng.store import embedded
from tests.cli.children import run_in_child
from tests.cli.conftest import SMALL, Workspace, cells
from tests.support.messages_server import error

CANARY = "sk-ant-canary-7291-Q"
CLAUDE = """[models]
reader = "claude-haiku-5-5"
summariser = "claude-sonnet-5-5"
judge = "claude-haiku-5-5"
timeout_seconds = 5
quiet_seconds = 0.15
poll_seconds = 0.02
concurrency = 4
"""
SMALLER = ("--sessions", "1", "--probes", "10", "--json")
ONE_ARM = SMALL.partition("[arms.rolling]")[0].replace(', "none"]', "]")


@pytest.fixture
def claude(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return a workspace whose `claude_small.toml` asks Claude, with a recognisable key."""
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    for name, text in (("small", SMALL), ("one_arm", ONE_ARM)):
        file = workspace.path / "experiments" / f"claude_{name}.toml"
        file.write_text(text.replace("[models]\n", CLAUDE), "utf-8")
    (workspace.path / "experiments" / "one_arm.toml").write_text(ONE_ARM, "utf-8")
    embedded.attach(workspace.path)  # one server for all the runs of a test
    return workspace


@pytest.fixture
def run(claude: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Return a runner of the small experiment against a server."""

    def one(api: FakeApi | None, *arguments: str, name: str = "small") -> Any:
        if api is not None:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", api.base_url)
            name = f"claude_{name}"
        done = claude.call("run", f"experiments/{name}.toml", *SMALLER, *arguments)
        assert done.code == 0, done.err
        return done.json

    yield one
    embedded.detach(claude.path)


def table(made: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a run's cells without what names the models."""
    return cells(made["path"])


def answers(made: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return what a run's readers said."""
    return [(c["arm"], c["session_id"], c["probe_id"], c["answer"]) for c in table(made)]


def undisturbed(workspace: Workspace, run: Callable[..., Any]) -> list[dict[str, Any]]:
    """Return the table of a run that nothing disturbs, and forget its calls."""
    with serving(FakeApi()) as api:
        expected = table(run(api, name="one_arm"))
    forget_ledger(workspace)
    return expected


def forget_ledger(workspace: Workspace) -> None:
    """Let the next run make its calls itself."""
    for file in (workspace.path / ".ctxeng").glob("ledger.sqlite*"):
        file.unlink()


def written(workspace: Workspace) -> str:
    """Return everything a workspace's runs wrote, tables and ledger unpacked."""
    import pyarrow.parquet as pq

    parts = []
    for file in sorted(p for p in workspace.path.rglob("*") if p.is_file()):
        if file.suffix == ".parquet":
            parts.append(str(pq.read_table(file).to_pylist()))
        else:
            parts.append(file.read_bytes().decode("utf-8", "replace"))
    return "\n".join(parts)


def test_live_batched_and_failing_runs_end_with_the_models_own_table(
    claude: Workspace, run: Callable[..., Any]
) -> None:
    """Four ways to the same cells; a rerun makes no call; the report says who answered.

    And the key is in nothing that any of them wrote.
    """
    quoted = answers(run(None))
    with serving(FakeApi()) as api:
        live = run(api)
        again = run(api, "--mode", "batch")
        assert api.counts.messages == live["calls_made"]
        assert (again["calls_made"], api.counts.batches) == (0, 0)
        forget_ledger(claude)
        batched = run(api, "--mode", "batch")
        assert api.counts.items == batched["calls_made"] == live["calls_made"]
        assert api.counts.batches < live["calls_made"] / 3
    forget_ledger(claude)
    quick = tuple(kind for kind in FAULTS if kind != "timeout")
    plan = FaultPlan(rate=0.2, seed=5, kinds=quick, retry_after_seconds=0.001, most_in_a_row=3)
    with serving(FakeApi(faults=plan)) as api:
        failing = run(api)
        assert api.counts.messages == failing["calls_made"] + plan.made.total()
    assert table(live) == table(batched) == table(failing)
    assert answers(live) == quoted
    report = claude.call("report", "latest")
    assert report.out.startswith("Made with the offline model")
    assert CANARY not in written(claude) + report.out + report.err


def test_a_key_that_the_server_repeats_is_taken_out(
    claude: Workspace, run: Callable[..., Any]
) -> None:
    """Every call fails with an error that holds the key; the tables hold the error without it."""
    with serving(FakeApi()) as api:
        api.play(error(400, "invalid_request_error", f"bad key {CANARY}"))
        made = run(api, name="one_arm")
    assert made["outcomes"] == {"error": made["cells"]}
    text = written(claude)
    assert "bad key [key]" in text
    assert CANARY not in text


def answered(workspace: Workspace) -> int:
    """Return how many calls' answers the ledger holds."""
    ledger = workspace.path / ".ctxeng" / "ledger.sqlite"
    if not ledger.exists():
        return 0
    connection = sqlite3.connect(ledger)
    (count,) = connection.execute("SELECT count(response) FROM calls").fetchone()
    connection.close()
    return int(count)


def kill_after(child: Any, reached: threading.Event, *, seconds: float) -> None:
    """Kill a process a moment after an event, or find it ended."""
    while child.is_alive() and not reached.wait(0.02):
        pass
    child.join(seconds)
    if child.pid is not None:
        os.kill(child.pid, signal.SIGKILL)
    child.join()


def test_thirty_kills_repeat_only_what_was_in_flight(
    claude: Workspace, run: Callable[..., Any]
) -> None:
    """kill -9 at thirty random moments: the same table, and every other call was made once."""
    expected = undisturbed(claude, run)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.cli.children"])
    draw = random.Random(30)
    lost: list[int] = []  # calls in flight at each kill: asked for, and their answers not noted
    with serving(FakeApi(latency_seconds=0.01)) as api:
        environment = {**os.environ, "ANTHROPIC_BASE_URL": api.base_url}
        arguments = ["run", "experiments/claude_one_arm.toml", *SMALLER]
        for _ in range(30):
            last, reached = api.counts.messages + draw.randint(1, 2), threading.Event()
            api.on_request = lambda n, last=last, reached=reached: n >= last and reached.set()
            given = (str(claude.path), environment, arguments)
            child = processes.Process(target=run_in_child, args=given)
            child.start()
            kill_after(child, reached, seconds=draw.random() * 0.02)
            assert child.exitcode == -signal.SIGKILL
            lost.append(api.counts.messages - answered(claude) - sum(lost))
        api.on_request = None
        finished = run(api, name="one_arm")
    assert table(finished) == expected
    assert set(lost) <= {0, 1, 2, 3, 4}
    assert 10 < sum(lost) == api.counts.messages - answered(claude)


def test_batches_that_were_in_flight_at_a_kill_are_found_and_paid_once(
    claude: Workspace, run: Callable[..., Any]
) -> None:
    """Killed with the first, the third and the eighth batch in flight: no item is worked on twice."""
    expected = undisturbed(claude, run)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.cli.children"])
    with serving(FakeApi(batch_seconds=0.2)) as api:
        environment = {**os.environ, "ANTHROPIC_BASE_URL": api.base_url}
        arguments = ["run", "experiments/claude_one_arm.toml", *SMALLER, "--mode", "batch"]
        for last in (1, 3, 8):
            child = processes.Process(
                target=run_in_child, args=(str(claude.path), environment, arguments)
            )
            child.start()
            while child.is_alive() and api.counts.batches < last:
                child.join(0.01)
            os.kill(child.pid or 0, signal.SIGKILL)
            child.join()
            assert child.exitcode == -signal.SIGKILL
        finished = run(api, "--mode", "batch", name="one_arm")
        assert table(finished) == expected
        assert api.counts.items == answered(claude)
        assert api.counts.batches >= 8
