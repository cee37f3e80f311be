"""Numbers written in words become digits, ordinary words stay. Expected values by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.clock import clock_in_digits
from ctxeng.harness.scoring.numerals import in_digits
from ctxeng.harness.scoring.text import normal
from tests.generators import WORDS


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("zero", "0"),
        ("nineteen", "19"),
        ("twenty-five", "25"),
        ("twenty five", "25"),
        ("ninety nine", "99"),
        ("a dozen", "12"),
        ("two dozen eggs", "24 eggs"),
        ("a hundred and ten", "110"),
        ("five hundred dollars", "500 dollars"),
        ("two thousand five hundred", "2500"),
        ("three hundred thousand", "300000"),
        ("one million two hundred thousand", "1200000"),
        ("a thousand", "1000"),
        ("fifty million", "50000000"),
        ("two billion", "2000000000"),
        ("twenty one hundred", "2100"),
        ("one two three", "1 2 3"),
        ("one-off", "1-off"),
    ],
)
def test_english_numbers_become_digits(written: str, digits: str) -> None:
    """Tens, hundreds, thousands and dozens are added up; separate numbers stay separate."""
    assert in_digits(written).text == digits


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("三千円", "3000円"),
        ("三〇〇〇円", "3000円"),
        ("二〇二四年", "2024年"),
        ("3千円", "3000円"),
        ("3万円", "30000円"),
        ("3万5千円", "35000円"),
        ("3万5000円", "35000円"),
        ("三万五千円", "35000円"),
        ("1.5億円", "150000000円"),
        ("1億2000万円", "120000000円"),
        ("1,200万円", "12000000円"),
        ("十二人", "12人"),
        ("一人", "1人"),
        ("三つ", "3つ"),
        ("十分間", "10分間"),
        ("三月十五日", "3月15日"),
        ("二十日", "20日"),
        ("三十五", "35"),
        ("百", "100"),
        ("三", "3"),
        ("十二億人", "1200000000人"),
    ],
)
def test_han_numbers_become_digits(written: str, digits: str) -> None:
    """Positional and scaled numerals, alone or mixed with digits, read as the number they are."""
    assert in_digits(written).text == digits


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("삼만원", "30000원"),
        ("삼만 원", "30000 원"),
        ("만원", "10000원"),
        ("오천원", "5000원"),
        ("구백만원", "9000000원"),
        ("3천원", "3000원"),
        ("3만5천원", "35000원"),
        ("3만 5천원", "35000원"),
        ("3만 명", "30000 명"),
        ("사천 개", "4000 개"),
        ("이십오 일", "25 일"),
        ("십이월 이십오일", "12월 25일"),
        ("세 번", "3 번"),
        ("두 개", "2 개"),
        ("세시", "3시"),
        ("열두 시", "12 시"),
        ("스무 살", "20 살"),
        ("스물다섯 살", "25 살"),
        ("일곱 시간", "7 시간"),
        ("두 번째", "2 번째"),
    ],
)
def test_korean_numbers_become_digits(written: str, digits: str) -> None:
    """Sino-Korean numerals with a scale and native ones before a counter read as numbers."""
    assert in_digits(written).text == digits


@pytest.mark.parametrize(
    "word",
    [
        "a man", "an hour", "hundreds of racks", "someone", "tone", "often",
        "一緒に", "一番", "第三回", "千葉", "三菱", "万年筆", "十分に", "一時的",
        "이것", "만일", "한국", "세대", "한대", "백만장자", "천만에요", "이만 일어나겠습니다",
        "5 km", "2024", "",
    ],
)  # fmt: skip
def test_a_numeral_inside_an_ordinary_word_stays_a_word(word: str) -> None:
    """A character that could be a numeral counts only before a unit or as the whole text."""
    assert in_digits(word).text == word


def test_dates_are_read_without_english_words() -> None:
    """A modal verb before "one" is no date in May; an hour before "pm" is an hour."""
    assert clock_in_digits("you may one day meet at three pm").text == (
        "you may one day meet at 3 pm"
    )


def test_a_span_of_the_rewritten_text_leads_back_to_the_original() -> None:
    """Places found among the digits are told as places among the words."""
    shown = "about 三千円, five hundred racks"
    written = in_digits(shown)
    start = written.text.index("500")
    assert shown[slice(*written.span(start, start + 3))] == "five hundred"
    start = written.text.index("3000円")
    assert shown[slice(*written.span(start, start + 5))] == "三千円"


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.sampled_from([*WORDS, "三千円", "세 번", "two dozen", "3万5千", "¥", "\x00"]),
        max_size=12,
    ).map(" ".join)
)
def test_every_span_stays_within_the_original(text: str) -> None:
    """Whatever is rewritten, spans are ordered and end where the original ends."""
    shown = normal(text)
    written = in_digits(shown)
    assert len(written.starts) == len(written.ends) == len(written.text) + 1
    assert list(written.starts) == sorted(written.starts)
    assert list(written.ends) == sorted(written.ends)
    assert written.span(0, len(written.text)) == (0, len(shown))


def test_an_absurdly_long_number_does_no_harm() -> None:
    """Thousands of digits before a scale are read as too large, without an error."""
    assert in_digits("1" * 5000 + "万").text
