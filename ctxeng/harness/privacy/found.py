"""What a detector finds: a stretch of text, its kind, and what makes two of them the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["secret", "card", "iban", "email", "phone", "ip", "user", "name"]
KINDS: tuple[Kind, ...] = ("secret", "card", "iban", "email", "phone", "ip", "user", "name")
"""Ordered by what wins where two kinds claim stretches of equal length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A stretch ``text[start:end]`` that must not be stored.

    Args:
        identity: equal for every way of writing the same value (``+1 415…`` and ``(415)…``).
    """

    kind: Kind
    start: int
    end: int
    identity: str


class Detector(Protocol):
    """Finds one or more kinds in a text."""

    def find(self, text: str) -> Iterator[Found]:
        """Yield what the text holds, in any order; stretches may overlap."""
        ...


def without_overlaps(found: Iterable[Found]) -> list[Found]:
    """Return stretches that do not overlap, in text order; the longer one wins."""
    ranked = sorted(found, key=lambda f: (f.start - f.end, KINDS.index(f.kind), f.start))
    kept: list[Found] = []
    for one in ranked:
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda f: f.start)
