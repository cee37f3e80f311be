"""Recognise deleted words without keeping them: hashes of runs of letters and digits.

Source: winnowing (Schleimer, Wilkerson and Aiken, 2003): of every 16 runs in a row the least hash
is kept, so that any quotation of 47 letters or more is found; a shorter text is known as a whole.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

RUN = 32  # letters and digits
WINDOW = 16
SHORTEST = 12  # a shorter text says nothing about whose it was


def fingerprints(texts: Iterable[str]) -> set[int]:
    """Return what texts can be recognised by, as signed 64-bit numbers."""
    found: set[int] = set()
    for text in texts:
        compared = letters(text)
        if len(compared) >= RUN:
            hashes = np.array(_hashes(compared), dtype=np.int64)
            span = min(WINDOW, len(hashes))
            least = np.lib.stride_tricks.sliding_window_view(hashes, span).min(axis=1)
            found.update(int(value) for value in np.unique(least))
        elif len(compared) >= SHORTEST:
            found.add(_hash(compared))
    return found


def quotes(text: str, known: Collection[int]) -> bool:
    """Return whether a text quotes one of the texts that ``known`` was made from."""
    compared = letters(text)
    if len(compared) < RUN:
        return len(compared) >= SHORTEST and _hash(compared) in known
    return any(value in known for value in _hashes(compared))


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
