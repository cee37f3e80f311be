"""Values of a text that its sources never state: numbers, dates and identifiers, by value."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from ctxeng.harness.scoring.moments import Moment, moments, same_moment
from ctxeng.harness.scoring.quantities import Quantity, quantities, same_quantity, value_keys
from ctxeng.harness.scoring.text import Taken, normal

SMALLEST = 10  # below it a number counts things ("three options"): no value of the conversation
_IDENTIFIER = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+|[A-Za-z]+\d[A-Za-z0-9]*)"
)
_LISTED = re.compile(r"(?m)^[^\S\n]*(?:[-*•][^\S\n]*)?\d{1,2}[.)]\s")  # 1. in front of an item


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a conversation states, read once: every number, date and the words themselves."""

    numbers: Mapping[Decimal, Sequence[Quantity]]  # by ``value_keys``
    dates: tuple[Moment, ...]
    words: str

    @classmethod
    def of(cls, texts: Sequence[str], names: Sequence[str] = ()) -> Stated:
        """Return what the messages of a conversation state; ``names`` are its speakers'."""
        numbers = (replace(q, start=0, end=0) for text in texts for q in quantities(text))
        dates = (replace(m, start=0, end=0) for text in texts for m in moments(text))
        by_value: dict[Decimal, list[Quantity]] = defaultdict(list)
        for number in dict.fromkeys(numbers):
            for key in value_keys(number):
                by_value[key].append(number)
        return cls(
            numbers=by_value,
            dates=tuple(dict.fromkeys(dates)),
            words="\n".join(normal(text) for text in (*texts, *names)),
        )

    def has_number(self, number: Quantity) -> bool:
        """Return whether a number was stated, by value and unit."""
        alike = (other for key in value_keys(number) for other in self.numbers.get(key, ()))
        return any(same_quantity(number, other) for other in alike)

    def has_date(self, date: Moment) -> bool:
        """Return whether a date was stated; a part of it that was not said is no contradiction."""
        return any(same_moment(date, other) for other in self.dates)

    def has_name(self, name: str) -> bool:
        """Return whether an identifier (in normal form) was stated, as a word of its own."""
        return bool(re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", self.words))


def invented(text: str, stated: Stated) -> tuple[int, tuple[str, ...]]:
    """Return how many values a text has, and those that were never stated, each once.

    Values are dates, numbers of ten and more, and identifiers that hold a digit; numbers agree by
    value and unit, so that ``3,000円`` is stated by ``三千円``.
    """
    plain = _LISTED.sub("", text)
    shown = normal(plain)
    dates = [t for t in moments(plain) if t.month is not None or t.is_numeric]
    names = [m for m in _IDENTIFIER.finditer(shown) if re.search(r"\d", m[0])]
    taken = Taken(shown)
    for start, end in (*((t.start, t.end) for t in dates), *(m.span() for m in names)):
        taken.take(start, end)
    numbers = [
        q for q in quantities(plain) if abs(q.value) >= SMALLEST and not taken.meets(q.start, q.end)
    ]
    unheard = [shown[t.start : t.end] for t in dates if not stated.has_date(t)]
    unheard += [m[0] for m in names if not stated.has_name(m[0])]
    unheard += [shown[q.start : q.end] for q in numbers if not stated.has_number(q)]
    return len(dates) + len(names) + len(numbers), tuple(dict.fromkeys(unheard))
