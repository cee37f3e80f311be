"""Deleted words are recognised where they are quoted, without being kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng.store.fingerprints import RUN, WINDOW, fingerprints, quotes

LONG = (
    "The cabinets from Faenza are to be delivered on 17 March to the side entrance, "
    "and the invoice goes to accounting under order number CB-20418."
)
JAPANESE = "納品は三月十七日の午前中に通用口でお願いします。請求書は経理部宛て、注文番号はCB-20418です。領収書も同封してください。"


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
    assert quotes(text, fingerprints([LONG]))


def test_other_words_are_not_found() -> None:
    """A shared phrase of some words is no quotation."""
    known = fingerprints([LONG, JAPANESE])
    assert not quotes("The cabinets are to be delivered in May, I think, or even June.", known)
    assert not quotes("納品は六月の予定です。", known)
    assert not quotes("", known)
    assert not quotes(LONG, frozenset())


def test_japanese_is_found_too() -> None:
    """The middle of a text without spaces."""
    assert quotes(f"要約:{JAPANESE[2:56]}", fingerprints([JAPANESE]))


@pytest.mark.parametrize(
    ("text", "expected"), [("My PIN is 4711-0815", True), ("ok, thanks", False)]
)
def test_a_short_text_is_known_as_a_whole(text: str, expected: bool) -> None:
    """From twelve letters on a short text is recognised when it stands alone."""
    known = fingerprints([text])
    assert quotes(f" {text}! ", known) is expected
    assert not quotes(f"before {text} after", known)


@given(
    st.text(st.characters(categories=["Ll", "Nd"]), min_size=RUN + WINDOW - 1, max_size=120),
    st.data(),
)
def test_every_quotation_of_47_letters_is_found(text: str, data: st.DataObject) -> None:
    """The bound of winnowing: any run of 32 + 16 - 1 letters, wherever it begins."""
    letters = "".join(c for c in text.casefold() if c.isalnum())
    size = RUN + WINDOW - 1
    start = data.draw(st.integers(0, max(0, len(letters) - size)))
    assert quotes(letters[start : start + size], fingerprints([letters]))
