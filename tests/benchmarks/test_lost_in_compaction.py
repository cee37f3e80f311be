"""The table of recorded answers: the literal scorer beside the judge that was recorded with them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parent.parent.parent / "benchmarks" / "lost_in_compaction.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the benchmark as a module."""
    spec = importlib.util.spec_from_file_location("lost_in_compaction", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_facts_are_told_apart_by_compaction(script: ModuleType, shared_data: Path) -> None:
    """C1 compacted 2 of 40 facts, C4 39 of 40; one fact of each cannot be known."""
    folder = shared_data / "lost-in-compaction"
    for chat, compacted in (("C1", 2), ("C4", 39)):
        found = script.scored(folder, chat)
        assert len(found) == 40
        assert sum(one.compacted for one in found) == compacted
        assert sum(not one.is_answerable for one in found) == 1


def test_recorded_answers_are_scored_as_a_person_would(
    script: ModuleType, shared_data: Path
) -> None:
    """Nothing compacted was recalled; of 37 uncompacted facts of C1 the judge accepts 11.

    Where a literal pass and the judge differ, the judge had refused "500 copies" for 500; where
    the literal rules fail an answer, the judge does too.
    """
    folder = shared_data / "lost-in-compaction"
    lines = {
        line.label: line
        for chat in ("C1", "C4")
        for line in script.lines(script.scored(folder, chat), chat)
    }
    for label in ("C1 compacted", "C4 compacted"):
        assert (lines[label].passed, lines[label].judged_right) == (0, 0)
    kept = lines["C1 not compacted"]
    assert (kept.n, kept.judged_right, kept.only_judge) == (37, 11, 0)
    assert 11 <= kept.passed <= 13
    assert kept.passed + kept.failed + kept.ambiguous == kept.n
    assert (lines["C4 not compacted"].n, lines["C4 not compacted"].passed) == (1, 1)
    differ = [one for one in script.disagreements(script.scored(folder, "C1")) if one.is_answerable]
    assert {one.answer for one in differ} <= {"500 copies", "Irish and Italian"}
