"""The cache: every text once, within its capacity, safe between threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.protocols import Vectors
from ctxeng.embedding import CachedEmbedder
from ctxeng.embedding.hashing import HashingEmbedder
from tests.support.hostile import hostile_texts


class Counting:
    """A hashing embedder that remembers what it was asked for; a query is told from a passage."""

    embedder_id = "counting"
    dimensions = 32

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self._inner = HashingEmbedder(32)

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
        """Return the inner rows, mirrored for queries."""
        self.asked += [(kind, text) for text in texts]
        rows = self._inner.embed(texts, kind=kind)
        return rows if kind == "passage" else -rows

    def split(self, text: str) -> list[str]:
        """Return the text in words."""
        return text.split()


def test_a_text_is_computed_once_however_often_it_is_asked_for() -> None:
    """Also when it stands several times in one batch."""
    inner = Counting()
    cache = CachedEmbedder(inner)
    first = cache.embed(["予算", "b", "予算"], kind="passage")
    second = cache.embed(["b", "예산", "予算"], kind="passage")
    assert inner.asked == [("passage", "予算"), ("passage", "b"), ("passage", "예산")]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(second[0], first[1])
    assert np.array_equal(second[2], first[0])


def test_a_query_and_a_passage_of_the_same_words_are_kept_apart() -> None:
    """Some models embed them differently."""
    inner = Counting()
    cache = CachedEmbedder(inner)
    passage, query = cache.embed(["a"], kind="passage"), cache.embed(["a"], kind="query")
    assert np.array_equal(query, -passage)
    assert np.array_equal(cache.embed(["a"], kind="passage"), passage)
    assert len(inner.asked) == 2


def test_what_was_used_least_recently_leaves_first() -> None:
    """By hand with a capacity of two: a, b, a again, then c puts b out."""
    inner = Counting()
    cache = CachedEmbedder(inner, capacity=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cache.embed([text], kind="passage")
    assert [text for _, text in inner.asked] == ["a", "b", "c", "b"]


@pytest.mark.parametrize("capacity", [0, 1, 3])
def test_a_batch_larger_than_the_cache_is_answered_whole(capacity: int) -> None:
    """Capacity is about memory, never about the answer."""
    cache = CachedEmbedder(Counting(), capacity=capacity)
    texts = ["a", "b", "c", "d", "a"]
    expected = Counting().embed(texts, kind="passage")
    assert np.array_equal(cache.embed(texts, kind="passage"), expected)
    assert np.array_equal(cache.embed(texts, kind="passage"), expected)


def test_no_texts_give_no_rows_without_asking_anybody() -> None:
    """The shape still tells the dimension."""
    inner = Counting()
    assert CachedEmbedder(inner).embed([], kind="query").shape == (0, 32)
    assert inner.asked == []


def test_an_answer_that_is_changed_does_not_change_the_next_one() -> None:
    """The caller gets a copy."""
    cache = CachedEmbedder(Counting())
    rows = cache.embed(["a", "b"], kind="passage")
    before = rows.copy()
    rows[:] = 7
    assert np.array_equal(cache.embed(["a", "b"], kind="passage"), before)


def test_the_cache_passes_on_who_it_is_and_how_it_splits() -> None:
    """Vectors in the index carry the inner embedder's id."""
    cache = CachedEmbedder(Counting())
    assert (cache.embedder_id, cache.dimensions) == ("counting", 32)
    assert cache.split("a b") == ["a", "b"]


@given(st.lists(st.lists(hostile_texts, max_size=4), max_size=6))
@settings(max_examples=50, deadline=None)
def test_cached_answers_are_those_of_the_embedder(batches: list[list[str]]) -> None:
    """For any sequence of batches, hostile text included."""
    cache, plain = CachedEmbedder(Counting(), capacity=3), Counting()
    for batch in batches:
        expected = plain.embed(batch, kind="query")
        assert np.array_equal(cache.embed(batch, kind="query"), expected)


def test_threads_that_ask_at_once_get_their_own_rows_and_compute_each_text_once() -> None:
    """Eight threads, all starting together, on the same thirty texts."""
    inner = Counting()
    cache = CachedEmbedder(inner)
    texts = [f"語{i}" for i in range(30)]
    expected = Counting().embed(texts, kind="passage")
    start = threading.Barrier(8)

    def ask(turn: int) -> bool:
        start.wait()
        order = texts[turn:] + texts[:turn]
        rows = cache.embed(order, kind="passage")
        return np.array_equal(rows, np.roll(expected, -turn, axis=0))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert len(inner.asked) == 30


def test_a_failure_leaves_nothing_half_cached() -> None:
    """The next call asks again."""

    class Failing(Counting):
        def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
            rows = super().embed(texts, kind=kind)
            if len(self.asked) == 1:
                raise RuntimeError("no memory")
            return rows

    cache = CachedEmbedder(Failing())
    with pytest.raises(RuntimeError, match="no memory"):
        cache.embed(["a"], kind="passage")
    assert np.array_equal(
        cache.embed(["a"], kind="passage"), Counting().embed(["a"], kind="passage")
    )
