"""Precision and recall of redaction by kind on the labelled lines."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ctxeng.harness.privacy.found import KINDS
from ctxeng.harness.privacy.names import read_names
from ctxeng.harness.privacy.redactor import Redactor

HERE = Path(__file__).parent
_MARK = re.compile(r"⟦(\w+):(.*?)⟧")


class Measured(NamedTuple):
    """Counts of one kind; a stretch counts when kind, start and end are right."""

    right: int
    wrong: int
    missed: int


def labelled() -> list[tuple[str, set[tuple[str, int, int]]]]:
    """Return each line without its marks, and what is marked: kind, start, end."""
    lines = []
    for line in (HERE / "labelled.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        text, marks, place = "", set(), 0
        for mark in _MARK.finditer(line):
            text += line[place : mark.start()]
            marks.add((mark[1], len(text), len(text) + len(mark[2])))
            text, place = text + mark[2], mark.end()
        lines.append((text + line[place:], marks))
    return lines


def measure() -> dict[str, Measured]:
    """Return the counts by kind; every line is looked at on its own, with nothing remembered."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    people = read_names(HERE / "names.txt")
    for text, marks in labelled():
        found = {
            (f.kind, f.start, f.end) for f in Redactor(key=b"k" * 32, people=people).find(text)
        }
        right.update(kind for kind, _, _ in found & marks)
        wrong.update(kind for kind, _, _ in found - marks)
        missed.update(kind for kind, _, _ in marks - found)
    return {kind: Measured(right[kind], wrong[kind], missed[kind]) for kind in KINDS}


def table(measured: dict[str, Measured]) -> str:
    """Return the counts with precision and recall, a line a kind."""
    rows = [f"{'kind':8} right wrong missed precision recall"]
    for kind, (right, wrong, missed) in measured.items():
        precision = right / (right + wrong) if right + wrong else 1.0
        rows.append(
            f"{kind:8} {right:5} {wrong:5} {missed:6} {precision:9.2f} {right / (right + missed):6.2f}"
        )
    return "\n".join(rows)
