"""Times of day in words are times: English, Spanish, and Chinese minutes before the hour."""

from __future__ import annotations

import pytest

from ctxeng.harness.scoring.clock import clock_in_digits
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.moments import moments, only_moment


@pytest.mark.parametrize(
    ("words", "clock"),
    [
        ("half past three", (3, 30)),
        ("half past three in the afternoon", (15, 30)),
        ("a quarter to three", (2, 45)),
        ("quarter past 4 pm", (16, 15)),
        ("ten to four", (3, 50)),
        ("twenty-five past one", (1, 25)),
        ("quarter to one at night", (0, 45)),
        ("las tres y media", (3, 30)),
        ("las tres y media de la tarde", (15, 30)),
        ("las tres menos cuarto", (2, 45)),
        ("la una y diez", (1, 10)),
        ("las nueve de la noche", (21, 0)),
        ("las 9 de la mañana", (9, 0)),
        ("a las tres", (3, 0)),
        ("差一刻四点", (3, 45)),
        ("差五分下午四点", (15, 55)),
        ("下午差10分4点", (15, 50)),
    ],
)
def test_words_are_a_time_of_day(words: str, clock: tuple[int, int]) -> None:
    """By hand: hour and minute of the day, of the first half where none is named."""
    read = only_moment(words.removeprefix("a ") if words.startswith("a las") else words)
    assert read is not None
    assert read.minutes == 60 * clock[0] + clock[1]


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("Second load at quarter past five then, both within the gap.", 5 * 60 + 15),
        ("no hablo antes de las 7", 7 * 60),
        ("A las 7 arranca el tren", 7 * 60),
    ],
)
def test_a_time_in_words_is_found_within_a_sentence(text: str, minutes: int) -> None:
    """Whatever follows it."""
    (read,) = moments(text)
    assert read.minutes == minutes


@pytest.mark.parametrize(
    "words",
    [
        "five to six people",
        "half past three hundred",
        "from five to six.",
        "half to three",
        "las tres opciones",
        "las dos cosas y media naranja",
        "相差五分四点再说",
        "we rose by ten to 40",
    ],
)
def test_other_words_are_no_time(words: str) -> None:
    """Ranges, things counted, and points of a score stay as they are."""
    assert ":" not in clock_in_digits(words).text.replace("o'clock", ":")


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("四点", "差一刻四点"),
        ("四点", "差五分四点"),
        ("四点", "四点差五分"),
        ("四点", "四点半"),
        ("下午四点", "差十分下午四点"),
        ("4 pm", "ten to 4 pm"),
        ("las tres", "las tres y media"),
        ("las tres", "las tres menos cuarto"),
    ],
)
def test_minutes_make_an_hour_another_time(expect: str, answer: str) -> None:
    """A quarter to four is not four."""
    assert _said(expect, answer) != "pass"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("15:30", "half past three in the afternoon"),
        ("half past three", "It was at 3:30."),
        ("2:45", "quarter to three"),
        ("15:30", "A las tres y media de la tarde."),
        ("las tres y media", "3:30"),
        ("21:00", "a las nueve de la noche"),
        ("下午3点45分", "差一刻下午四点"),
    ],
)
def test_a_time_in_words_is_the_time_in_figures(expect: str, answer: str) -> None:
    """Whichever of the two was expected."""
    assert _said(expect, answer) == "pass"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [("15:30", "half past three"), ("3:55", "4時5分前"), ("3:50", "네 시 십 분 전")],
)
def test_a_time_told_in_part_is_for_the_judge(expect: str, answer: str) -> None:
    """Without the half of the day, or as minutes before an hour, it may be the same."""
    assert _said(expect, answer) == "ambiguous"


def _said(expect: str, answer: str) -> str:
    return score_literal(
        question="At what time?", kind="date", expect=[[expect]], forbid=[], answer=answer
    ).verdict
