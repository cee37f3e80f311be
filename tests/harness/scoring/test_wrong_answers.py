"""Wrong answers close to the value never pass literally; the right ones beside them never fail."""

from __future__ import annotations

import pytest

from ctxeng.harness.scoring.invention import Stated, invented
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.presence import values_present


def said(kind: str, expect: str, answer: str, question: str = "What was it?") -> str:
    """Return the verdict on an answer that should hold one value."""
    return score_literal(
        question=question, kind=kind, expect=[[expect]], forbid=[], answer=answer
    ).verdict


NEIGHBOURS = [
    ("identifier", "4155550123", "It is 4155550124."),
    ("number", "12345678901234567890", "12345678901234567891"),
    ("number", "31.4159265358979", "31.4159265358978"),
    ("number", "1000000000 km", "1000000000001 m"),
    ("identifier", "0042", "It is 42."),
]


@pytest.mark.parametrize(("kind", "expect", "answer"), NEIGHBOURS)
def test_a_number_is_compared_to_its_last_digit(kind: str, expect: str, answer: str) -> None:
    """Phone, account and order numbers: the neighbour is another one, in answers and prompts."""
    assert said(kind, expect, answer) == "fail"
    assert said(kind, expect, f"It is {expect}.") == "pass"
    assert values_present([[expect]], [answer]) is (expect == "0042")
    assert expect == "0042" or invented(answer, Stated.of([expect]))[1]


QUALIFIED = [
    *(("12", a) for a in ("fewer than 12", "at least 12", "12%", "12th", "12 or more", "over 12")),
    ("15%", "15‰"),
    ("15%", "15 percentage points"),
    *(("5 mg", a) for a in ("5 mcg", "5 µg", "5mcg", "5 mg/kg")),
    ("$1.5 million", "-$1.5 million"),
    ("5 °C", "minus five degrees"),
    ("5度", "マイナス5度"),
    ("5도", "영하 5도"),
    ("5度", "零下5度"),
    *(("100 USD", a) for a in ("100 CAD", "100 AUD", "C$100", "100 XYZ", "100 Canadian dollars")),
    ("5 GB", "5 Gb"),
    ("5 MB", "5 MiB"),
    ("5 hours", "5 h 30 min"),
    ("5時間", "5時間30分"),
    ("3 days", "3 business days"),
    ("3日", "3営業日"),
    *(
        ("17 March", a)
        for a in (
            "the day before 17 March",
            "before 17 March",
            "the week after 17 March",
            "after 17 March",
        )
    ),
    *(("3月17日", f"3月17日{a}") for a in ("の前日", "の翌週", "以降", "之前", "前一天", "以后")),
    *(("3월 17일", f"3월 17일 {a}") for a in ("전날", "이후", "다음 날")),
    *(("150万円", f"150万円{a}") for a in ("未満", "以上", "以下です", "を超えます")),
    ("150만 원", "150만 원 미만"),
    ("150만 원", "최소 150만 원"),
    ("150万元", "超过150万元"),
    ("150万元", "不到150万元"),
    ("500 euros", "más de 500 euros"),
    ("5 kg", "2,5 kg"),
]


@pytest.mark.parametrize(("expect", "answer"), QUALIFIED)
def test_a_bound_an_offset_or_another_unit_is_no_pass(expect: str, answer: str) -> None:
    """More, fewer, before, after, of another currency or rate: the judge's; but present."""
    assert said("other", expect, answer) != "pass"
    assert said("other", expect, f"It is {answer}, I am told.") != "pass"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("-5 °C", "minus 5 degrees Celsius"),
        ("-5度", "氷点下5度です"),
        ("12", "We have 12 of them."),
        ("at least 12", "It must be at least 12."),
        ("17 March", "It is on 17 March."),
        ("17 March", "17 March, I am told"),
        ("3月17日", "3月17日の会議で決まりました。"),
        ("3월 20일", "3월 20일까지예요."),
        ("150万円", "150万円です。"),
        ("5 hours", "5 h"),
        ("5 GB", "5gb"),
        ("$500", "500 for the venue"),
        ("$500", "500 US dollars"),
        ("-$1.5 million", "-$1.5 million"),
        ("$5", "- $5 for tea"),
    ],
)
def test_the_plain_amount_still_passes(expect: str, answer: str) -> None:
    """What only surrounds the amount makes it no other."""
    assert said("other", expect, answer) == "pass"


@pytest.mark.parametrize(
    ("expect", "text"),
    [("12", "fewer than 12"), ("17 March", "before 17 March"), ("azul", "sin azul")],
)
def test_presence_asks_for_the_words_alone(expect: str, text: str) -> None:
    """A value stands in a prompt whatever is said of it."""
    assert values_present([[expect]], [text])
