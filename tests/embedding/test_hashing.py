"""The hashing embedder: no model, the same vectors everywhere."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.embedding.hashing import HashingEmbedder
from tests.support.hostile import hostile_texts


def similarity(one: str, two: str) -> float:
    """Return the cosine of two texts."""
    rows = HashingEmbedder().embed([one, two], kind="passage")
    return float(rows[0] @ rows[1])


@given(st.lists(hostile_texts, max_size=5))
@settings(max_examples=50, deadline=None)
def test_every_text_gets_a_unit_row_or_zeros_and_always_the_same(texts: list[str]) -> None:
    """Whatever the text, and whatever else is embedded beside it."""
    embedder = HashingEmbedder()
    rows = embedder.embed(texts, kind="passage")
    assert rows.shape == (len(texts), 384)
    assert rows.dtype == np.float32
    for text, row in zip(texts, rows, strict=True):
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5) or not row.any()
        assert np.array_equal(row, embedder.embed([text], kind="query")[0])


def test_a_vector_counts_the_signed_features_of_its_words() -> None:
    """By hand for one word of two letters: the word itself, `<ab` and `ab>`."""
    expected = np.zeros(8)
    for feature in ("ab", "<ab", "ab>"):
        code = zlib.crc32(feature.encode())
        expected[code % 8] += 1 if code & 0x8000_0000 else -1
    (row,) = HashingEmbedder(8).embed(["AB"], kind="query")
    assert np.allclose(row, expected / np.linalg.norm(expected))


@pytest.mark.parametrize("text", ["", "   ", "?!…", "\0", "😀"])
def test_text_without_words_gives_zeros(text: str) -> None:
    """Nothing is near to it, and nothing is NaN."""
    assert not HashingEmbedder().embed([text], kind="query").any()


@pytest.mark.parametrize(
    ("near", "far", "question"),
    [
        ("The budget is 1,850 dollars.", "Lunch was very good.", "what was the budget"),
        ("予算は三千円です。", "今日はいい天気ですね。", "予算はいくら"),
        ("회의실 예산은 삼천원", "오늘 날씨가 좋네요", "예산은 얼마"),
        ("the id is PX-2291", "the id is unknown", "PX-2291"),
    ],
)
def test_shared_words_and_syllables_bring_texts_together(
    near: str, far: str, question: str
) -> None:
    """Also in Japanese and Korean, by their character trigrams."""
    assert similarity(question, near) > similarity(question, far)


def test_case_does_not_matter_and_the_dimension_names_the_embedder() -> None:
    """Vectors of another dimension are of another embedder."""
    assert similarity("KESTREL", "kestrel") == pytest.approx(1)
    assert HashingEmbedder().embedder_id == "hashing-384"
    small = HashingEmbedder(16)
    assert (small.embedder_id, small.dimensions) == ("hashing-16", 16)
    assert small.embed(["a"], kind="query").shape == (1, 16)


def test_a_long_text_is_split_into_pieces_of_six_hundred_characters() -> None:
    """Blank text has no pieces."""
    assert [len(piece) for piece in HashingEmbedder().split("予" * 1300)] == [600, 600, 100]
    assert HashingEmbedder().split(" \n") == []
