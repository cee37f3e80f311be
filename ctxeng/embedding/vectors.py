"""Small pieces every embedder shares."""

from __future__ import annotations

import numpy as np

from ctxeng.core.protocols import Vectors


def unit_rows(matrix: Vectors) -> Vectors:
    """Return the rows scaled to length one; a row of zeros stays zero."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def split_by_length(text: str, *, characters: int) -> list[str]:
    """Return the text in pieces of at most so many characters, cut at spaces where possible."""
    rest, pieces = text.strip(), []
    while len(rest) > characters:
        cut = rest.rfind(" ", characters // 2, characters)
        cut = cut if cut > 0 else characters
        pieces.append(rest[:cut])
        rest = rest[cut:].strip()
    return [*pieces, rest] if rest else pieces
