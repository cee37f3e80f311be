"""``ctxeng report`` writes what it is asked for, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Workspace
from tests.harness.reports.made import made_run

PICTURES = ["recall_by_position", "where_lost", "recall_by_tokens"]


@pytest.mark.parametrize("form", ["png", "svg"])
def test_format_writes_every_picture_and_nothing_else(tmp_path: Path, form: str) -> None:
    """One path on each line, relative to nothing: they can be piped on."""
    run = made_run(tmp_path)
    before = set(run.path.iterdir())
    done = Workspace(path=tmp_path).call("report", str(run.path), "--format", form)
    assert done.code == 0
    assert done.out.splitlines() == [str(run.path / f"{name}.{form}") for name in PICTURES]
    assert {path.name for path in set(run.path.iterdir()) - before} == {
        f"{name}.{form}" for name in PICTURES
    }


def test_format_html_writes_the_page_alone(tmp_path: Path) -> None:
    """The page needs no picture beside it."""
    run = made_run(tmp_path)
    done = Workspace(path=tmp_path).call("report", str(run.path), "--format", "html")
    assert (done.code, done.out) == (0, f"{run.path / 'report.html'}\n")
    assert not list(run.path.glob("*.png"))


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    """Exit code 2, naming the option."""
    done = Workspace(path=tmp_path).call("report", "x", "--format", "pdf")
    assert done.code == 2
    assert "--format" in done.err and "Traceback" not in done.err


def test_a_folder_without_a_needed_table_is_told_in_one_line(tmp_path: Path) -> None:
    """Which table, of which folder, and what to do; nothing is written."""
    run = made_run(tmp_path).path
    for file in run.glob("*.parquet"):
        if file.name != "cells.parquet":
            file.unlink()
    _lacks(run, "artifacts", ["report", "RUN"])
    _lacks(run, "artifacts", ["report", "RUN", "--json"])
    _lacks(run, "artifacts", ["report", "RUN", "--format", "png"])
    _lacks(run, "calls", ["sweep", "RUN"])
    _lacks(run, "artifacts", ["sweep", "RUN", "--markdown", "page.md"])
    _lacks(run, "calls", ["ledger", "export", "calls.zst", "--run", "RUN"])
    run.joinpath("cells.parquet").unlink()
    _lacks(run, "cells", ["report", "RUN"])
    _lacks(run, "cells", ["gate", "RUN"])
    _lacks(run, "cells", ["compare", "RUN:three_tier", "RUN:rolling"])


def _lacks(run: Path, table: str, words: list[str]) -> None:
    home = run.parent.parent
    before = sorted(home.rglob("*"))
    done = Workspace(path=home).call(*(word.replace("RUN", str(run)) for word in words))
    assert done.code == 2, done.out
    (line,) = done.err.splitlines()
    assert f"must hold the table {table}.parquet for this, got none in {run}. " in line
    assert line.endswith("Copy the folder whole, or run its experiment again.")
    assert sorted(home.rglob("*")) == before
