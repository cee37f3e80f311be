"""Normal forms: what matching treats as the same text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.text import (
    case_style,
    cased,
    content_words,
    is_spaceless,
    normal,
    word_sizes,
)
from tests.generators import texts

any_text = st.one_of(texts, st.text(max_size=40))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("The RACK", "the rack"),
        ("  a \t b \n c  ", "a b c"),
        ("ＰＸ－２２９１", "px-2291"),
        ("ﾗｰﾒﾝ", "ラーメン"),
        ("“red”", '"red"'),
        ("Mira’s", "mira's"),
        ("10–12", "10-12"),
        ("−5", "-5"),
        ("a\u200bb", "ab"),
        ("a\ufeffb", "ab"),
        ("a\u00a0b", "a b"),
        ("a\u3000b", "a b"),
        ("STRASSE straße", "strasse strasse"),
        ("cafe\u0301", "café"),
        ("①", "1"),
        ("㎡", "m2"),
        ("5 ㌔", "5 キロ"),
        ("\u1112\u1161\u11ab", "한"),
        ("", ""),
        (" \n ", ""),
        ("a\x00b", "a\x00b"),
        ("7 \n 300", "7\n300"),
        ("7\t300\r\n  5 5", "7\n300\n5 5"),
        ("a 7\nb", "a 7 b"),
    ],
)
def test_the_normal_form_forgets_how_a_text_was_typed(written: str, shown: str) -> None:
    """Width, case, spacing, curly quotes and composed letters do not distinguish texts."""
    assert normal(written) == shown


def test_the_cased_form_differs_from_the_normal_form_in_case_alone() -> None:
    """Identifiers need their capitals, so the cased form keeps them and nothing else."""
    assert cased(" ＭaxRetry  “x” ") == 'MaxRetry "x"'


@settings(max_examples=50, deadline=None)
@given(any_text)
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    """Normalising twice changes nothing, so places in one normal form are places in the other."""
    assert normal(normal(text)) == normal(text)
    assert normal(cased(text)) == normal(text)


@pytest.mark.parametrize(
    ("text", "spaceless"),
    [
        ("plain", False),
        ("naïve café", False),
        ("Привет", False),
        ("予算", True),
        ("カタカナ", True),
        ("ｶﾀｶﾅ", True),
        ("예산", True),
        ("budget 予算", True),
        ("¥3,000", False),
        ("😀", False),
        ("", False),
    ],
)
def test_kana_han_and_hangul_are_matched_without_word_borders(text: str, spaceless: bool) -> None:
    """Texts in scripts whose particles are glued on are told from texts with words."""
    assert is_spaceless(text) is spaceless


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The rack is blue.", {"rack", "blue"}),
        ("deploying deployed deploys", {"deploy"}),
        ("", set()),
        ("of the and", set()),
        ("PX-2291", {"px", "2291"}),
        ("予算案", {"予算", "算案"}),
        ("赤", {"赤"}),
        ("회의실 B", {"회의", "의실", "b"}),
        ("snake_case", {"snake", "case"}),
        ("3月15日", {"3", "月", "15", "日"}),
        ("!!! … </memory>", {"memory"}),
    ],
)
def test_content_words_are_stems_and_character_pairs(text: str, words: set[str]) -> None:
    """Stop words go, endings go, and a text without word borders is cut into pairs."""
    assert content_words(text) == words


@pytest.mark.parametrize(
    "written",
    ["maxRetryCount", "MaxRetryCount", "max_retry_count", "MAX_RETRY_COUNT", "max-retry.count"],
)
def test_the_styles_of_an_identifier_have_one_form(written: str) -> None:
    """Camel, snake and kebab case agree once their style is taken off."""
    assert case_style(written) == "max retry count"


def test_an_acronym_within_an_identifier_is_one_word() -> None:
    """A run of capitals ends where the next word's lower case begins."""
    assert case_style("parseHTTPHeader") == "parse http header"


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("", (0, 0)),
        ("two words", (2, 0)),
        ("予算は", (0, 3)),
        ("Kestrel は赤い rack", (2, 3)),
        ("예산 안", (0, 3)),
    ],
)
def test_a_text_is_sized_by_words_and_by_letters_without_borders(
    text: str, sizes: tuple[int, int]
) -> None:
    """Mixed text counts in both measures, so that neither script hides the other's length."""
    assert word_sizes(text) == sizes
