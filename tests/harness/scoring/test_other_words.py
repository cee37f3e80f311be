"""One value in other words: fractions, times and commits shortened, either kana; their neighbours."""

from __future__ import annotations

import pytest

from ctxeng.harness.scoring.fractions import fractions_in_digits
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.presence import values_present

# kind, expected, answer, question; labelled by hand
RIGHT = [
    ("number", "1.5 hours", "An hour and a half.", "How long?"),
    ("number", "90 minutes", "It takes an hour and a half.", "How long?"),
    ("number", "an hour and a half", "90 minutes", "How long?"),
    ("number", "1.5 hours", "one and a half hours", "How long?"),
    ("number", "2.5 hours", "two and a half hours", "How long?"),
    ("number", "1 hour", "an hour", "How long?"),
    ("number", "30 minutes", "half an hour", "How long?"),
    ("number", "2.5 hours", "two hours and a half", "How long?"),
    ("number", "1.5 years", "a year and a half", "How long?"),
    ("number", "18 months", "a year and a half", "How long?"),
    ("number", "45 minutes", "three quarters of an hour", "How long?"),
    ("number", "15 minutes", "a quarter of an hour", "How long?"),
    ("number", "1/2", "half", "What share?"),
    ("number", "half", "1/2", "What share?"),
    ("other", "half", "1/2", "What share?"),
    ("number", "1/2", "one half of it", "What share?"),
    ("number", "1/3", "a third", "What share?"),
    ("number", "50%", "half", "What share?"),
    ("number", "half", "50%", "What share?"),
    ("number", "2/3", "two thirds", "What share?"),
    ("number", "3/4", "three quarters", "What share?"),
    ("number", "30%", "3割", "割合は?"),
    ("number", "3割", "30%", "割合は?"),
    ("number", "3割", "30パーセントです", "割合は?"),
    ("number", "35%", "3割5分です", "割合は?"),
    ("number", "30%", "三割です", "割合は?"),
    ("number", "30%", "3割引です", "割引率は?"),
    ("number", "50%", "半分です", "割合は?"),
    ("other", "半分", "2分の1です", "割合は?"),
    ("number", "1/2", "半分", "割合は?"),
    ("number", "3分の1", "1/3", "割合は?"),
    ("number", "三分の一", "3分の1です", "割合は?"),
    ("date", "15:15", "下午三点一刻", "几点?"),
    ("date", "下午三点一刻", "15:15", "几点?"),
    ("date", "15:45", "下午三点三刻", "几点?"),
    ("date", "15:30", "下午三点半", "几点?"),
    ("date", "15:05", "下午三点零五分", "几点?"),
    ("date", "15:15", "오후 3시 15분", "몇 시?"),
    ("date", "오후 3시 15분", "15:15", "몇 시?"),
    ("date", "오후 3시 15분", "오후 세 시 십오 분", "몇 시?"),
    ("date", "15:30", "오후 세 시 반이에요", "몇 시?"),
    ("date", "15:15", "午後3時15分", "何時?"),
    ("date", "15:15", "午後三時十五分です", "何時?"),
    ("number", "1/3", "三分之一", "比例?"),
    ("number", "三分之一", "1/3", "比例?"),
    ("number", "30%", "百分之三十", "比例?"),
    ("number", "百分之三十", "30%", "比例?"),
    ("number", "30%", "三成", "比例?"),
    ("number", "1/2", "一半", "比例?"),
    ("number", "一半", "50%", "比例?"),
    ("number", "1.5小时", "一个半小时", "多久?"),
    ("number", "90分钟", "一个半小时", "多久?"),
    ("number", "30分钟", "半小时", "多久?"),
    ("number", "30分钟", "半个小时", "多久?"),
    ("number", "2.5小时", "两个半小时", "多久?"),
    ("number", "1.5時間", "1時間半", "時間は?"),
    ("number", "90分", "一時間半です", "時間は?"),
    ("number", "30分", "半時間", "時間は?"),
    ("number", "1.5시간", "한 시간 반", "얼마나?"),
    ("number", "90분", "1시간 반이에요", "얼마나?"),
    ("number", "30분", "반 시간", "얼마나?"),
    ("number", "1/2", "절반", "비율은?"),
    ("number", "50%", "절반이에요", "비율은?"),
    ("number", "절반", "50%", "비율은?"),
    ("other", "절반", "2분의 1", "비율은?"),
    ("number", "3분의 1", "1/3", "비율은?"),
    ("number", "1/3", "삼분의 일", "비율은?"),
    ("number", "30%", "3할", "비율은?"),
    ("other", "りんご", "リンゴです", "何が嫌い?"),
    ("other", "リンゴ", "りんごが苦手です", "何が苦手?"),
    ("preference", "りんご", "リンゴ", "何?"),
    ("other", "りんご", "リンゴ", "何?"),
    ("other", "ラーメン", "らーめん", "何?"),
    ("identifier", "cb20418a9d3f5577e1f0b2c4d6a8901234567890", "cb20418", "Which commit?"),
    (
        "identifier",
        "cb20418a9d3f5577e1f0b2c4d6a8901234567890",
        "It was commit `cb20418`.",
        "Which commit?",
    ),
    ("identifier", "cb20418a9d3f", "cb20418a9d", "Which commit?"),
    ("number", "half", "Only half joined.", "What share?"),
    ("number", "2.5 litres", "2½ litres", "How much?"),
    ("number", "1/2", "½", "What share?"),
    ("number", "12", "We have 12, and half of them are new.", "How many?"),
    ("date", "下午一点十分", "下午一点十分开始", "几点?"),
    ("other", "パン", "パンが好きです", "何?"),
]
WRONG = [
    ("number", "1.5 hours", "an hour", "How long?"),
    ("number", "1 hour", "an hour and a half", "How long?"),
    ("number", "1 hour", "half an hour", "How long?"),
    ("number", "30 minutes", "an hour", "How long?"),
    ("number", "1.5 hours", "half an hour", "How long?"),
    ("number", "1/2", "a third", "What share?"),
    ("number", "1/3", "half", "What share?"),
    ("number", "1/2", "one and a half", "What share?"),
    ("number", "1/3", "two thirds", "What share?"),
    ("number", "1/2", "2/1", "What share?"),
    ("number", "1/2", "1/20", "What share?"),
    ("number", "1/2", "11/2", "What share?"),
    ("number", "1/2", "1 2", "What share?"),
    ("number", "3割", "3%", "割合は?"),
    ("number", "30%", "3割5分", "割合は?"),
    ("number", "3%", "3割", "割合は?"),
    ("number", "70%", "3割引です", "価格は元の何%?"),
    ("number", "3割", "3個", "割合は?"),
    ("number", "3分の1", "3分の2", "割合は?"),
    ("number", "3分", "3分の1", "何分?"),
    ("date", "下午三点一刻", "下午三点", "几点?"),
    ("date", "下午三点", "下午三点一刻", "几点?"),
    ("date", "15:15", "下午三点三刻", "几点?"),
    ("date", "15:15", "上午三点一刻", "几点?"),
    ("date", "15:15", "오후 3시", "몇 시?"),
    ("date", "오후 3시", "오후 3시 15분", "몇 시?"),
    ("date", "15:15", "오전 3시 15분", "몇 시?"),
    ("other", "三分之一", "三分之二", "比例?"),
    ("other", "三分之一", "百分之三", "比例?"),
    ("number", "30%", "百分之三", "比例?"),
    ("number", "三成", "3%", "比例?"),
    ("number", "1小时", "一个半小时", "多久?"),
    ("number", "1小时", "半小时", "多久?"),
    ("number", "1時間", "1時間半です", "時間は?"),
    ("number", "1시간", "한 시간 반", "얼마나?"),
    ("number", "1/3", "3분의 2", "비율은?"),
    ("other", "エビ", "エビデンス", "何?"),
    ("number", "40%", "4割り当て", "何割?"),
    ("number", "30%", "第3割当", "何割?"),
    ("identifier", "1234567890123e", "1234567", "Which commit?"),
    ("other", "えび", "エビデンスです", "何?"),
    ("other", "エビ", "さえび", "何?"),
    ("other", "パン", "フライパン", "何?"),
    ("other", "ぱん", "フライパン", "何?"),
    ("other", "えび", "カニ", "何?"),
    ("other", "バス", "パス", "何?"),
    ("identifier", "cb20418a9d3f5577e1f0b2c4d6a8901234567890", "cb2041", "Which commit?"),
    ("identifier", "cb20418a9d3f5577e1f0b2c4d6a8901234567890", "cb20419", "Which commit?"),
    ("identifier", "cb20418", "cb204189", "Which commit?"),
    ("identifier", "2041800", "20418009", "Which account?"),
    ("identifier", "12345678901", "1234567", "Which account?"),
    ("identifier", "4155550123", "4155550", "Phone?"),
    (
        "identifier",
        "cb20418a9d3f5577e1f0b2c4d6a8901234567890",
        "cb20418 or cb20419",
        "Which commit?",
    ),
    ("identifier", "cb20418a9d3f5577e1f0b2c4d6a8901234567890", "cb20418b", "Which commit?"),
    ("identifier", "1/2", "2/4", "Which port?"),
    ("number", "50%", "more than half", "What share?"),
    ("number", "50%", "the second half", "What share?"),
    ("number", "30%", "三成多", "比例?"),
    ("number", "50%", "绝大半", "比例?"),
    ("number", "1/2", "3/4", "What share?"),
    ("number", "1/2", "half or a third", "What share?"),
    ("number", "1.5 hours", "an hour and a quarter", "How long?"),
    ("number", "6 months", "a year and a half", "How long?"),
    ("number", "1 week", "three times a week", "How often?"),
    ("other", "カニ", "確かに苦手です", "何が苦手?"),
    ("other", "パン", "ぱんだです", "何?"),
    ("other", "かに", "カニカマです", "何?"),
    ("date", "13:10", "有一点十分重要", "几点?"),
    ("number", "15分の1", "15分の遅れ", "?"),
    ("identifier", "cb20418a9d3f", "ab20418a9d", "Which commit?"),
    ("identifier", "cb20418a9d3f", "cb20418a9d3f00", "Which commit?"),
    ("identifier", "cb20418a9d3f", "cb20418-2", "Which commit?"),
]


def said(kind: str, expect: str, answer: str, question: str) -> str:
    """Return the verdict on an answer that should hold one value."""
    return score_literal(
        question=question, kind=kind, expect=[[expect]], forbid=[], answer=answer
    ).verdict


@pytest.mark.parametrize(("kind", "expect", "answer", "question"), RIGHT)
def test_the_same_value_in_other_words_passes(
    kind: str, expect: str, answer: str, question: str
) -> None:
    """An hour and a half is 90 minutes, 3割 is 30%, 下午三点一刻 is 15:15, リンゴ is りんご."""
    assert said(kind, expect, answer, question) == "pass"


@pytest.mark.parametrize(("kind", "expect", "answer", "question"), WRONG)
def test_its_neighbour_does_not_pass(kind: str, expect: str, answer: str, question: str) -> None:
    """Another amount, another time, another code, another word: fail, or the judge's."""
    assert said(kind, expect, answer, question) != "pass"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("cb20418", "It was cb20418a9d3f5577e1f0b2c4d6a8901234567890."),
        ("cb20418a9d3f5577e1f0b2c4d6a8901234567890", "cb2041"),
        ("cb20418a9d", "cb20418"),
        ("えび", "甘エビ"),
        ("パン", "フライパン"),
        ("エビ", "えび"),
        ("ナシ", "なしです"),
        ("ネコ", "ねこじゃらしです"),
        ("タイ", "たいがいは肉"),
        ("リンゴ", "りんごジャム"),
        ("イチゴ", "いちごん"),
    ],
)
def test_what_may_be_the_value_is_the_judges(expect: str, answer: str) -> None:
    """More digits than were stated, fewer than seven, of a short code; within another word."""
    assert said("other", expect, answer, "What was it?") == "ambiguous"


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("two and a half hours", "2.5 hours"),
        ("an hour and a half", "1.5 hour"),
        ("half an hour", "0.5\ue000 hour"),
        ("三成五", "三成五"),
        ("half past three", "half past 3"),
        ("24/7", "24/7"),
        ("1/2/2024", "1/2/2024"),
        ("一个半小时", "1.5小时"),
        ("3割5分", "35%"),
        ("前半分", "前半分"),
        ("百分之二点五", "2.5%"),
        ("우리 반 시간표", "우리 반 시간표"),
        ("a third option", "a third option"),
    ],
)
def test_fractions_are_rewritten_in_digits(text: str, digits: str) -> None:
    """By hand; a share is marked, so that it is no count."""
    assert fractions_in_digits(text).text == digits


def test_a_value_stands_in_a_prompt_in_other_words() -> None:
    """Presence is by the same matchers, and asks for a share where one is expected."""
    assert values_present([["90 minutes"]], ["it takes an hour and a half"])
    assert values_present([["30%"]], ["予算の3割です"])
    assert values_present([["りんご"]], ["リンゴが嫌い"])
    assert not values_present([["1/2"]], ["0.5"])
    assert not values_present([["3%"]], ["予算の3割です"])
