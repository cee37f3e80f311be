"""Answers that people judged: one JSON object a line, with what recorded judges said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxeng.core.errors import DatasetError
from ctxeng.harness.scoring.answers import answer_of, scored
from ctxeng.harness.sessions.text import json_fault, lines, open_utf8, parse_json

HUMAN_WORDS = ("right", "wrong", "unclear")
JUDGE_WORDS = ("right", "wrong", "undecided")
_FROM_LITERAL = {"pass": "right", "fail": "wrong", "ambiguous": "undecided"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One answer with a person's verdict.

    Args:
        human: right, wrong or unclear.
        said: by judge, its verdict (right, wrong, undecided); ``literal`` is the literal scorer.
    """

    answer_id: str
    human: str
    said: Mapping[str, str] = field(default_factory=dict)


def read_labels(path: Path) -> list[Labelled]:
    """Return the labelled answers of a file, each with the literal scorer's verdict.

    A line holds ``question, kind, expect, forbid, answer, human`` and, where judges were recorded,
    ``judges`` as an object of verdicts by name.

    Raises:
        DatasetError: the file cannot be read, or a line is at fault; names the line.
    """
    try:
        stream = open_utf8(path)
    except OSError as error:
        raise DatasetError(
            f"a file of labels must be readable, got {path} ({error.strerror}). Check the path."
        ) from None
    with stream:
        numbered = [(n, line) for n, line in lines(stream) if line.strip()]
    labelled = [_read(line, f"{path}:{number}", number) for number, line in numbered]
    if not labelled:
        raise DatasetError(f"a file of labels must hold answers, got none ({path}). Add some.")
    return labelled


def _read(line: bytes, where: str, number: int) -> Labelled:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise DatasetError(f"{where}: a line must be JSON, got {json_fault(error)}.") from None
    try:
        literal = scored(answer_of(record))
        _check(record)
    except ValueError as error:
        raise DatasetError(f"{where}: {error} Mend the line.") from None
    return Labelled(
        answer_id=str(record.get("id", number)),
        human=record["human"],
        said={"literal": _FROM_LITERAL[literal.verdict], **(record.get("judges") or {})},
    )


def _check(record: Mapping[str, Any]) -> None:
    if record.get("human") not in HUMAN_WORDS:
        raise ValueError(
            f"human must be one of {', '.join(HUMAN_WORDS)}, got {record.get('human')!r}."
        )
    judges = record.get("judges") or {}
    if not isinstance(judges, dict) or any(said not in JUDGE_WORDS for said in judges.values()):
        raise ValueError(
            f"judges must be an object of {', '.join(JUDGE_WORDS)} by name, got {judges!r}."
        )
