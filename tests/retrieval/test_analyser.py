"""The analyser: any text in, a list of terms out; the same for messages and questions."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.retrieval.analyser import MAX_WORD, STOP_WORDS, analyse
from tests.generators import texts

anything = st.text(st.characters(), max_size=80)

ENGLISH = [
    ("", []),
    (" \n\t", []),
    ("?!… — ()", []),
    ("deploys deploying deployed", ["deploy", "deploy", "deploy"]),
    ("the and of it is", []),
    ("We DECIDED", ["decid"]),
    ("Straße", ["strass"]),  # casefold: ß is ss; the stemmer takes the e
    ("ﬁle ＡＢＣ", ["file", "abc"]),  # NFKC: ligature and full width
    ("don't, isn't, it's", []),
    ("Mira's budget", ["mira", "budget"]),
    ("Mira’s", ["mira"]),
    ("o'clock", ["o'clock", "o", "clock"]),
    ("17 1850", ["17", "1850"]),
    ("x y", ["x", "y"]),
    ("café naïve", ["café", "naïv"]),
]
IDENTIFIERS = [
    ("buildApiMessages", ["buildapimessages", "build", "api", "messag"]),
    ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
    ("snake_case_name", ["snake_case_name", "snake", "case", "name"]),
    ("__init__", ["init"]),
    ("PX-2291", ["px-2291", "px", "2291"]),
    ("src/store/index.py", ["src/store/index.py", "src", "store", "index", "py"]),
    ("v1.2.3", ["v1.2.3", "v", "1", "2", "3"]),
    ("mira@example.com", ["mira@example.com", "mira", "exampl", "com"]),
    ("10:30", ["10:30", "10", "30"]),
    ("3b18e2", ["3b18e2", "3", "b", "18", "e", "2"]),
    ("C++ and C#", ["c", "c"]),
]
JAPANESE = [
    ("予算", ["予算"]),
    ("予算は三千円", ["予算", "算は", "は三", "三千", "千円"]),
    ("ｶﾀｶﾅ", ["カタ", "タカ", "カナ"]),  # half width
    ("かな", ["かな"]),  # grammar alone is kept when there is nothing else
    ("これはそれです", ["これ", "れは", "はそ", "それ", "れで", "です"]),
    ("決めたこと", ["決め"]),  # pairs of hiragana go
    ("サーバー", ["サー", "ーバ", "バー"]),
    ("人々", ["人々"]),
    ("赤", ["赤"]),
    ("𠮷野家", ["𠮷野", "野家"]),  # beyond the basic plane
    ("Kestrelの締め切り", ["kestrel", "の締", "締め", "め切", "切り"]),
    ("PX-2291の予算は3000円", ["px-2291", "px", "2291", "の予", "予算", "算は", "3000", "円"]),
    ("3月17日", ["3", "月", "17", "日"]),
]
KOREAN = [
    ("예산", ["예산"]),
    ("예산은 얼마", ["예산", "산은", "얼마"]),
    (unicodedata.normalize("NFD", "예산"), ["예산"]),
    ("Kestrel팀의 3층", ["kestrel", "팀의", "3", "층"]),
    ("예산予算", ["예산", "予算"]),
]


@pytest.mark.parametrize(("text", "terms"), [*ENGLISH, *IDENTIFIERS, *JAPANESE, *KOREAN])
def test_terms_of_a_text(text: str, terms: list[str]) -> None:
    """Words are stemmed, identifiers come whole and in parts, CJK text in pairs (by hand)."""
    assert analyse(text) == terms


@settings(max_examples=50, deadline=None)
@given(anything)
def test_any_text_gives_plain_terms(text: str) -> None:
    """Terms are never empty, blank or stop words, and hold no white space."""
    for term in analyse(text):
        assert term and not any(c.isspace() for c in term)
        assert term not in STOP_WORDS


@settings(max_examples=50, deadline=None)
@given(anything)
def test_compatible_spellings_give_the_same_terms(text: str) -> None:
    """Full width, half width, composed and decomposed forms of a text are one text."""
    terms = analyse(text)
    for form in ("NFKC", "NFKD"):
        assert analyse(unicodedata.normalize(form, text)) == terms


@settings(max_examples=50, deadline=None)
@given(st.lists(texts, max_size=4))
def test_lines_are_analysed_apart(lines: list[str]) -> None:
    """The terms of several lines are those of each, in order, repeats included."""
    assert analyse("\n".join(lines)) == [term for line in lines for term in analyse(line)]


around = st.sampled_from(
    ["", "は", "の", "PX-2291", "Kestrel", "17", "。", " ", "회의", "x_", "３"]
)


@settings(max_examples=50, deadline=None)
@given(
    word=st.sampled_from(["予算", "締め切り", "会議室", "サーバー", "예산", "회의실", "마감"]),
    before=around,
    after=around,
)
def test_an_unspaced_word_is_found_wherever_it_stands(word: str, before: str, after: str) -> None:
    """A Japanese or Korean word gives its terms whatever it is glued to."""
    assert set(analyse(word)) <= set(analyse(before + word + after))


@settings(max_examples=50, deadline=None)
@given(
    name=st.sampled_from(["Kestrel", "PX-2291", "buildApiMessages", "1850", "src/a.py"]),
    before=st.sampled_from(["", "予算", "かな", "カナ", "예산", "「", " "]),
    after=st.sampled_from(["", "の予算", "は", "カナ", "팀의", "」", " "]),
)
def test_a_name_is_found_among_unspaced_text(name: str, before: str, after: str) -> None:
    """An identifier gives its terms though Japanese or Korean is written onto it."""
    assert set(analyse(name)) <= set(analyse(before + name + after))


def test_a_blob_is_not_taken_for_a_word() -> None:
    """What is longer than any word is kept as it is, not stemmed."""
    longest, blob = "ko" * (MAX_WORD // 2 - 1) + "ed", "ko" * (MAX_WORD // 2) + "ed"
    assert analyse(longest) == ["ko" * (MAX_WORD // 2 - 1)]
    assert analyse(blob) == [blob]


def test_no_stop_word_survives() -> None:
    """Every listed function word is dropped, in any case."""
    assert [word for word in sorted(STOP_WORDS) if analyse(word) or analyse(word.upper())] == []
