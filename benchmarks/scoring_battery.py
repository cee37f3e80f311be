"""Literal scorer against labelled answers, beside plain substring and word-border matching.

    python benchmarks/scoring_battery.py tests/data/battery_seen.jsonl [--faults]

Each line of a file is ``id, class, language, question, kind, expect, forbid, answer, verdict``,
where the verdict is a person's: right, wrong, or unclear (only a judge could tell).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ctxeng.harness.scoring.abstention import is_abstention
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.text import is_spaceless, normal

Said = Literal["pass", "fail", "ambiguous"]
Scorer = Callable[[Mapping[str, Any]], Said]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """How a scorer did on labelled answers; the lists hold ids of pairs.

    Args:
        right, wrong, unclear: how many pairs are labelled so.
        false_passes: wrong answers passed without a judge.
        false_fails: right answers failed without a judge.
        ambiguous: pairs of any label that are left to a judge.
    """

    right: int
    wrong: int
    unclear: int
    false_passes: tuple[str, ...]
    false_fails: tuple[str, ...]
    ambiguous: tuple[str, ...]

    @property
    def false_fail_share(self) -> float:
        """Return the share of right answers that fail (0–1)."""
        return len(self.false_fails) / max(1, self.right)

    @property
    def ambiguous_share(self) -> float:
        """Return the share of all answers that are left to a judge (0–1)."""
        return len(self.ambiguous) / max(1, self.right + self.wrong + self.unclear)

    def line(self, label: str) -> str:
        """Return the figures as a line of the table."""
        return (
            f"{label:14}{len(self.false_passes):5} of {self.wrong:<5}"
            f"{len(self.false_fails):5} of {self.right:<5}{self.ambiguous_share:11.1%}"
        )


def measure(pairs: Sequence[Mapping[str, Any]], scorer: Scorer) -> Measured:
    """Return how a scorer did on the pairs of a battery."""
    said = {pair["id"]: scorer(pair) for pair in pairs}
    labels = [pair["verdict"] for pair in pairs]

    def ids(verdict: Said, label: str | None = None) -> tuple[str, ...]:
        return tuple(
            p["id"] for p in pairs if said[p["id"]] == verdict and label in (None, p["verdict"])
        )

    return Measured(
        right=labels.count("right"),
        wrong=labels.count("wrong"),
        unclear=labels.count("unclear"),
        false_passes=ids("pass", "wrong"),
        false_fails=ids("fail", "right"),
        ambiguous=ids("ambiguous"),
    )


def typed(pair: Mapping[str, Any]) -> Said:
    """Return the verdict of the scorer that the harness uses."""
    return score_literal(
        question=pair["question"],
        kind=pair["kind"],
        expect=pair["expect"],
        forbid=pair["forbid"],
        answer=pair["answer"],
        answerable=pair["kind"] != "absent",
        language=pair["language"],
    ).verdict


def substring(pair: Mapping[str, Any]) -> Said:
    """Return pass where every group has a value that is part of the answer, else fail."""
    return _plain(pair, lambda value, answer: value in answer)


def word_border(pair: Mapping[str, Any]) -> Said:
    """Return pass where values stand as whole words (scripts without spaces: as substrings)."""

    def stands(value: str, answer: str) -> bool:
        if is_spaceless(value):
            return value in answer
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", answer) is not None

    return _plain(pair, stands)


SCORERS: Mapping[str, Scorer] = {
    "typed": typed,
    "substring": substring,
    "word border": word_border,
}


def read_battery(path: Path) -> list[dict[str, Any]]:
    """Return the labelled pairs of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _plain(pair: Mapping[str, Any], stands: Callable[[str, str], bool]) -> Said:
    answer = normal(pair["answer"])
    if pair["kind"] == "absent":
        return "pass" if is_abstention(pair["answer"]) else "fail"
    met = all(any(stands(normal(v), answer) for v in group) for group in pair["expect"])
    return "pass" if met else "fail"


def main() -> None:
    """Print the table for each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--faults", action="store_true", help="list the faults of the typed scorer")
    asked = parser.parse_args()
    for path in asked.files:
        pairs = read_battery(path)
        print(f"{path.name}: {len(pairs)} pairs\n{'':14}wrong passed  right failed  ambiguous")
        for label, scorer in SCORERS.items():
            print(measure(pairs, scorer).line(label))
        if asked.faults:
            _print_faults(pairs)


def _print_faults(pairs: Sequence[Mapping[str, Any]]) -> None:
    found = measure(pairs, typed)
    for pair in pairs:
        for name, ids in (("passed", found.false_passes), ("failed", found.false_fails)):
            if pair["id"] in ids:
                print(f"{name}: {pair['id']} {pair['expect']} {pair['answer']!r}")


if __name__ == "__main__":
    main()
