"""Recognise deleted words without keeping them: hashes of runs of letters and digits.

Source: winnowing (Schleimer, Wilkerson and Aiken, 2003): of every 16 runs in a row the least hash
is kept, so that any quotation of 47 letters or more is found; a shorter text is known as a whole.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Iterable

import numpy as np

RUN = 32  # letters and digits
WINDOW = 16
SHORTEST = 12  # a shorter text says nothing about whose it was


def fingerprints(texts: Iterable[str]) -> set[int]:
    """Return what texts can be recognised by, as signed 64-bit numbers."""
    found: set[int] = set()
    for text in texts:
        letters = _letters(text)
        if len(letters) >= RUN:
            hashes = np.array(_hashes(letters), dtype=np.int64)
            span = min(WINDOW, len(hashes))
            least = np.lib.stride_tricks.sliding_window_view(hashes, span).min(axis=1)
            found.update(int(value) for value in np.unique(least))
        elif len(letters) >= SHORTEST:
            found.add(_hash(letters))
    return found


def quotes(text: str, known: Collection[int]) -> bool:
    """Return whether a text quotes one of the texts that ``known`` was made from."""
    letters = _letters(text)
    if len(letters) < RUN:
        return len(letters) >= SHORTEST and _hash(letters) in known
    return any(value in known for value in _hashes(letters))


def _letters(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def _hashes(letters: str) -> list[int]:
    return [_hash(letters[i : i + RUN]) for i in range(len(letters) - RUN + 1)]


def _hash(letters: str) -> int:
    digest = hashlib.blake2b(letters.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
