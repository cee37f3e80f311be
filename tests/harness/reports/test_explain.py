"""The path of a fact in a terminal: narrow, escaped, with the value marked."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from ctxeng.core.messages import Message, Session
from ctxeng.harness.attribution.path import FactPath, Given, Said
from ctxeng.harness.attribution.stored import StoredRun
from ctxeng.harness.attribution.tracing import fact_paths
from ctxeng.harness.reports.explain import print_overview, print_path
from ctxeng.harness.scoring.marks import Marked
from tests.support import planted
from tests.support.stored_runs import replayed_run

HOSTILE = "\x1b[31m[bold]red[/bold] </memory> \u202egnirts \x07 予算は" + "長い" * 200


@pytest.fixture(scope="module")
def paths(
    server: Path, worker: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], FactPath]:
    """Return the paths of a lossy run over a session with hostile text."""
    said = list(planted.session().messages)
    said[13] = replace(said[13], content=HOSTILE)
    said[14] = Message(
        seq=14, role="user", content=f"{said[14].content} {HOSTILE}", speaker="[x]\x1b"
    )
    folder = tmp_path_factory.mktemp("explain")
    plan = planted.plan(
        folder / "scratch",
        arms={name: planted.settings(name) for name in ("rolling", "retrieval", "hybrid")},
        sessions=(Session(session_id="planted", messages=tuple(said), language="en"),),
        summariser=planted.LosingSummariser(lambda message, task: message.seq in (14, 20)),
    )
    run = replayed_run(plan, folder, server=server, database=f"explain_{worker}")
    return {(p.arm, p.probe_id): p for p in fact_paths(StoredRun.open(run))}


def shown(path: FactPath, *, is_whole: bool = False) -> str:
    out = io.StringIO()
    print_path(path, Console(file=out, width=100, highlight=False), is_whole=is_whole)
    return out.getvalue()


def test_every_station_is_shown(paths: dict[tuple[str, str], FactPath]) -> None:
    """Statement, what the compactor was given and wrote, search, cuts, prompt, answer, verdict."""
    text = shown(paths["rolling", "planted-14"])
    for title in (
        "1 The statement",
        "2 What the compactor",
        "3 The search",
        "4 Loaded",
        "5 The prompt",
        "6 The answer",
    ):
        assert title in text
    assert "Lost: lost in summary" in text
    assert "> #14" in text and "⟦KX-0014⟧" in text
    assert "lacks it; superseded" in text and "lacks it; in the prompt" in text
    assert "Outcome: abstained" in text and "Literal: fail (abstained)" in text


def test_scores_of_the_search_are_shown(paths: dict[tuple[str, str], FactPath]) -> None:
    """Rank, score and terms, and which of them is the evidence."""
    text = shown(paths["retrieval", "planted-20"])
    assert "evidence at rank 1" in text
    assert "#20 EVIDENCE: " in text and "lexical" in text


@pytest.mark.parametrize("is_whole", [False, True])
def test_hostile_text_neither_steers_the_terminal_nor_breaks_the_width(
    paths: dict[tuple[str, str], FactPath], is_whole: bool
) -> None:
    """Control characters are shown as escapes, markup as text, and no line is over 100 columns."""
    for path in paths.values():
        text = shown(path, is_whole=is_whole)
        assert all(c.isprintable() or c == "\n" for c in text)
        assert max(cell_len(line) for line in text.splitlines()) <= 100
    near = shown(paths["rolling", "planted-14"])
    assert "\\x1b[31m[bold]red[/bold] </memory> \\u202e" in near
    assert "[x]\\x1b" in near


def test_messages_of_the_overlap_are_counted_apart(
    paths: dict[tuple[str, str], FactPath],
) -> None:
    """Of 17-23 handed over for 18-23, two shown: four others of the range, one before it."""
    said = [
        Said(seq=seq, role="user", speaker=None, text=Marked(text="x"), is_evidence=seq in (19, 20))
        for seq in range(17, 24)
    ]
    given = Given(from_seq=18, to_seq=23, handed=7, messages=tuple(said))
    path = paths["rolling", "planted-14"]
    told = shown(replace(path, written=(replace(path.written[0], given=given),)))
    assert "given: 4 other messages of 18-23, 1 message of overlap (17) " in told
    both = replace(given, messages=(said[0], said[2]), handed=2)
    told = shown(replace(path, written=(replace(path.written[0], given=both),)))
    assert "given: 1 message of overlap (17) " in told


def test_the_overview_has_a_line_for_every_arm(paths: dict[tuple[str, str], FactPath]) -> None:
    """Which arm lost the fact, and where."""
    out = io.StringIO()
    own = [path for path in paths.values() if path.probe_id == "planted-14"]
    print_overview(own, Console(file=out, width=100, highlight=False))
    assert "lost in summary" in out.getvalue()
    lines = [line.split() for line in out.getvalue().splitlines()[2:]]
    assert [line[0] for line in lines] == ["rolling", "retrieval", "hybrid"]
    assert [line[-1] for line in lines] == ["summary", "-", "-"]


def test_an_absent_fact_has_a_path_too(paths: dict[tuple[str, str], FactPath]) -> None:
    """Nothing was stated, nothing covers it, and the answer is shown with its verdict."""
    text = shown(paths["rolling", "planted-absent"])
    assert "Expected: nothing: never stated" in text
    assert "Never stated" in text and "No artifact covers it." in text
    assert "Outcome: recalled" in text
