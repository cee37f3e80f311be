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
