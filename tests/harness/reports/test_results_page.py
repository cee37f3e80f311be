"""A page of results: what was expected, what came out, and what the data cannot tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.errors import InputError
from ctxeng.harness.reports.page_tables import comparison_sentences
from ctxeng.harness.reports.results_page import (
    ResultsPage,
    findings,
    page_parts,
    results_page,
    write_results_page,
)
from ctxeng.harness.results.aggregates import same_prompts
from ctxeng.harness.results.database import connect, table_rows
from ctxeng.harness.results.run_folder import write_run
from ctxeng.strategies.builtin import settings_for
from tests.harness.reports.made import made_run

HOSTILE = "<script>alert(1)</script>|`x`"


def rows(parts: list[str], title: str) -> dict[str, list[str]]:
    """Return the cells of a table's rows by their first cell."""
    table = parts[next(i for i, part in enumerate(parts) if part.startswith(f"## {title}")) + 1]
    split = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in table.split("\n")[2:]
    ]
    return {line[0].strip(): line[1:] for line in split}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> ResultsPage:
    return results_page(made_run(tmp_path_factory.mktemp("run"), sessions=8))


def test_a_page_shows_recall_by_position_with_intervals(page: ResultsPage) -> None:
    """Of eight facts in eight sessions the even ones are lost: 4 of 8, 1 of 3 at borders."""
    parts = page_parts(page)
    assert parts[0] == "# made: By hand."
    found = rows(parts, "In the prompt, % and 95 % interval")
    assert [cell.split()[0] for cell in found["episodes"]] == ["50", "33", "60"]
    assert [cell.split()[0] for cell in found["roomy"]] == ["100", "100", "100"]
    assert all("–" in cell.split()[1] for cell in found["episodes"])
    assert "64 probes (64 of facts that were stated), 192 cells" in "\n".join(parts)


def test_a_page_says_what_is_shown_and_what_cannot_be(page: ResultsPage) -> None:
    """56 decided pairs of which 32 gained; each position alone has too few for a verdict."""
    (shown,) = findings(page)
    assert shown.startswith("Shown to differ from episodes, in points: roomy all +57 ")
    assert shown.endswith("(n = 56).")
    parts = "\n".join(page_parts(page))
    assert [row[:3] for row in rows(page_parts(page), "Each arm beside").values()] == [
        ["all", "56", "43%"]
    ]
    assert "| episodes | 50 35–65 | 135 | 2.0000 | no better than roomy |" in parts


def test_a_verdict_of_the_test_is_told_where_the_interval_reaches_zero(page: ResultsPage) -> None:
    """Else a page said that an arm cannot be told apart above a table that calls it worse."""
    assert page.compared is not None
    (roomy, *_) = page.compared.comparisons
    worse = replace(roomy, verdict="worse", difference=-0.08, low=-0.13, high=0.02)
    said = comparison_sentences(replace(page.compared, comparisons=(worse,)))
    assert len(said) == 1
    assert said[0].startswith("Shown to differ from episodes, in points: roomy ")


def test_facts_are_counted_by_the_rounds_they_went_through(page: ResultsPage) -> None:
    """Every fact went through one compaction; an error leaves a presence verdict."""
    found = rows(page_parts(page), "In the prompt, % and 95 % interval, by compactions")
    assert found["episodes"][0].startswith("50 ")
    assert found["episodes"][0].endswith("(64)")


def test_losses_are_told_by_stage(page: ResultsPage) -> None:
    assert rows(page_parts(page), "Where facts were lost")["episodes"] == ["64", "32", "32", "0"]


def test_nothing_a_user_wrote_is_markup(tmp_path: Path) -> None:
    """Names of arms and of the experiment are text, and a bar in them is no column."""
    made = made_run(tmp_path, mangle=lambda text: text + HOSTILE)
    parts = page_parts(results_page(made))
    text = "\n".join(parts)
    assert "<script>" not in text
    assert "`x`" not in text.replace("\\`", "")
    for part in parts:
        lines = part.split("\n")
        if lines[0].startswith("| arm"):
            assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


def test_a_page_that_cannot_be_written_is_told(page: ResultsPage, tmp_path: Path) -> None:
    """A file in the place of the folder."""
    (tmp_path / "docs").write_text("")
    with pytest.raises(InputError, match="the page must be writable"):
        write_results_page(page, tmp_path / "docs" / "made.md")


def phased(tmp_path: Path, *, across: int) -> ResultsPage:
    """Return the page of two phases: each fact inside in one and across a border in the other.

    Args:
        across: of ten facts a session, how many are in the prompt where they stand across.
    """

    def cell(arm: str, session: int, fact: int) -> dict[str, Any]:
        is_inside = (arm == "first") == (fact < 5)
        return {
            "arm": arm, "is_control": False, "session_id": f"s{session}", "probe_id": f"p{fact}",
            "replicate": 0, "summariser_replicate": 0, "kind": "number", "language": "en",
            "answerable": True, "bucket": "interior", "distilled": False, "tail": False,
            "retrieved": False, "evicted": False, "depth": 0.1, "rounds": 1, "verbose": False,
            "audited": False, "arm_bucket": "interior",
            "value_in_context": is_inside or fact % 5 < across // 2, "evidence_in_context": 0.0,
            "outcome": "skipped", "context_tokens": 10, "full_tokens": 20,
            "differs_from_full": True,
        }  # fmt: skip

    arms = {}
    for phase, name in enumerate(("first", "second")):
        settings = settings_for("episodes", {"episodes": {"phase": phase}})
        shape = {"control": None, "compacts": True, "settings": settings.model_dump(mode="json")}
        arms[name] = shape
    cells = [cell(a, s, f) for a in arms for s in range(8) for f in range(10)]
    models = {"reader": "none", "summariser": "offline", "judge": "none"}
    counts = {"sessions": 8, "messages": 80, "probes": 80, "cells": 160, "calls": 0,
              "calls_made": 0, "outcomes": {"skipped": 160}}  # fmt: skip
    manifest = {
        "run_id": "phased", "started_at": "2026-03-02", "arms": arms, "reference_arm": "first",
        "is_offline": True, "counts": counts,
        "experiment": {"name": "phased", "models": models, "expectation": "None *at all*."},
    }  # fmt: skip
    tables = {
        "cells": cells,
        "probes": [_probe(s, f, [[4, 5]] if f < 5 else [[5, 6]]) for s in range(8) for f in range(10)],
        "artifacts": [_episode(f"s{s}", arm, start) for s in range(8)
                      for arm, starts in (("first", (0, 6, 12)), ("second", (0, 5, 11)))
                      for start in starts],
    }  # fmt: skip
    return results_page(write_run(tmp_path, manifest=manifest, tables=tables))


def _probe(session: int, fact: int, evidence: list[list[int]]) -> dict[str, Any]:
    return {
        "probe_id": f"p{fact}", "session_id": f"s{session}", "question": "?", "kind": "number",
        "evidence": orjson.dumps(evidence).decode(), "expect": "[]", "forbid": "[]",
        "answerable": True, "language": "en",
    }  # fmt: skip


def _episode(session: str, arm: str, start: int) -> dict[str, Any]:
    return {
        "arm": arm, "session_id": session, "replicate": 0, "artifact_id": f"episode/{start}",
        "kind": "episode", "level": 0, "from_seq": start, "to_seq": start + 5,
        "read_from_seq": start, "read_to_seq": start + 5, "parents": "[]",
        "visible_from_seq": start + 6, "version": 1, "status": "current", "text": f"{arm} {start}",
        "items": "[]", "tokens": 9, "model": "offline", "prompt_hash": "h", "lossless": False,
        "meta": "{}",
    }  # fmt: skip


def test_facts_are_compared_with_themselves_at_another_position(tmp_path: Path) -> None:
    """Every fact is kept inside; across a border four of ten are: −60 points in each session.

    Episodes of one arm begin at 0, 6 and 12, of the other at 0, 5 and 11: messages 4 and 5 stand in
    one episode of the first and in two of the second, messages 5 and 6 the other way round.
    """
    page = phased(tmp_path, across=4)
    assert page.positions is not None
    assert (page.positions.n, page.positions.before, page.positions.after) == (80, 1.0, 0.4)
    assert page.positions.verdict == "worse"
    assert findings(page)[0].startswith(
        "80 facts stood both inside an episode and across a border: 100% of them were in the "
        "prompt where they stood inside and 40% where they stood across, -60 -"
    )
    text = "\n\n".join(page_parts(page))
    assert text.split("\n\n")[1].startswith("> Made with the offline model")
    assert "**Expected.** None \\*at all\\*." in text
    assert page.alike == ()


def test_arms_with_the_same_prompts_say_nothing_of_each_other(tmp_path: Path) -> None:
    """Two arms whose artifacts and blocks are equal; the texts of the first ones differ."""
    made = made_run(tmp_path)
    tables = {name: table_rows(made, name) for name in ("contexts", "artifacts")}
    for name, kept in tables.items():
        tables[name] = [row for row in kept if row["arm"] == "episodes"]
        tables[name] += [{**row, "arm": "roomy"} for row in tables[name]]
    same = write_run(tmp_path, manifest={**made.manifest(), "run_id": "same"}, tables=tables)
    for run, groups in ((made, []), (same, [{"episodes", "roomy"}])):
        with connect(run) as connection:
            assert same_prompts(connection) == groups


def test_economics_of_another_experiment_are_refused(tmp_path: Path) -> None:
    """Its arms are not the run's."""
    from types import SimpleNamespace

    made = made_run(tmp_path)
    other: Any = SimpleNamespace(name="other", arms=())
    with pytest.raises(InputError, match="without episodes, roomy"):
        results_page(made, economics=other)
