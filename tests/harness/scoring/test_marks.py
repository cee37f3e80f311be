"""Where values stand in a text as it was written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.marks import Marked, marked
from ctxeng.harness.scoring.presence import groups_present


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("Budget: ¥3,000.", "3000円", ["¥3,000"]),
        ("予算は三千円 です", "3000円", ["三千円"]),
        ("  a\n\n KX-0014  and “kx-0014”", "KX-0014", ["KX-0014", "kx-0014"]),
        ("Straße, GROß", "gross", ["GROß"]),
        ("due March 5th, 2024", "2024-03-05", ["March 5th, 2024"]),
        ("ﬁne: ＫＸ－１", "KX-1", ["ＫＸ－１"]),
        ("버전은 3.2.1이고", "3.2.1", ["3.2.1"]),
        ("total 439\n300   idle ¥3,000", "3000円", ["¥3,000"]),
        ("total 439\n300   idle", "439", ["439"]),
        ("it is $5000", "$500", []),
        ("", "$500", []),
    ],
)
def test_a_value_is_marked_where_it_stands(text: str, value: str, shown: list[str]) -> None:
    """Offsets are of the text as written, whatever normal form the matchers work on."""
    found = marked(text, [[value]])
    assert [text[a:b] for a, b in found.marks] == shown
    assert found.holds == ((0,) if shown else ())
    assert "".join(piece for piece, _ in found.pieces()) == text
    assert [piece for piece, is_value in found.pieces() if is_value] == shown


def test_groups_are_told_apart_and_touching_marks_are_joined() -> None:
    """Two groups in one text; a value inside another's place is marked once."""
    found = marked("dark green, then red", [["green", "dark green"], ["red"], ["blue"]])
    assert found.holds == (0, 1)
    assert found.marks == ((0, 10), (17, 20))


def test_a_place_that_cannot_be_told_is_not_invented() -> None:
    """Decomposed characters: the value is there, its offset in the text is not known."""
    text = unicodedata.normalize("NFD", "서울은 5월에 간다: 김치")
    found = marked(text, [["김치"]])
    assert (found.holds, found.marks) == ((0,), ())
    assert found.pieces() == [(text, False)]


def test_an_excerpt_shows_the_first_value() -> None:
    """Long texts are cut around the value; marks move with it."""
    text = "x " * 500 + "KX-0014" + " y" * 500
    cut = marked(text, [["KX-0014"]]).excerpt(100)
    assert cut.is_cut and len(cut.text) <= 104
    assert [cut.text[a:b] for a, b in cut.marks] == ["KX-0014"]
    assert cut.text.startswith("… ") and cut.text.endswith(" …")
    whole = Marked(text="short")
    assert whole.excerpt(100) is whole
    assert Marked(text="z" * 300).excerpt(100).text == "z" * 100 + " …"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.sampled_from(["5", "red", "KX-1", "3円"]), st.text(max_size=80))
def test_marks_agree_with_the_presence_test(before: str, value: str, after: str) -> None:
    """Any surroundings: what presence finds is held, and marks are ordered places in the text."""
    text = f"{before} {value} {after}"
    found = marked(text, [[value]])
    assert frozenset(found.holds) == groups_present([[value]], text)
    flat = [edge for span in found.marks for edge in span]
    assert flat == sorted(flat) and all(0 <= edge <= len(text) for edge in flat)
