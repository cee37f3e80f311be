"""Dates, weekdays and times of day by value. Expected values by hand."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.matching import find, value_of
from ctxeng.harness.scoring.moments import moments, only_moment

MARCH_15 = [
    '2024. 3. 15.',
    "March 15, 2024", "15 March 2024", "15th of March, 2024", "Mar 15, 2024", "Mar. 15 2024",
    "March the 15th", "Friday, March 15th", "2024-03-15", "2024/3/15", "2024.03.15", "3/15/2024",
    "15/03/2024", "15.03.2024", "15-03-2024", "2024-03-15T10:00:00Z", "2024年3月15日", "3月15日",
    "３月１５日", "三月十五日", "2024년 3월 15일", "3월15일", "3月15号", "3/15", "15 de marzo de 2024",
    "by MARCH 15",
]  # fmt: skip
NOT_MARCH_15 = [
    '2024. 3. 5.',
    "2023-03-15", "March 15, 2023", "2024-03-16", "March 16", "March 5", "March 2024", "2024-03",
    "May 15", "2024-05-13", "3月5日", "3월 16일", "115/03/2024", "15:03", "march", "15", "",
    "2024-13-15", "3/15/2023",
]  # fmt: skip


@pytest.mark.parametrize("spelling", MARCH_15)
def test_a_date_is_found_in_every_spelling(spelling: str) -> None:
    """English, Japanese, Korean, Chinese, Spanish and numeric dates agree by value."""
    assert find(value_of("2024-03-15"), f"It is due {spelling}.")


SAYS_MORE = ("Friday, March 15th", "2024-03-15T10:00:00Z", "by MARCH 15")


@pytest.mark.parametrize("spelling", [s for s in MARCH_15 if s not in SAYS_MORE])
def test_every_spelling_of_a_date_is_read_as_a_date(spelling: str) -> None:
    """As an expected value, each spelling finds the others."""
    assert value_of(spelling).type == "date"
    assert find(value_of(spelling), "2024-03-15")


@pytest.mark.parametrize("spelling", NOT_MARCH_15)
def test_another_date_is_not_taken_for_it(spelling: str) -> None:
    """Another year, month or day, and a date without its day, do not match."""
    assert not find(value_of("2024-03-15"), spelling)


@pytest.mark.parametrize(
    ("value", "text", "same"),
    [
        ("March 2024", "2024-03-15", True),
        ("March 2024", "2024年3月", True),
        ("March 2024", "2024-03", True),
        ("March 2024", "2024-035", False),
        ("March 2024", "March 2023", False),
        ("June 2023", "June, 2023", True),
        ("7 May 2023", "on May 7", True),
        ("7 May", "May 7, 2023", True),
        ("7 May", "it may 8", False),
        ("03/03/2024", "March 3, 2024", True),
        ("04/03/2024", "March 4, 2024", False),  # which number is the month is not said
        ("March 31", "3/31", True),
        ("March 3", "3/3", False),
        ("May 32", "May 3", False),
    ],
)
def test_parts_that_are_not_said_do_not_disagree(value: str, text: str, same: bool) -> None:
    """A missing year matches any year; a wanted day must be said."""
    assert bool(find(value_of(value), text)) is same


AFTERNOON = [
    "3:30 pm", "3:30pm", "3:30 p.m.", "15:30", "15:30:00", "at 15:30 sharp", "15時30分",
    "午後3時30分", "午後3時半", "午後三時半", "오후 3시 30분", "오후 3시 반", "오후 세 시 반", "15시 30분",
    "下午3点30分", "下午3点半", "午後3:30",
]  # fmt: skip
NOT_AFTERNOON = [
    "3:30 am", "3:30", "15:31", "午前3時30分", "오전 3시 30분", "15:305", "115:30",
    "15時", "3時間30分", "15.30", "1530",
]  # fmt: skip


@pytest.mark.parametrize("spelling", AFTERNOON)
def test_a_time_of_day_is_found_in_every_spelling(spelling: str) -> None:
    """Halves of the day, half hours and 24-hour times agree by value."""
    assert find(value_of("15:30"), spelling)


@pytest.mark.parametrize("spelling", NOT_AFTERNOON)
def test_another_time_is_not_taken_for_it(spelling: str) -> None:
    """The other half of the day, other minutes, durations and plain digits do not match."""
    assert not find(value_of("15:30"), spelling)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("3pm", "15:00"),
        ("3pm", "three pm"),
        ("3pm", "3 o'clock pm"),
        ("9 am", "9:00"),
        ("9:00", "9時"),
        ("9:00", "아침 9시"),
        ("21:00", "밤 9시"),
        ("21:00", "夜9時"),
        ("19:00", "저녁 7시"),
        ("2:00", "새벽 2시"),
        ("noon", "12:00"),
        ("noon", "12 pm"),
        ("正午", "정오"),
        ("midnight", "0:00"),
        ("midnight", "24:00"),
        ("midnight", "12 am"),
        ("자정", "0時"),
        ("10時", "午前10時"),
    ],
)
def test_hours_in_words_are_times_of_day(value: str, text: str) -> None:
    """Noon, night and the like are read with their hour."""
    assert find(value_of(value), text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("10時", "午後10時"),
        ("0時", "100点"),
        ("3pm", "3am"),
        ("noon", "afternoon"),
        ("9時", "9時間"),
        ("9시", "9시간"),
        ("3点", "13点"),
    ],
)
def test_durations_scores_and_longer_words_are_no_times(value: str, text: str) -> None:
    """Hours of duration, points of a score and parts of words are not times of day."""
    assert not find(value_of(value), text)


@pytest.mark.parametrize(
    ("value", "text", "same"),
    [
        ("Tuesday", "Tue", True),
        ("Tuesday", "on Tuesdays", True),
        ("Tuesday", "火曜日", True),
        ("Tuesday", "화요일", True),
        ("Tuesday", "周二", True),
        ("火曜", "火曜日です", True),
        ("Tuesday", "Thursday", False),
        ("Tuesday", "March 3", False),
        ("Sunday", "in the sun", False),
        ("Saturday", "he sat down", False),
        ("Friday", "Friday, March 15th", True),
    ],
)
def test_weekdays_agree_across_languages(value: str, text: str, same: bool) -> None:
    """Names and plain abbreviations of a weekday agree; words that only look alike do not."""
    assert bool(find(value_of(value), text)) is same


@pytest.mark.parametrize(
    "text",
    ["March 3 at 10:00", "next Tuesday", "from 9:00 to 10:00", "May", "", "3月", "v1.2.3", "1/2"],
)
def test_a_value_that_says_more_than_one_moment_is_no_date(text: str) -> None:
    """Two moments, or a moment with more words, are matched as words."""
    assert only_moment(text) is None


def test_places_are_places_in_the_normal_form() -> None:
    """A moment's place covers the numerals it was written in."""
    shown = "会議は三月十五日の午後三時半"
    assert [shown[m.start : m.end] for m in moments(shown)] == ["三月十五日", "午後三時半"]


FORMS = [
    "{0:%Y-%m-%d}",
    "{0.year}年{0.month}月{0.day}日",
    "{0:%B} {0.day}, {0.year}",
    "{0.day} {0:%b} {0.year}",
]


@settings(max_examples=50, deadline=None)
@given(st.dates(min_value=date(1000, 1, 1)), st.sampled_from(FORMS))
def test_every_day_equals_itself_in_another_spelling(day: date, form: str) -> None:
    """Any date with a year of four digits is found by its ISO form."""
    assert find(value_of(day.isoformat()), form.format(day))
