"""Abstentions: an answer that says nothing but that it does not know. Cases by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ctxeng.harness.scoring.abstention import LONGEST, abstains_in_part, is_abstention
from tests.generators import spoken

ENGLISH = [
    "UNKNOWN", "Unknown.", "unknown", "UNKNOWN!", "UNKNOWN。", '"UNKNOWN"', "「UNKNOWN」", "**UNKNOWN**",
    "Answer: UNKNOWN", "Unknown (not in context)", "UNKNOWN - the context does not say",
    "UNKNOWN. The conversation does not mention it.", "N/A", "n/a", "None", "No answer.", "No idea.",
    "No idea what it was", "It is unknown.", "It's unknown.", "The deadline is unknown.",
    "I don't know.", "I don’t know", "I do not know the answer.", "Sorry, I don't know.",
    "I'm sorry, but I don't know.", "I don't have that information.",
    "I do not have enough information to answer.", "I can't find that in the conversation.",
    "I cannot tell from the context.", "I can't say.", "I'm not sure.", "I am not sure.",
    "Not mentioned.", "Not mentioned in the conversation.", "Not specified",
    "The context does not mention the budget.", "The conversation doesn't say.",
    "The provided context does not contain this information.", "The context holds no answer.",
    "That was never mentioned.", "The deadline was never stated.", "It has not been discussed.",
    "There is no mention of a deadline.", "There's no information about that.",
    "No information available.", "It isn't mentioned anywhere.", "This information is not in the context.",
    "This information is not available in the conversation.", "Cannot be determined from the context.",
    "No colour was mentioned.",
]  # fmt: skip
JAPANESE = [
    "不明", "不明です", "不明です。", "UNKNOWNです。", "わかりません", "分かりません。", "わからない", "分からない",
    "知りません", "存じません", "覚えていません", "記載がありません", "会話には記載がありません。",
    "会話に記載されていません。", "その情報はありません。", "情報がありません", "言及されていません。",
    "会話では言及されていません", "予算については述べられていません。", "その点は話されていません",
    "触れられていません。", "お答えできません", "申し訳ありませんが、お答えできません。", "答えはわかりません。",
    "会話の中に情報が見つかりません。", "会話からは判断できません", "予算はわかりません。",
    "予算については分かりません。", "会話には出てきません。", "分かりません。会話に記載がありません。",
]  # fmt: skip
KOREAN = [
    '혈액형에 대해서는 말씀하신 적이 없습니다.',
    "모르겠습니다", "모르겠어요.", "모릅니다", "몰라요", "알 수 없습니다.", "알 수 없음", "UNKNOWN입니다",
    "대화에 언급되지 않았습니다", "언급되지 않음", "정보가 없습니다.", "관련 정보는 없습니다", "기록이 없습니다",
    "언급된 적이 없습니다", "대화에서 언급이 없습니다.", "예산은 알 수 없습니다.", "확인할 수 없습니다",
    "예산은 대화에 나오지 않습니다.", "잘 모르겠습니다.", "죄송합니다. 알 수 없습니다.",
]  # fmt: skip
OTHERS = [
    "抱歉,我不记得这段对话的内容了。",
    "没有,学费的具体数字你没提过。",
    "不知道",
    "未知",
    "没有提到",
    "no lo sé",
    "No se menciona.",
]
NO_ABSTENTIONS = [
    '你没说过要茶,你说的是咖啡',
    '是3321,别的记不清了',
    '저녁 메뉴는 말씀하신 적이 없고 점심만 말씀하셨어요',
    "", " ", "...", "None of them", "Unknown Pleasures", "No idea was accepted", "no information desk; room 4",
    "I can't say no to ramen.", "It is not blue", "Nonetheless", "I see", "The name is Unknown Quantity",
    "N/A-200", "UNKNOWN. It was $500.", "UNKNOWN, perhaps $500", "I don't know why, but the budget is $500.",
    "The budget was not discussed until March; it is $500.", "From the conversation, it is $500",
    "Sorry.", "不明瞭な点", "情報部", "なし", "記載はない店舗Aです", "分かりませんが、3000円だと思います",
    "まだ分からないと言っていた", "모르는 사람", "정보가 없는 상태로 시작", "모르겠지만 3000원입니다", "\x00",
]  # fmt: skip


@pytest.mark.parametrize("answer", [*ENGLISH, *JAPANESE, *KOREAN, *OTHERS])
def test_an_answer_that_only_says_it_does_not_know_is_an_abstention(answer: str) -> None:
    """UNKNOWN and its plain equivalents are heard in every language we score."""
    assert is_abstention(answer)


@pytest.mark.parametrize("answer", NO_ABSTENTIONS)
def test_an_answer_that_goes_on_to_say_something_is_no_abstention(answer: str) -> None:
    """A denial of something, a name, or a contrast after the denial is an answer."""
    assert not is_abstention(answer)


def test_a_long_answer_is_no_abstention() -> None:
    """From ``LONGEST`` characters on, an answer says more than that it does not know."""
    opening = "I don't know what it was "
    assert is_abstention(opening + "x" * (LONGEST - len(opening) - 1))
    assert not is_abstention(opening + "x" * (LONGEST - len(opening)))


@settings(max_examples=50, deadline=None)
@given(spoken)
def test_an_abstention_followed_by_a_statement_is_heard_in_part_only(text: str) -> None:
    """Whatever is asserted after it, an abstention is not lost, and not taken for the whole."""
    answer = f"I don't know. The budget is {text} 17."
    assert not is_abstention(answer)
    assert abstains_in_part(answer)


@pytest.mark.parametrize(
    ("answer", "in_part"),
    [
        ("I don't know", True),
        ("It is $500, not $700", True),
        ("予算はない", True),
        ("예산이 없음", True),
        ("没有", True),
        ("It is $500", False),
        ("予算は3000円", False),
        ("", False),
    ],
)
def test_any_word_of_denial_is_heard_in_part(answer: str, in_part: bool) -> None:
    """Where nothing was asked for, an answer with a denial in it is for the judge."""
    assert abstains_in_part(answer) is in_part
