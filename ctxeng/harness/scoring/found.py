"""Where the expected and the forbidden values of a probe stand in an answer."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ctxeng.harness.scoring.matching import Found, Value, find, is_version, value_of, version_of
from ctxeng.harness.scoring.text import case_style, cased

_FRACTION = re.compile(r"\d+/\d+")  # port 1/2 is not 2/4
_OPENING = r"first|begin\w*|start\w*|最初|まず|が先|먼저|首先|先"
_CLOSING = r"last|lastly|finally|at the (?:very )?end|end\w*|finish\w*|最後|마지막|最后"
_ORDERING = re.compile(rf"\b(?P<open>{_OPENING})|\b(?P<close>{_CLOSING})")
_CROSSWISE = re.compile(
    r"\bbefore\b|\bafter(?!\s(?:that|this|it|them)\b|wards)|\bpreced\w+|\bfollow(?:s|ing)\b"
    r"|\brevers\w+"
    r"|前に|の後|の前|まえに|전에|앞에|之前"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """The value that met a group, and where."""

    value: str
    places: tuple[Found, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What met each expected group (None: nothing did), and the forbidden values in the answer."""

    met: tuple[Met | None, ...]
    stale: tuple[str, ...]

    @property
    def places(self) -> list[tuple[Found, ...]]:
        return [group.places for group in self.met if group]

    @property
    def matched(self) -> tuple[str, ...]:
        return tuple(group.value for group in self.met if group)


def read_as(value: str, kind: str) -> Value:
    """Return a value as its kind has it: 15.4 and 0042 as identifiers are names, not numbers."""
    named = kind == "identifier" and (
        is_version(value) or _pads(value) or _FRACTION.fullmatch(value)
    )
    return version_of(value) if named else value_of(value)


def _pads(value: str) -> bool:
    """Return whether a text is digits with a zero before them, which its value does not have."""
    return len(value) > 1 and value.isdigit() and value.startswith("0")


def places_in(
    text: str, kind: str, expect: Sequence[Sequence[str]], forbid: Sequence[str]
) -> Places:
    """Return where the expected and the forbidden values stand.

    A value that stands only inside a longer value of the other side does not count: an answer
    "dark green" does not say the forbidden "green", nor the expected one.
    """
    expected = [value for group in expect for value in group]

    def standing(value: str, others: Sequence[str]) -> list[Found]:
        return [] if _yields(value, others, text) else find(read_as(value, kind), text)

    wrong = {value: standing(value, expected) for value in forbid}
    right = [[(value, standing(value, forbid)) for value in group] for group in expect]
    all_wrong = [place for places in wrong.values() for place in places]
    all_right = [place for group in right for _, places in group for place in places]
    met = [
        next(
            (
                Met(value=value, places=tuple(kept))
                for value, places in group
                if (kept := _outside(places, all_wrong))
            ),
            None,
        )
        for group in right
    ]
    stale = tuple(value for value, places in wrong.items() if _outside(places, all_right))
    return Places(met=tuple(met), stale=stale)


def _yields(value: str, others: Iterable[str], text: str) -> bool:
    """Return whether a value of the other side, alike but for its case style, is what is written.

    Where ``max_retry`` is expected and ``maxRetry`` forbidden, the spelling tells them apart.
    """
    shown = cased(text)
    return cased(value) not in shown and any(
        case_style(other) == case_style(value) and cased(other) in shown for other in others
    )


def _outside(places: Sequence[Found], longer: Sequence[Found]) -> list[Found]:
    """Return the places that do not lie within a longer one."""
    ordered = sorted(longer, key=lambda place: place.start)
    starts = [place.start for place in ordered]
    reaches = [0, *accumulate((place.end for place in ordered), max)]  # of the first so many

    def within(place: Found) -> bool:
        earlier, same = bisect_left(starts, place.start), bisect_right(starts, place.start)
        return reaches[earlier] >= place.end or reaches[same] > place.end

    return [place for place in places if not within(place)]


def stale_places(shown: str, kind: str, found: Places) -> list[Found]:
    return [p for value in found.stale for p in find(read_as(value, kind), shown)]


def in_some_group(
    met: Sequence[Sequence[Found]], shown: str, cue: Callable[[str, int, int], bool]
) -> bool:
    """Return whether some group has a cue at each of its places."""
    return any(all(cue(shown, place.start, place.end) for place in group) for group in met)


def in_order(met: Sequence[Sequence[Found]]) -> bool:
    """Return whether the groups stand in the order expected, at one place each."""
    at = -1
    for group in met:
        later = [place.start for place in group if place.start > at]
        if not later:
            return False
        at = min(later)
    return True


def is_told_once(shown: str, places: Sequence[Sequence[Found]]) -> bool:
    """Return whether values are named once each, and in the order that is meant."""
    named = sorted(places, key=lambda group: group[0].start)
    return all(len(group) == 1 for group in places) and not is_reordered(shown, named)


def is_reordered(shown: str, places: Sequence[Sequence[Found]]) -> bool:
    """Return whether words of order leave open in which order the values are meant."""
    if any(len(group) > 1 for group in places) or _CROSSWISE.search(shown):
        return True
    if len(places) < 2:
        return False
    starts = [group[0].start for group in places]
    taken = [(p.start, p.end) for group in places for p in group]
    return any(
        m.start() > starts[1] if m["open"] else m.start() < starts[-2]
        for m in _ORDERING.finditer(shown)
        if not any(start <= m.start() < end for start, end in taken)
    )
