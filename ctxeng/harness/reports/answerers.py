"""Readers that do not read: one answer for all, the question again, or the whole context back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FEWEST_ANSWERS = 10
CONSTANT_SHARE, VERBOSE_SHARE, ECHO_SHARE = 0.8, 0.2, 0.2
NO_READING = ("none",)  # the control that is given nothing to read


def answerer_notices(counted: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for every arm whose answers are no reading of its prompts.

    Arms with fewer than ten answers, and the control without history, are not judged.

    Args:
        counted: the rows of ``aggregates.answer_counts``.
    """
    return [
        f"{row['arm']}: {fault}."
        for row in counted
        if row["arm"] not in NO_READING and row["n"] >= FEWEST_ANSWERS and (fault := _fault(row))
    ]


def _fault(row: Mapping[str, Any]) -> str:
    n = row["n"]
    if row["same"] >= CONSTANT_SHARE * n:
        return (
            f"{row['same']} of {n} answers are the same words ({row['words'][:40]!r}): read the "
            "row of absent facts beside the answerable ones"
        )
    if row["long"] >= VERBOSE_SHARE * n:
        long = f"{row['long']} of {n} answers are far longer than an answer"
        return f"{long}, as a dump of the context is"
    if row["echoed"] >= ECHO_SHARE * n:
        return f"{row['echoed']} of {n} answers only repeat the question"
    return ""
