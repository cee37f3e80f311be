"""Sentences and words of the offline model, in scripts with spaces and without."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ctxeng.models.offline.words import estimated_tokens, sentences, words
from tests.support.hostile import hostile_texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("v1.2.3 is out. Use a.py", ["v1.2.3 is out.", "Use a.py"]),
        ("予算は三千円です。会議室は？赤い！", ["予算は三千円です。", "会議室は？", "赤い！"]),
        ("예산은 삼천 원입니다. 마감은요?", ["예산은 삼천 원입니다.", "마감은요?"]),
        ("- a\n\n- b", ["- a", "- b"]),
        ("a\0b. c", ["a\0b.", "c"]),
    ],
)
def test_a_text_is_taken_apart_at_the_ends_of_its_sentences(text: str, expected: list[str]) -> None:
    """Dots within identifiers and versions are no ends."""
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("the and of", ()),
        ("What is the budget?", ("budget",)),
        ("Invoices, invoice", ("invoic", "invoice")),
        ("Mira's rack", ("mira", "rack")),
        ("PX-2291 a.py", ("px-2291", "a.py")),
        ("1,850", ("1", "850")),
        ("ＫＥＳＴＲＥＬ", ("kestrel",)),
        ("予算", ("予算",)),
        ("会議室", ("会議", "議室")),
        ("赤", ("赤",)),
        ("それはです", ()),
        ("예산은", ("예산", "산은")),
        ("Kestrelの予算", ("kestrel", "の予", "予算")),
        ("PX-2291は赤い", ("px-2291", "は赤", "赤い")),
        ("3층 회의실", ("3", "층", "회의", "의실")),
        ("予算1850円", ("予算", "1850", "円")),
        ("_snake_case_", ("snake_case",)),
        ("<|>&'\"\\%\u202e", ()),
    ],
)
def test_words_are_folded_stemmed_and_without_stop_words_and_cjk_is_paired(
    text: str, expected: tuple[str, ...]
) -> None:
    """A name within Japanese or Korean is a word of its own; pairs of hiragana are grammar."""
    assert words(text) == expected


@given(hostile_texts)
@settings(max_examples=50, deadline=None)
def test_any_text_has_words_and_sentences_without_empty_ones(text: str) -> None:
    """Hostile text included; sentences lose nothing but space."""
    assert all(words(text)) or words(text) == ()
    parts = sentences(text)
    assert all(part == part.strip() and part for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


# By hand: a quarter of the ASCII characters, rounded down, one for every other, one for the text.
@pytest.mark.parametrize(
    ("text", "expected"), [("", 1), ("abc", 1), ("abcd", 2), ("予算", 3), ("abcd予算", 4), ("é", 2)]
)
def test_the_rough_count_weighs_other_scripts_by_the_character(text: str, expected: int) -> None:
    """No text is free."""
    assert estimated_tokens(text) == expected
