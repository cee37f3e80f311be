"""Deleted words are recognised where they are quoted, without being kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng.store.fingerprints import RUN, WINDOW, Known, fingerprints, quotes

LONG = (
    "The cabinets from Faenza are to be delivered on 17 March to the side entrance, "
    "and the invoice goes to accounting under order number CB-20418."
)
JAPANESE = "納品は三月十七日の午前中に通用口でお願いします。請求書は経理部宛て、注文番号はCB-20418です。領収書も同封してください。"


def known_by(*texts: str) -> Known:
    """Return what deleted texts are looked for by."""
    return Known.of(fingerprints(texts))


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        f'user: "{LONG}" said the user',
        LONG.upper().replace(" ", "\n  "),
        LONG[20:90],
        f"<message>{LONG[:80].replace(' ', ' · ')}</message>",
    ],
)
def test_a_quotation_is_found_however_it_is_set(text: str) -> None:
    """Case, spaces, line ends, markup and what stands around it do not matter."""
    assert quotes(text, known_by(LONG))


def test_other_words_are_not_found() -> None:
    """A shared phrase of some words is no quotation."""
    known = known_by(LONG, JAPANESE)
    assert not quotes("The cabinets are to be delivered in May, I think, or even June.", known)
    assert not quotes("納品は六月の予定です。", known)
    assert not quotes("", known)
    assert not quotes(LONG, known_by())


def test_japanese_is_found_too() -> None:
    """The middle of a text without spaces."""
    assert quotes(f"要約:{JAPANESE[2:56]}", known_by(JAPANESE))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My PIN is 4711-0815", True),
        ("My PIN is 4471, Sparkasse Bonn", True),
        ("PIN 4471 Bonn", False),
        ("私の患者の山田太郎は統合失調症で東京病院に入院しています", True),
        ("暗証番号四七", True),
        ("暗証番号四", False),
        ("비밀번호는사칠", True),
        ("ok, thanks", False),
    ],
)
def test_a_short_text_is_found_wherever_it_is_quoted_whole(text: str, expected: bool) -> None:
    """From twelve letters on (six wide ones), alone, within a sentence, at both ends of a page."""
    known = known_by(text, LONG)
    around = "That is what you told me earlier, and I have noted it down. "
    for page in (f" {text}! ", f"先ほど「{text}」と", text + around * 9, around * 9 + text.upper()):
        assert quotes(page, known) is expected
    assert not quotes(around * 9 + text[:-1], known)


def test_a_short_text_of_an_older_version_is_known_when_it_stands_alone() -> None:
    """Its length was not kept."""
    text = "My PIN is 4711-0815"
    known = Known.of(number for number in fingerprints([text]) if not 0 <= number < 2**32)
    assert quotes(f" {text}! ", known)
    assert not quotes(f"before {text} after", known)


@given(
    st.lists(st.text(st.characters(categories=["L", "Nd"]), min_size=6, max_size=40), max_size=9),
    st.text(max_size=40),
    st.text(max_size=40),
)
def test_whatever_is_known_is_found_between_any_others(
    texts: list[str], before: str, after: str
) -> None:
    """Every text that leaves fingerprints, of whatever script and length, quoted whole."""
    for text in texts:
        if fingerprints([text]):
            assert quotes(f"{before} {text} {after}", known_by(*texts))


@given(
    st.text(st.characters(categories=["Ll", "Nd"]), min_size=RUN + WINDOW - 1, max_size=120),
    st.data(),
)
def test_every_quotation_of_47_letters_is_found(text: str, data: st.DataObject) -> None:
    """The bound of winnowing: any run of 32 + 16 - 1 letters, wherever it begins."""
    letters = "".join(c for c in text.casefold() if c.isalnum())
    size = RUN + WINDOW - 1
    start = data.draw(st.integers(0, max(0, len(letters) - size)))
    assert quotes(letters[start : start + size], known_by(letters))
