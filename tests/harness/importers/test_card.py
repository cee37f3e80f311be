"""The card of a dataset folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ctxeng.harness.importers.card import card_text, write_card

REPORT: dict[str, Any] = {
    "format": "locomo",
    "sessions": 2,
    "messages": 30,
    "probes": 4,
    "read": 40,
    "imported": 34,
    "merged": 1,
    "skipped": {"damaged line": 2, "empty message": 3},
    "findings": [{"file": "/x/y/log.jsonl", "line": 7, "what": "damaged line: 予"}],
}


def test_a_card_says_where_a_dataset_comes_from_and_what_was_left_out() -> None:
    """Origin, licence and the whole account stand on it; unknown ones are said to be unknown."""
    text = card_text("corpus", REPORT, origins={("LoCoMo", "CC BY-NC 4.0"): 1, ("", ""): 1})
    for part in (
        "# corpus\n",
        "format `locomo`",
        "| LoCoMo | CC BY-NC 4.0 | 1 |",
        "| unknown | not stated | 1 |",
        "2 sessions, 30 messages, 4 probes.",
        "40 records read = 34 imported + 1 merged + 5 skipped.",
        "- skipped, damaged line: 2",
        "- log.jsonl:7: damaged line: 予",
    ):
        assert part in text
    assert "/x/y" not in text


@pytest.mark.parametrize(("count", "more"), [(0, None), (40, None), (41, 1), (500, 460)])
def test_a_card_shows_forty_findings_and_counts_the_rest(count: int, more: int | None) -> None:
    """A thousand damaged lines do not make a thousand lines of card."""
    findings = [{"file": "a", "line": 0, "what": f"thing {n}"} for n in range(count)]
    text = card_text("c", {**REPORT, "findings": findings}, origins={})
    assert text.count("- a: thing") == min(count, 40)
    assert ("… and" in text) == (more is not None)
    if more:
        assert f"… and {more} more" in text


def test_a_finding_is_one_line_whatever_it_holds() -> None:
    """Line feeds and endless text in a finding do not break the list."""
    findings = [{"file": "a", "line": 1, "what": "one\ntwo\r\nthree " + "x" * 1000}]
    (line,) = [
        line
        for line in card_text("c", {**REPORT, "findings": findings}, origins={}).split("\n")
        if line.startswith("- a:1:")
    ]
    assert line.startswith("- a:1: one two three x")
    assert len(line) < 320


def test_an_unchanged_card_is_not_touched(tmp_path: Path) -> None:
    """Importing the same again leaves no trace in version control."""
    write_card(tmp_path, REPORT, origins={("a", "b"): 1})
    card = tmp_path / "card.md"
    os.utime(card, (1, 1))
    write_card(tmp_path, REPORT, origins={("a", "b"): 1})
    assert card.stat().st_mtime == 1
    write_card(tmp_path, {**REPORT, "read": 41}, origins={("a", "b"): 1})
    assert card.stat().st_mtime != 1
    assert "41 records" in card.read_text("utf-8")


def test_a_card_is_named_by_its_folder_from_within_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing into ``.`` gives the same card as importing into the folder's name."""
    monkeypatch.chdir(tmp_path)
    write_card(Path("."), REPORT, origins={})
    assert (tmp_path / "card.md").read_text("utf-8").startswith(f"# {tmp_path.name}\n")
