"""Numbers by value: units, separators, words. Expected values by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.matching import find, value_of
from ctxeng.harness.scoring.quantities import only_quantity, quantities, same_quantity
from ctxeng.harness.scoring.text import normal

SAME = [
    ("439", "120   142 cr  total 439\n300   60 cr  total 571"),
    ("439", "439\t300\t571"),
    ("300", "total 439\r\n  300   idle"),
    # money
    ("$500", "It is $500."),
    ("$500", "500 dollars"),
    ("$500", "USD 500"),
    ("$500", "US$500"),
    ("$500", "500 USD"),
    ("$500", "500"),
    ("500", "$500"),
    ("$500", "$500.00"),
    ("$500", "$0.5k"),
    ("$500", "five hundred dollars"),
    ("$5,000", "$5k"),
    ("$5,000", "5000"),
    ("$5,000", "five thousand dollars"),
    ("$1.5 million", "$1,500,000"),
    ("$1.5M", "1.5 million dollars"),
    ("USD 500", "$500"),
    ("~$500", "$500"),
    ("about 500 dollars", "$500"),
    ("約3000円", "3,000円"),
    ("약 3000원", "3천원"),
    ("¥3,000", "3000円"),
    ("¥3,000", "三千円"),
    ("¥3,000", "3千円"),
    ("¥3,000", "３０００円です"),
    ("3000円", "￥3,000"),
    ("3000円", "予算は三〇〇〇円まで"),
    ("3000엔", "3000円"),
    ("35000円", "3万5千円"),
    ("35,000円", "三万五千円"),
    ("12億円", "1,200,000,000円"),
    ("3000원", "3,000원입니다"),
    ("3000원", "3천원"),
    ("30000원", "3만 원"),
    ("30000원", "삼만원"),
    ("₩35,000", "3만 5천원"),
    ("€20", "20 euros"),
    ("£20", "20 GBP"),
    ("500元", "500块"),
    # separators and words
    ("1,850", "1850"),
    ("1,850", "1'850"),
    ("100000", "1,00,000"),
    ("1,234,567.5", "1234567.5"),
    ("17", "seventeen racks"),
    ("25", "twenty five"),
    ("12", "a dozen"),
    ("12", "十二"),
    ("0", "zero"),
    ("two people", "2 people"),
    ("2.50", "2.5"),
    ("-5", "-5 degrees"),
    ("17", "17th"),
    # shares, times, sizes
    ("40%", "40 percent"),
    ("40%", "40％"),
    ("40%", "forty percent"),
    ("40%", "40パーセント"),
    ("40%", "40퍼센트"),
    ("3 days", "a 3-day window"),
    ("3 days", "three days"),
    ("3日", "3日間"),
    ("3일", "3 days"),
    ("15 minutes", "15 min"),
    ("15分", "15分間"),
    ("90 minutes", "1.5 hours"),
    ("2 weeks", "14 days"),
    ("2週間", "2주"),
    ("1 year", "12 months"),
    ("200ms", "0.2 seconds"),
    ("1 km", "1000 m"),
    ("30 kg", "30 kilos"),
    ("1.5kg", "1500 g"),
    ("1.5 l", "1500 ml"),
    ("5m", "5 metres"),
    ("5m", "5 minutes"),
    ("5m", "5 million"),
    ("8 GB", "8gb"),
    ("20°C", "20℃"),
    ("20度", "20°C"),
    # counters
    ("12人", "12 people"),
    ("12名", "十二人"),
    ("12명", "12人"),
    ("5個", "5개"),
    ("3回", "세 번"),
    ("3本", "三本"),
    ("두 잔", "2 잔"),
    ("8080", "localhost:8080"),
    ("8080", "port=8080"),
    ("1920", "1920x1080"),
    ("5", "3-5"),
]

DIFFERENT = [
    ("$500", "It is $5000."),
    ("$500", "It is $5,000"),
    ("$500", "$500.50"),
    ("$500", "€500"),
    ("$500", "500円"),
    ("$500", "1500 dollars"),
    ("$5M", "5 minutes"),
    ("¥3,000", "30000円"),
    ("¥3,000", "13000円"),
    ("¥3,000", "三万円"),
    ("¥3,000", "3000원"),
    ("3만원", "3천원"),
    ("1,850", "1.850"),
    ("1850", "11850"),
    ("17", "170"),
    ("17", "17.5"),
    ("17", "3.17"),
    ("17", "v17"),
    ("17", "A17"),
    ("5", "twenty-five"),
    ("20", "twenty-five"),
    ("40%", "140%"),
    ("40%", "4%"),
    ("40%", "40 people"),
    ("3 days", "3 weeks"),
    ("3 days", "3 hours"),
    ("30 days", "1 month"),
    ("30kg", "30lbs"),
    ("200ms", "200s"),
    ("8 GB", "16GB"),
    ("8GB", "8 MB"),
    ("5", "-5"),
    ("-5", "5"),
    ("2.3", "2.3.1"),
    ("192.168", "192.168.0.1"),
    ("4", "4f9c2e"),
    ("3", "3月"),
    ("12", "12月"),
    ("7", "2024-07-07"),
    ("5", "at 5:30"),
    ("30", "at 5:30"),
    ("30分", "5時30分"),
    ("1e6", "1000000"),
    ("1", "一緒に"),
    ("10000", "만일"),
    ("3分", "3분기"),
]


@pytest.mark.parametrize(("value", "text"), SAME)
def test_a_number_is_found_however_it_is_written(value: str, text: str) -> None:
    """Separators, units, scales and number words do not hide a number."""
    assert value_of(value).type == "number"
    assert find(value_of(value), text)


@pytest.mark.parametrize(("value", "text"), DIFFERENT)
def test_another_number_is_not_taken_for_it(value: str, text: str) -> None:
    """A longer number, another unit, or digits inside a date or a name are something else."""
    assert not find(value_of(value), text)


@pytest.mark.parametrize(
    "day", ["2024-07-07", "on 2024/7/7", "3/15/2024", "15.03.2024", "May 1, 2024", "2024年5月1日"]
)
def test_the_year_of_a_date_is_a_number(day: str) -> None:
    """Asked for the year, an answer with the whole date is right."""
    assert find(value_of("2024"), day)
    assert find(value_of("2024年"), day)


@pytest.mark.parametrize("day", ["17 March 2024", "March 17", "3月17日", "3월 17일", "the 17th"])
def test_the_day_of_a_worded_date_is_a_number_and_no_amount(day: str) -> None:
    """Asked for the day, the date is right; ten dollars are not the tenth of a month."""
    assert find(value_of("17"), day)
    if day != "the 17th":
        assert find(value_of("17日"), day)
        assert not find(value_of("$17"), day)
        assert not find(value_of("17 days"), day)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("$1.5M", 1_500_000, "usd"),
        ("3万5千円", 35_000, "jpy"),
        ("3.5 hours", 3.5, "hour"),
        ("twelve", 12, ""),
        ("−40 %", -40, "percent"),
        ("12,000", 12_000, ""),
        ("세 개", 3, "piece"),
    ],
)
def test_a_value_that_is_a_number_is_read_with_its_unit(text: str, value: float, unit: str) -> None:
    """The number and the unit's one name are read from any spelling."""
    read = only_quantity(text)
    assert read is not None
    assert (read.value, read.unit) == (value, unit)


@pytest.mark.parametrize(
    "text", ["", " ", "$", "room 4", "3 to 5", "17 racks", "v2", "10-12", "two or three", "½ of it"]
)
def test_a_value_that_says_more_than_a_number_is_no_number(text: str) -> None:
    """Ranges, names and phrases are matched as words, not by value."""
    assert only_quantity(text) is None


def test_a_lone_m_has_three_readings() -> None:
    """ "5m" may be millions, metres or minutes; the other side's unit decides."""
    five = only_quantity("5m")
    assert five is not None
    others = {
        text: only_quantity(text) for text in ("5,000,000", "5 metres", "300 seconds", "5 kg")
    }
    agree = {text: same_quantity(five, other) for text, other in others.items() if other}
    assert agree == {"5,000,000": True, "5 metres": True, "300 seconds": True, "5 kg": False}


def test_places_are_places_in_the_normal_form() -> None:
    """A number's place covers its currency sign and its unit, in words as in digits."""
    text = "Budget:  ＄500 or 三千円"
    shown = normal(text)
    assert [shown[q.start : q.end] for q in quantities(text)] == ["$500", "三千円"]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["{:,}円", "¥{}", "{} yen", "￥{:,}"]))
def test_every_whole_number_equals_itself_with_separators(number: int, form: str) -> None:
    """Thousands separators never change a value."""
    assert find(value_of(f"{number}円"), form.format(number))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 10**8), st.integers(0, 9))
def test_a_number_with_one_more_digit_is_another_number(number: int, digit: int) -> None:
    """$500 is not $5000, nor $5001, whatever the digits."""
    assert not find(value_of(f"${number}"), f"it costs ${number}{digit}")
