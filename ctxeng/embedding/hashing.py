"""Feature hashing of character and word n-grams: no model, instant, deterministic."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from ctxeng.core.protocols import Vectors
from ctxeng.embedding.vectors import split_by_length, unit_rows

_WORD = re.compile(r"\w+", re.UNICODE)


class HashingEmbedder:
    """Signed hashing of words and character trigrams (Source: Weinberger et al., 2009)."""

    def __init__(self, dimensions: int = 384) -> None:
        self.dimensions = dimensions
        self.embedder_id = f"hashing-{dimensions}"

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
        """Return ``(len(texts), dimensions)`` float32 unit rows; text without words gives zeros."""
        matrix = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for feature in _features(text):
                code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
                matrix[row, code % self.dimensions] += 1.0 if code & 0x8000_0000 else -1.0
        return unit_rows(matrix)

    def split(self, text: str) -> list[str]:
        """Return pieces of at most 600 characters."""
        return split_by_length(text, characters=600)


def _features(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.casefold()):
        yield word
        padded = f"<{word}>"
        yield from (padded[i : i + 3] for i in range(len(padded) - 2))
