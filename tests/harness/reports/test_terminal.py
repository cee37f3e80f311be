"""What a run prints: whose n stands over which numbers, and that columns add up."""

from __future__ import annotations

import json
import re
from io import StringIO

import pytest
from rich.console import Console

from ctxeng.harness.reports.beside import Beside
from ctxeng.harness.reports.html import render
from ctxeng.harness.reports.page_tables import recall_grid
from ctxeng.harness.reports.summary import Summary, summarise
from ctxeng.harness.reports.terminal import print_summary
from ctxeng.harness.results.run_folder import RunFolder
from tests.support.nights import made_run, recalled_below

SAID = "n is main's; others decided: all 6, interior 6."


def half_decided(session: int, probe: int) -> str:
    """Return outcomes of which one in three is undecided."""
    return ("undecided", "recalled", "missed")[probe]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return a run whose reference arm has decided 4 of 6 answers."""
    arms = {"main": half_decided, "other": recalled_below(2)}
    return made_run(tmp_path_factory.mktemp("run"), "r", arms, sessions=2, probes=3)


@pytest.fixture(scope="module")
def summary(run: RunFolder) -> Summary:
    return summarise(run)


def printed(summary: Summary) -> str:
    out = StringIO()
    print_summary(summary, Console(file=out, width=100))
    return out.getvalue()


def test_the_n_over_a_table_is_that_of_its_numbers(run: RunFolder, summary: Summary) -> None:
    """Answers are shares of 4 decided cells, presence of all 6: on the terminal, page, results."""
    row = summary.row("main", "all")
    assert row is not None
    assert (row.n, row.in_context_n, row.record()["in_context_n"]) == (4, 6, 6)
    answers, presence = printed(summary).split("In-context recall")
    assert "n=4" in answers
    assert "n=6" not in answers
    assert "n=6" in presence
    assert "n=4" not in presence
    assert recall_grid(summary, asked=True).header[1] == "all, n = 4"
    assert recall_grid(summary, asked=False).header[1] == "all, n = 6"
    heads = re.findall(r"<small>n=(\d+)", render(run, summary, Beside()))
    assert heads == ["4", "4", "6", "6"]


def test_arms_that_decided_another_number_are_told_below(run: RunFolder, summary: Summary) -> None:
    """One line, on the terminal, the page and in results."""
    assert SAID in printed(summary).splitlines()
    assert SAID.replace("'", "&#39;") in render(run, summary, Beside())
    assert recall_grid(summary, asked=True).note == SAID


def test_the_columns_of_the_loss_tables_add_up_to_their_n(summary: Summary) -> None:
    """In and out, answered, missed and not decided; not lost and every stage."""
    used, lost = printed(summary).split("Facts in or out")[1].split("Where facts were lost")
    for table in (used, lost):
        numbers = [
            list(map(int, line.split()[1:]))
            for line in table.splitlines()
            if re.match(r" *(main|other|interior) +\d", line)
        ]
        assert len(numbers) == 4
        assert all(n == sum(parts) for n, *parts in numbers)


def test_probes_that_a_file_excludes_are_told_with_their_reasons(run: RunFolder) -> None:
    """How many were left out and why stands above the tables; a run without any says nothing."""
    manifest = run.manifest() | {"excluded": {"label is wrong": 2, "asked twice": 1}}
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    told = "Probes excluded, and not asked: 2 label is wrong; 1 asked twice."
    assert told in summarise(run).notices
    (run.path / "manifest.json").write_text(json.dumps(manifest | {"excluded": {}}))
    assert not any("excluded" in notice for notice in summarise(run).notices)
