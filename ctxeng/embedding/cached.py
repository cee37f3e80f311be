"""Embed every text once per process, however many arms ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal

import numpy as np

from ctxeng.core.protocols import Embedder, Vectors


class CachedEmbedder:
    """Wraps an embedder with a bounded least-recently-used cache; safe between threads."""

    def __init__(self, inner: Embedder, *, capacity: int = 50_000) -> None:
        self._inner = inner
        self._capacity = capacity
        self._rows: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def embedder_id(self) -> str:
        """Return the wrapped embedder's id."""
        return self._inner.embedder_id

    @property
    def dimensions(self) -> int:
        """Return the wrapped embedder's dimensions."""
        return self._inner.dimensions

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
        """Return ``(len(texts), dimensions)`` float32, computing only what is new."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        keys = [blake2b(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]
                for text in texts]  # fmt: skip
        with self._lock:
            missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._rows}
            if missing:
                fresh = self._inner.embed(list(missing.values()), kind=kind)
                self._rows.update(zip(missing, fresh, strict=True))
            rows = [self._rows[key] for key in keys]
            for key in keys:
                self._rows.move_to_end(key)
            while len(self._rows) > self._capacity:
                self._rows.popitem(last=False)
        return np.stack(rows)

    def split(self, text: str) -> list[str]:
        """Return the wrapped embedder's pieces."""
        return self._inner.split(text)
