"""Small pieces every embedder shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctxeng.core.protocols import Vectors
from ctxeng.core.text import well_formed


def unit_rows(matrix: Vectors) -> Vectors:
    """Return the rows scaled to length one; a row of zeros stays zero."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def readable(texts: Sequence[str]) -> list[str]:
    """Return texts that every model takes: no lone surrogates, and a space for each NUL.

    A NUL ends a text in C, and what stands after it would not be read.
    """
    return [well_formed(text).replace("\0", " ") for text in texts]


def split_by_length(text: str, *, characters: int) -> list[str]:
    """Return the text in pieces of at most so many characters, cut at spaces where possible."""
    rest, pieces = text.strip(), []
    while len(rest) > characters:
        cut = rest.rfind(" ", characters // 2, characters)
        cut = cut if cut > 0 else characters
        pieces.append(rest[:cut])
        rest = rest[cut:].strip()
    return [*pieces, rest] if rest else pieces
