"""Recall of compacted and uncompacted facts, from answers that others recorded and judged.

    python benchmarks/lost_in_compaction.py FOLDER

Reads the chats C1 (5 % compacted) and C4 (98 % compacted): where each fact stands, what a model
answered, and what a model judge said of the answer. The recorded answers are scored literally; no
model is asked. Expected is the recorded answer, or else every recorded keyword.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxeng.harness.scoring.literal import LiteralVerdict, score_literal

CHATS = ("C1", "C4")
CANNOT_BE_KNOWN = "The information provided is not enough."  # as LongMemEval words it


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One fact: was it compacted away, what was answered, and both verdicts on the answer.

    Args:
        judged_right: the recorded judge's ``accurate``.
        is_answerable: False where the recorded right answer is that it cannot be known.
    """

    fact_id: str
    compacted: bool
    question: str
    expected: str
    answer: str
    literal: LiteralVerdict
    judged_right: bool
    is_answerable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table; counts of answers."""

    label: str
    n: int
    passed: int
    failed: int
    ambiguous: int
    judged_right: int
    only_literal: int
    only_judge: int

    def text(self) -> str:
        """Return the line as the table shows it."""
        share = f"{self.passed / self.n:.0%}" if self.n else "-"
        judged = f"{self.judged_right / self.n:.0%}" if self.n else "-"
        return (
            f"{self.label:<34}{self.n:>4}{self.passed:>6}{self.failed:>6}{self.ambiguous:>7}"
            f"{share:>8}{self.judged_right:>8}{judged:>7}{self.only_literal:>9}{self.only_judge:>8}"
        )


HEADER = (
    f"{'':<34}{'n':>4}{'pass':>6}{'fail':>6}{'unsure':>7}{'recall':>8}{'judge':>8}{'':>7}"
    f"{'literal':>9}{'judge':>8}\n{'':<34}{'':>4}{'':>6}{'':>6}{'':>7}{'':>8}{'right':>8}{'':>7}"
    f"{'only':>9}{'only':>8}"
)


def scored(folder: Path, chat: str) -> list[Scored]:
    """Return every fact of a chat with its recorded answer scored literally."""
    facts = _load(folder / f"d40_{chat}_meta.json")["facts"]
    answers = dict(_by_fact(_load(folder / f"answers_d40_{chat}_bs5.json"), "answers"))
    verdicts = dict(_by_fact(_load(folder / f"judgments_d40_{chat}_bs5.json"), "verdicts"))
    return [
        _scored(fact, answers[fact["fact_id"]]["raw_answer"], verdicts[fact["fact_id"]])
        for fact in facts
    ]


def lines(found: Sequence[Scored], chat: str) -> list[Line]:
    """Return the lines of one chat: answerable facts by compaction, and the unanswerable ones."""
    answerable = [one for one in found if one.is_answerable]
    groups = {
        "compacted": [one for one in answerable if one.compacted],
        "not compacted": [one for one in answerable if not one.compacted],
        "cannot be known": [one for one in found if not one.is_answerable],
    }
    return [_line(f"{chat} {name}", inside) for name, inside in groups.items() if inside]


def disagreements(found: Sequence[Scored]) -> list[Scored]:
    """Return the answers that one verdict calls right and the other wrong."""
    return [
        one
        for one in found
        if one.literal.verdict != "ambiguous"
        and (one.literal.verdict == "pass") != one.judged_right
    ]


def _scored(fact: dict[str, Any], answer: str, verdict: dict[str, Any]) -> Scored:
    expected = str(fact["answer"])
    answerable = not expected.startswith(CANNOT_BE_KNOWN)
    literal = _literal(fact["question"], [[expected]], answer, answerable)
    keywords = [[word] for word in fact["keywords"]]
    if literal.verdict != "pass" and answerable and keywords:
        second = _literal(fact["question"], keywords, answer, answerable)
        literal = second if second.verdict == "pass" else literal
    return Scored(
        fact_id=fact["fact_id"],
        compacted=fact["compacted"],
        question=fact["question"],
        expected=expected,
        answer=answer,
        literal=literal,
        judged_right=verdict["accurate"],
        is_answerable=answerable,
    )


def _literal(
    question: str, expect: Sequence[Sequence[str]], answer: str, answerable: bool
) -> LiteralVerdict:
    return score_literal(
        question=question,
        kind="other",
        expect=expect,
        forbid=(),
        answer=answer,
        answerable=answerable,
        language="en",
    )


def _line(label: str, found: Sequence[Scored]) -> Line:
    verdicts = [one.literal.verdict for one in found]
    differ = disagreements(found)
    return Line(
        label=label,
        n=len(found),
        passed=verdicts.count("pass"),
        failed=verdicts.count("fail"),
        ambiguous=verdicts.count("ambiguous"),
        judged_right=sum(one.judged_right for one in found),
        only_literal=sum(one.literal.verdict == "pass" for one in differ),
        only_judge=sum(one.judged_right for one in differ),
    )


def _by_fact(record: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((one["fact_id"], one) for batch in record["batches"] for one in batch[name])


def _load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8-sig"))
    return loaded


def main() -> None:
    """Print the table and the answers on which the two verdicts differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print(HEADER)
    found = {chat: scored(folder, chat) for chat in CHATS}
    for chat, facts in found.items():
        for line in lines(facts, chat):
            print(line.text())
    print("\nOne chat each: no interval can be given. Where literal and recorded judge differ:")
    for chat, facts in found.items():
        for one in disagreements(facts):
            judged = "right" if one.judged_right else "wrong"
            print(
                f"{chat} {one.fact_id} expected {one.expected[:50]!r}, answered "
                f"{one.answer[:60]!r}: {one.literal.verdict} ({one.literal.rule}), judge {judged}"
            )


if __name__ == "__main__":
    main()
