"""Find an expected value in a text by its type. Shared by scoring and by the presence test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ctxeng.harness.scoring.quantities import (
    Moment,
    Quantity,
    moments,
    only_moment,
    only_quantity,
    quantities,
    same_moment,
    same_quantity,
)
from ctxeng.harness.scoring.text import SPACELESS, case_style, is_spaceless, normal

ValueType = Literal["number", "date", "identifier", "text"]

_IDENTIFIER = re.compile(
    r"[\w.+\-/:@#~\\]*(?:[a-z][A-Z]|[_/\\@#]|\w[.:\-]\w|[A-Za-z]\d|\d[A-Za-z])[\w.+\-/:@#~\\]*"
)

# A letter or digit that would make the value part of a longer word. Kana, Han and Hangul do not:
# particles follow a Latin word or a number without a space.
_LETTER = rf"[^\W_{SPACELESS}]"


@dataclass(frozen=True, slots=True)
class Found:
    """Where a value stands in the normal form of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Value:
    """An expected value, read once."""

    text: str
    shown: str
    type: ValueType
    quantity: Quantity | None = None
    moment: Moment | None = None


@lru_cache(maxsize=50_000)
def value_of(text: str) -> Value:
    """Return what kind of value a text is: a date, a number, an identifier, or plain words."""
    shown = normal(text)
    moment = only_moment(text)
    if moment is not None:
        return Value(text, shown, "date", moment=moment)
    quantity = only_quantity(text)
    if quantity is not None:
        return Value(text, shown, "number", quantity=quantity)
    if " " not in text.strip() and not is_spaceless(text) and _IDENTIFIER.fullmatch(text.strip()):
        return Value(text, shown, "identifier")
    return Value(text, shown, "text")


def find(value: Value, text: str) -> list[Found]:
    """Return every place where a text holds the value (places in its normal form)."""
    shown = normal(text)
    literal = [Found(a, b) for a, b in _occurrences(value, shown)]
    match value.type:
        case "number" if value.quantity is not None:
            wanted = value.quantity
            same = [Found(q.start, q.end) for q in quantities(text) if same_quantity(wanted, q)]
            return same
        case "date" if value.moment is not None:
            when = value.moment
            return [Found(t.start, t.end) for t in moments(text) if same_moment(when, t)] or literal
        case "identifier":
            return literal or _case_styled(value, text)
    return literal


def _occurrences(value: Value, shown: str) -> list[tuple[int, int]]:
    if not value.shown:
        return []
    return [(m.start(), m.end()) for m in _pattern(value.shown).finditer(shown)]


@lru_cache(maxsize=50_000)
def _pattern(shown: str) -> re.Pattern[str]:
    """Return the pattern of a value: word borders where its ends are words of a spaced script."""
    body = r"\s?".join(re.escape(part) for part in shown.split(" "))
    body = body.replace(r"\s?", r"\s+") if not is_spaceless(shown) else body
    left = rf"(?<!{_LETTER})" if _borders(shown[0]) else ""
    right = ""
    if _borders(shown[-1]):
        right = rf"(?!{_LETTER}|[.,]\d)" if shown[-1].isdigit() else rf"(?:'?e?s)?(?!{_LETTER})"
    return re.compile(left + body + right)


def _borders(character: str) -> bool:
    return character.isalnum() and not is_spaceless(character)


def _case_styled(value: Value, text: str) -> list[Found]:
    """Return identifiers that agree but for camel case, snake case or hyphens."""
    wanted = case_style(value.text)
    if not wanted or wanted.replace(" ", "") == "":
        return []
    for m in re.finditer(r"[\w.\-/]+(?: [\w.\-/]+){0,3}", text):
        piece = m.group().strip(".,;:")
        if case_style(piece) == wanted:
            return [Found(0, 0)]
        for token in piece.split(" "):
            if case_style(token.strip(".,;:")) == wanted:
                return [Found(0, 0)]
    return []
