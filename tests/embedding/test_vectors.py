"""Pieces every embedder shares: unit rows, readable text, splitting by length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ctxeng.embedding.vectors import readable, split_by_length, unit_rows
from tests.generators import texts


@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.floats(-1e3, 1e3, width=32),
    )
)
@settings(max_examples=50, deadline=None)
def test_rows_have_length_one_and_keep_their_direction(matrix: np.ndarray) -> None:
    """A row of zeros stays zero; nothing becomes NaN."""
    rows = unit_rows(matrix)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
    for row, before, length in zip(rows, matrix, lengths, strict=True):
        if not before.any():
            assert not row.any()
        elif length > 1e-3:
            assert np.allclose(row * length, before, atol=1e-3 * length + 1e-6)
            assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_a_matrix_without_rows_is_returned_without_rows() -> None:
    """No texts, no vectors."""
    assert unit_rows(np.zeros((0, 4), dtype=np.float32)).shape == (0, 4)


# Cuts by hand.
@pytest.mark.parametrize(
    ("text", "characters", "expected"),
    [
        ("", 10, []),
        ("  \n ", 10, []),
        ("short", 10, ["short"]),
        ("0123456789", 10, ["0123456789"]),
        ("01234 6789 bcdef", 12, ["01234 6789", "bcdef"]),
        ("01234567890123", 10, ["0123456789", "0123"]),
        ("012 456789012", 10, ["012 456789", "012"]),
        ("012345 7   bc", 8, ["012345", "7   bc"]),
        ("予算は三千円です", 4, ["予算は三", "千円です"]),
        ("회의실 예산", 4, ["회의실", "예산"]),
        ("abc", 1, ["a", "b", "c"]),
    ],
)
def test_a_text_is_cut_at_a_space_in_the_second_half_and_else_at_the_length(
    text: str, characters: int, expected: list[str]
) -> None:
    """Scripts without spaces are cut at the length itself."""
    assert split_by_length(text, characters=characters) == expected


@given(text=texts, characters=st.integers(1, 30))
@settings(max_examples=50, deadline=None)
def test_pieces_keep_to_the_length_and_lose_nothing_but_spaces(text: str, characters: int) -> None:
    """Put together without spaces, pieces and text are the same."""
    pieces = split_by_length(text, characters=characters)
    assert all(0 < len(piece) <= characters and piece == piece.strip() for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("予算", "予算"),
        ("a\0b", "a b"),
        ("\0", " "),
        ("cut \ud83d", "cut \ufffd"),
        ("\ud83d\ude00", "😀"),
        ("", ""),
    ],
)
def test_a_model_is_given_text_that_it_can_read_to_the_end(text: str, expected: str) -> None:
    """NUL would end the text in C, half an emoji cannot be encoded."""
    assert readable([text, "b"]) == [expected, "b"]
