"""Cues near a value: denial, supersession, doubt, alternatives. Expected values by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ctxeng.harness.scoring.cues import denies, hedges, is_negated, is_offered
from ctxeng.harness.scoring.matching import find, value_of
from ctxeng.harness.scoring.text import normal
from tests.generators import texts

DENIED = [
    ("It is not {}.", "$500"),
    ("not {} any more", "$500"),
    ("{} is no longer the budget", "$500"),
    ("{} isn't right", "$500"),
    ("It used to be {}.", "$500"),
    ("It was {} until March", "$500"),
    ("{}, but later changed", "$500"),
    ("{} and then changed", "$500"),
    ("{} was ruled out", "$500"),
    ("{} has been replaced", "$500"),
    ("They rejected {}", "$500"),
    ("$700 instead of {}", "$500"),
    ("originally {}", "$500"),
    ("{} at first", "$500"),
    ("anything but {}", "blue"),
    ("not the 2.3 release {}", "Kestrel"),
    ("It changed from {} to $700", "$500"),
    ("{}ではなく5000円です", "3000円"),
    ("{}じゃない", "3000円"),
    ("もう{}ではありません", "3000円"),
    ("以前は{}", "3000円"),
    ("最初は{}でした", "3000円"),
    ("{}でしたが、今は5000円", "3000円"),
    ("{}は却下されました", "3000円"),
    ("{}をやめました", "3000円"),
    ("{}から5000円に変更", "3000円"),
    ("5000円でも{}でもない", "3000円"),
    ("{}이 아니라 5,000원", "3,000원"),
    ("{}이 아닙니다", "3,000원"),
    ("더 이상 {}", "3,000원"),
    ("원래 {}", "3,000원"),
    ("{} 말고 5,000원", "3,000원"),
    ("{}에서 5,000원으로 변경", "3,000원"),
    ("{}이었지만 지금은", "3,000원"),
    ("不是{}", "3000元"),
]
ASSERTED = [
    ("The budget is {}.", "$500"),
    ("Not $700, but {}.", "$500"),
    ("not $700 but {}", "$500"),
    ("No, it is {}.", "$500"),
    ("No. It is {}.", "$500"),
    ("It changed from $700 to {}.", "$500"),
    ("It used to be $700, now {}.", "$500"),
    ("It was $700 but is now {}", "$500"),
    ("They did not like blue; they chose {}", "red"),
    ("$700 was dropped, and {} was chosen", "$500"),
    ("{}に決まりました", "3000円"),
    ("5000円ではなく{}です", "3000円"),
    ("青じゃなくて{}", "赤"),
    ("東京と{}から参加します", "大阪"),
    ("5,000원이 아니라 {}입니다", "3,000원"),
    ("파란색 말고 {}", "빨간색"),
    ("{}에서 열립니다", "서울"),
    ("서울에서 {}으로 변경", "부산"),
    ("아마존의 {}", "창고"),
]


@pytest.mark.parametrize(("frame", "value"), DENIED)
def test_a_value_beside_a_denial_is_negated(frame: str, value: str) -> None:
    """Denial, rejection and supersession are seen before and after a value."""
    assert _every_place(is_negated, frame.format(value), value)


@pytest.mark.parametrize(("frame", "value"), ASSERTED)
def test_a_denial_of_something_else_leaves_a_value_asserted(frame: str, value: str) -> None:
    """ "Not A but B", "from A to B" and another clause do not deny B."""
    assert not _every_place(is_negated, frame.format(value), value)


@pytest.mark.parametrize(
    ("text", "value", "offered"),
    [
        ("red or blue", "red", True),
        ("red or blue", "blue", True),
        ("either red, or blue", "red", True),
        ("order red curtains", "red", False),
        ("the fork or spoon", "fork", True),
        ("赤か青", "赤", True),
        ("赤か青", "青", True),
        ("A案またはB案", "B案", True),
        ("赤から", "赤", False),
        ("빨간색이나 파란색", "빨간색", True),
        ("빨간색 또는 파란색", "파란색", True),
        ("빨간색 아니면 파란색", "빨간색", True),
        ("나무 빨간색", "빨간색", False),
    ],
)
def test_a_value_beside_another_is_only_offered(text: str, value: str, offered: bool) -> None:
    """Naming two possible answers is no answer."""
    assert _every_place(is_offered, text, value) is offered


@pytest.mark.parametrize(
    ("text", "doubtful"),
    [
        ("maybe $500", True),
        ("I think it is $500", True),
        ("It could be $500", True),
        ("たぶん3000円です", True),
        ("3000円かもしれません", True),
        ("아마 3,000원", True),
        ("也许3000元", True),
        ("Amazon", False),
        ("아마존 창고", False),
        ("인지도 조사", False),
        ("it is due in May", False),
        ("", False),
    ],
)
def test_a_guess_is_heard(text: str, doubtful: bool) -> None:
    """Words of doubt are told from names that look like them."""
    assert hedges(normal(text)) is doubtful


@settings(max_examples=50, deadline=None)
@given(texts)
def test_a_text_without_any_word_of_denial_negates_nothing(text: str) -> None:
    """A value is negated by a cue, never by its surroundings alone."""
    shown = normal(f"{text} rack")
    cued = denies(shown) or "not" in shown or "instead" in shown
    place = find(value_of("rack"), shown)[-1]
    assert cued or not is_negated(shown, place.start, place.end)


def _every_place(cue: object, text: str, value: str) -> bool:
    shown = normal(text)
    places = find(value_of(value), text)
    assert places, f"{value!r} must stand in {text!r}"
    return all(cue(shown, place.start, place.end) for place in places)  # type: ignore[operator]
