"""The command line as a user runs it: a process of its own, in a workspace of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ctxeng.cli import main
from ctxeng.cli.workspaces import lay_out
from tests.support.databases import remove_database

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = """
name = "small"
sessions = ["datasets/bundled/sessions/marathon-plan.jsonl", "datasets/bundled/sessions/crawler-debug-ko.jsonl"]
probes = ["probes/small.jsonl"]
reference_arm = "three_tier"
controls = ["full", "none"]
[models]
embedder = "hashing"
[arms.three_tier]
strategy = "episodes_memory"
window = { tokens = 400 }
episodes = { target_tokens = 80 }
budget = { total_tokens = 1500, reserve_tokens = 200 }
[arms.rolling]
strategy = "rolling"
window = { tokens = 400 }
rolling = { threshold_tokens = 400, target_tokens = 200 }
budget = { total_tokens = 1500, reserve_tokens = 200 }
"""
VOLATILE = ("run_id",)


@dataclass(frozen=True)
class Outcome:
    """What a finished process left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out.splitlines()[-1])


@dataclass(frozen=True)
class Workspace:
    """A folder laid out by ``ctxeng init``, with a small experiment of two sessions."""

    path: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "ctxeng", *arguments]

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> Outcome:
        """Run a command to its end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.path,
            env={**_environment(), **(env or {})},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)

    def call(self, *arguments: str) -> Outcome:
        """Run a command in this process: quicker, for what ends before a run begins."""
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with (
            contextlib.chdir(self.path),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr(sys, "argv", ["ctxeng", *arguments])
            try:
                main.run()
            except SystemExit as stop:
                code = int(stop.code or 0)
        return Outcome(code=code, out=out.getvalue(), err=err.getvalue())

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command in a process group of its own, without waiting."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.path,
            env=_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )


def cells(run_folder: str | Path) -> list[dict[str, Any]]:
    """Return a run's cells, sorted, without what differs between equal runs."""
    import pyarrow.parquet as pq

    rows = pq.read_table(Path(run_folder) / "cells.parquet").to_pylist()
    kept = [{k: v for k, v in row.items() if k not in VOLATILE} for row in rows]
    return sorted(kept, key=lambda r: (r["arm"], r["session_id"], r["probe_id"], r["replicate"]))


def small_workspace(path: Path) -> Workspace:
    """Return a folder as ``ctxeng init`` leaves it, with a small experiment beside the others."""
    lay_out(path)
    probes = (path / "probes" / "bundled.jsonl").read_text("utf-8").splitlines()
    kept = [line for line in probes if '"marathon-plan"' in line or '"crawler-debug-ko"' in line]
    (path / "probes" / "small.jsonl").write_text("\n".join(kept) + "\n", "utf-8")
    (path / "experiments" / "small.toml").write_text(SMALL, "utf-8")
    return Workspace(path=path)


@pytest.fixture
def make_workspace(tmp_path: Path) -> Iterator[Callable[[str], Workspace]]:
    """Return a maker of workspaces; their databases are removed afterwards."""
    made: list[Path] = []

    def make(name: str = "workspace") -> Workspace:
        made.append(tmp_path / name)
        return small_workspace(made[-1])

    yield make
    for path in made:
        remove_database(path)


@pytest.fixture
def workspace(make_workspace: Callable[[str], Workspace]) -> Workspace:
    """Return one workspace."""
    return make_workspace("workspace")


def _environment() -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
