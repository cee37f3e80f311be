"""Where expected values stand in a text as it was written, so that they can be shown in place."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ctxeng.harness.scoring.matching import Found, find, may_hold, value_of
from ctxeng.harness.scoring.text import normal

Groups = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A text with the places of the expected values.

    Args:
        holds: indices of the expected groups that the text meets.
        marks: character offsets ``(start, end)`` of the values, in order, not overlapping. Empty
            although ``holds`` is not, where a place cannot be told (composed characters).
        is_cut: the text is an excerpt; ``…`` stands for what was left out.
    """

    text: str
    holds: tuple[int, ...] = ()
    marks: tuple[tuple[int, int], ...] = ()
    is_cut: bool = False

    def pieces(self) -> list[tuple[str, bool]]:
        """Return the text in pieces, each with whether it is a value."""
        found: list[tuple[str, bool]] = []
        at = 0
        for start, end in self.marks:
            found += [(self.text[at:start], False), (self.text[start:end], True)]
            at = end
        return [piece for piece in [*found, (self.text[at:], False)] if piece[0]]

    def excerpt(self, characters: int) -> Marked:
        """Return about that much of the text, around the first value; whole where it is shorter."""
        if len(self.text) <= characters:
            return self
        centre = self.marks[0][0] if self.marks else 0
        low = max(0, min(centre - characters // 2, len(self.text) - characters))
        high = low + characters
        head, tail = "… " if low else "", " …" if high < len(self.text) else ""
        shift = len(head) - low
        return Marked(
            text=head + self.text[low:high] + tail,
            holds=self.holds,
            marks=tuple((a + shift, b + shift) for a, b in self.marks if low <= a and b <= high),
            is_cut=True,
        )


def marked(text: str, expect: Groups) -> Marked:
    """Return a text with the places of the expected values, by the matchers of the presence test.

    Example:
        ``marked("Budget: ¥3,000.", [["3000円"]]).marks`` → ``((8, 14),)``
    """
    return _marked(text, tuple(map(tuple, expect)))


@lru_cache(maxsize=50_000)
def _marked(text: str, expect: tuple[tuple[str, ...], ...]) -> Marked:
    places = [_places(group, text) for group in expect]
    spans = [(p.start, p.end) for found in places for p in found]
    return Marked(
        text=text,
        holds=tuple(i for i, found in enumerate(places) if found),
        marks=_as_written(text, spans) if spans else (),
    )


def _places(group: tuple[str, ...], text: str) -> tuple[Found, ...]:
    values = [value_of(value) for value in group]
    return tuple(
        place
        for value in values
        if may_hold(value, text)
        for place in find(value, text, exact_unit=True)
    )


def _as_written(text: str, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return spans of a text's normal form as spans of the text itself, joined where they touch."""
    origin = _origins(text)
    if origin is None:
        return ()
    joined: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        first, last = origin[start], origin[end - 1] + 1
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


@lru_cache(maxsize=1_000)
def _origins(text: str) -> tuple[int, ...] | None:
    """Return for each character of the normal form the offset it came from.

    None where characters compose, so that the normal form is not that of its characters.
    """
    origins: list[int] = []
    letters: list[str] = []
    for at, character in enumerate(text):
        if character.isspace() or unicodedata.normalize("NFKC", character).isspace():
            if letters and letters[-1] != " ":
                letters.append(" ")
                origins.append(at)
            continue
        for letter in normal(character):
            letters.append(letter)
            origins.append(at)
    if letters and letters[-1] == " ":
        del letters[-1], origins[-1]
    return tuple(origins) if "".join(letters) == normal(text).replace("\n", " ") else None
