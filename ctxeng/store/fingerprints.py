"""Recognise deleted words without keeping them: hashes of runs of letters and digits.

Source: winnowing (Schleimer, Wilkerson and Aiken, 2003): of every 16 runs in a row the least hash
is kept, so that any quotation of 47 letters or more is found. A text shorter than a run is known as
a whole, and found within longer ones by its length and 16 bits of a rolling hash (Karp and Rabin,
1987), which say where it is worth comparing.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RUN = 32  # letters and digits
WINDOW = 16
SHORTEST = 12  # a shorter text says nothing about whose it was; a wide letter counts twice
UNSEEN = (
    f"not looked for: deleted texts of under {SHORTEST} letters and digits ({SHORTEST // 2} in "
    f"Chinese, Japanese and Korean), parts of under {RUN + WINDOW - 1} of longer ones, rewordings"
)
LEAD_BITS = 16
_BASE = 0x9E3779B97F4A7C15  # odd: its powers have inverses modulo 2**64
_INVERSE = pow(_BASE, -1, 2**64)


@dataclass(frozen=True, slots=True)
class Known:
    """Deleted words as they are looked for.

    Args:
        hashes: of runs, and of short texts as a whole.
        leads: by the length of short texts, which rolling hashes they have, ``(2**16,)``.
    """

    hashes: frozenset[int]
    leads: dict[int, NDArray[np.bool_]]

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Known:
        """Return what texts are known by whose :func:`fingerprints` are given."""
        hashes = frozenset(numbers)
        leads: dict[int, NDArray[np.bool_]] = {}
        for number in hashes:
            size, lead = divmod(number, 1 << LEAD_BITS)
            if 0 < size < RUN:  # of hashes, one in 2**43 is that small
                table = leads.setdefault(size, np.zeros(1 << LEAD_BITS, dtype=np.bool_))
                table[lead] = True
        return cls(hashes, leads)


def fingerprints(texts: Iterable[str]) -> set[int]:
    """Return what texts can be recognised by, as signed 64-bit numbers.

    Those of a text shorter than a run are its hash and its lead, ``length * 2**16 + 16 bits``.
    """
    found: set[int] = set()
    for text in texts:
        compared = letters(text)
        if len(compared) >= RUN:
            hashes = np.array(_hashes(compared), dtype=np.int64)
            span = min(WINDOW, len(hashes))
            least = np.lib.stride_tricks.sliding_window_view(hashes, span).min(axis=1)
            found.update(int(value) for value in np.unique(least))
        elif _weight(compared) >= SHORTEST:
            size = len(compared)
            found |= {_hash(compared), (size << LEAD_BITS) + int(_Rolling(compared).of(size)[0])}
    return found


def quotes(text: str, known: Known) -> bool:
    """Return whether a text quotes one of the texts that ``known`` was made from."""
    compared = letters(text)
    if _hash(compared) in known.hashes:  # all that older versions knew a short text by
        return True
    if any(value in known.hashes for value in _hashes(compared)):
        return True
    return any(_hash(part) in known.hashes for part in _worth_comparing(compared, known))


def _worth_comparing(compared: str, known: Known) -> Iterator[str]:
    """Yield the parts of a text that may be a short text, by their rolling hash."""
    rolling = _Rolling(compared)
    for size, table in known.leads.items():
        if size <= len(compared):
            for start in np.flatnonzero(table[rolling.of(size)]):
                yield compared[start : start + size]


class _Rolling:
    """Polynomial hashes modulo 2**64 of all parts of a text; no loop over its letters."""

    def __init__(self, compared: str) -> None:
        points = np.frombuffer(compared.encode("utf-32-le", "replace"), dtype=np.uint32)
        powers = _powers(_BASE, len(points))
        self._sums = np.zeros(len(points) + 1, dtype=np.uint64)
        np.cumsum(points * powers, out=self._sums[1:])
        self._shifts = _powers(_INVERSE, len(points))

    def of(self, size: int) -> NDArray[np.uint64]:
        """Return the upper 16 bits for the part of ``size`` letters that begins at each letter."""
        sums = self._sums[size:] - self._sums[:-size]
        hashes: NDArray[np.uint64] = sums * self._shifts[: len(sums)]
        return hashes >> np.uint64(64 - LEAD_BITS)


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    factors = np.full(count, base, dtype=np.uint64)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _weight(compared: str) -> int:
    """Return how much a text says: a letter of Chinese, Japanese or Korean as much as two."""
    return len(compared) + sum(unicodedata.east_asian_width(c) == "W" for c in compared)


def strings(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value: written as JSON, escapes would stand between letters."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def letters(text: str) -> str:
    """Return what of a text is compared: its letters and digits, folded."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def _hashes(compared: str) -> list[int]:
    return [_hash(compared[i : i + RUN]) for i in range(len(compared) - RUN + 1)]


def _hash(compared: str) -> int:
    digest = hashlib.blake2b(compared.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
