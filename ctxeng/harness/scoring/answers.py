"""Answers that stand in a file, one JSON object a line, and their literal verdicts."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ctxeng.harness.scoring.literal import LiteralVerdict, score_literal

Group = Annotated[list[str], Field(min_length=1)]


class GivenAnswer(BaseModel):
    """An answer beside what was expected; whatever else its line holds is not the scorer's.

    Args:
        expect: groups of values, or values that are a group of their own; None or empty: the
            answer asks for what was never stated. It must be said, for a line that forgot it
            would be scored as one of those.
        answerable: None: where something is expected.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    answer: str
    expect: list[Group | str] | None
    question: str = ""
    kind: str = "other"
    forbid: list[str] | None = None
    answerable: bool | None = None
    language: str = "und"


def answer_of(record: Any) -> GivenAnswer:
    """Return the answer a line holds.

    Raises:
        ValueError: it holds none; says in a sentence what it must hold.
    """
    try:
        return GivenAnswer.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else "answer"
    if field == "answer":
        raise ValueError("a line must be a JSON object with an answer.")
    if first["type"] == "missing":
        raise ValueError("a line must have expect; null or [] where the fact was never stated.")
    if field in ("expect", "forbid"):
        raise ValueError(
            "expect and forbid must be lists of texts; a group of expect is a list of one or more."
        )
    raise ValueError(f"{field} must be {'true or false' if field == 'answerable' else 'a text'}.")


def scored(given: GivenAnswer) -> LiteralVerdict:
    """Return the literal scorer's verdict on an answer."""
    return score_literal(
        question=given.question,
        kind=given.kind,
        expect=[[one] if isinstance(one, str) else one for one in given.expect or []],
        forbid=given.forbid or [],
        answer=given.answer,
        answerable=bool(given.expect) if given.answerable is None else given.answerable,
        language=given.language,
    )
