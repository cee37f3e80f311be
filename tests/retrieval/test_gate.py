"""The gate: which questions need a search, and why."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.retrieval.gate import TOPIC_SHIFT_COSINE, should_retrieve, topic_cosine

QUESTIONS = [
    # refers to the past
    ("Remind me why we dropped Redis.", {"past_reference"}),
    ("As I mentioned earlier, keep it short.", {"past_reference"}),
    ("Use the plan we agreed on.", {"past_reference"}),
    ("Is that still so, as you suggested yesterday?", {"past_reference"}),
    ("前回の続きをお願いします。", {"past_reference"}),
    ("さっきの案で進めて。", {"past_reference"}),
    ("지난번처럼 해 줘.", {"past_reference"}),
    ("아까 그 방법이 더 좋아요.", {"past_reference"}),
    ("按照之前的方案来。", {"past_reference"}),
    # asks for an exact detail
    ("What is the port of the staging server?", {"exact_detail"}),
    ("How many racks are there?", {"exact_detail"}),
    ("Quote the sentence word for word.", {"exact_detail"}),
    ("Whose idea is it?", {"exact_detail"}),
    ("予算はいくらですか。", {"exact_detail"}),
    ("会議室はどこ?", {"exact_detail"}),
    ("예산이 얼마예요?", {"exact_detail"}),
    ("회의는 언제 시작해?", {"exact_detail"}),
    ("预算是多少?", {"exact_detail"}),
    ("What's the staging port?", {"exact_detail"}),
    ("Who’s reviewing?", {"exact_detail"}),
    ("Why was Redis rejected?", {"exact_detail"}),
    ("Which of the two options won?", {"exact_detail"}),
    ("Ok, and in what order do the tasks run?", {"exact_detail"}),
    ("Does Anna have a sister?", {"exact_detail"}),
    ("Can Dave drive?", {"exact_detail"}),
    ("What should the report never contain?", {"exact_detail"}),
    ("Can you tell me my dog's name?", {"exact_detail"}),
    ("担当者の名前を教えてください。", {"exact_detail"}),
    ("会議室は何階?", {"exact_detail"}),
    ("二番目の案は何だった?", {"past_reference", "exact_detail"}),
    ("なぜRedisをやめたのですか", {"exact_detail"}),
    ("私の好みの色は？", {"exact_detail"}),
    ("서버 포트가 뭐야?", {"exact_detail"}),
    ("예산을 알려줘", {"exact_detail"}),
    ("어떤 색을 골랐어?", {"exact_detail"}),
    ("내가 싫어하는 음식은?", {"exact_detail"}),
    ("为什么放弃Redis?", {"exact_detail"}),
    # both
    ("What did we decide about the deadline last week?", {"past_reference", "exact_detail"}),
    ("WHAT WAS THE EXACT WORDING I SUGGESTED?", {"past_reference", "exact_detail"}),
    ("締め切りはいつに決めたんでしたっけ?", {"past_reference", "exact_detail"}),
    ("전에 말했던 마감이 언제였지?", {"past_reference", "exact_detail"}),
    ("上次说的编号是多少?", {"past_reference", "exact_detail"}),
    ("When's Tom's birthday party again?", {"past_reference", "exact_detail"}),
    ("Add the invoice number I gave you.", {"past_reference"}),
    ("敷金の件、大家さんから返事来てたっけ", {"past_reference"}),
    # looks like a cue and is none: what is to come, the last messages, the world at large
    ("Remember to use metric units.", set()),
    ("Before I forget: happy new year!", set()),
    ("I've just said so, make it Wednesday.", set()),
    ("How old can an oak get?", set()),
    ("もっと短くして", set()),
    ("その中でノーベル賞を取ったのは？", set()),
    ("그중에 노벨상 받은 사람은?", set()),
    ("이제부터 존댓말로 해 줘.", set()),
    # neither
    ("", set()),
    ("   ", set()),
    ("Thanks!", set()),
    ("Write a haiku about rain.", set()),
    ("Please continue.", set()),
    ("ありがとう、続けて。", set()),
    ("고마워, 계속해 줘.", set()),
    ("谢谢，请继续。", set()),
    ("How can I make this faster?", set()),
    ("What do you think?", set()),
    ("What about blue?", set()),
    ("Could you rewrite the second paragraph?", set()),
    ("Is that okay?", set()),
    ("Write a function which returns what the caller gave it.", set()),
    ("When you are done, run the tests.", set()),
    ("何か書いてください。", set()),
    ("何も変えないで。", set()),
    ("unforgettable addressing beforehand", set()),  # cues are words, not parts of words
]


@pytest.mark.parametrize(("question", "reasons"), QUESTIONS)
def test_a_question_opens_the_gate_for_its_reasons(question: str, reasons: set[str]) -> None:
    """References to the past and exact details are told apart in four languages (by hand)."""
    decision = should_retrieve(question)
    assert set(decision.reasons) == reasons
    assert decision.retrieve == bool(reasons)
    assert decision.exact == ("exact_detail" in reasons)


@pytest.mark.parametrize(
    ("cosine", "shifted"),
    [
        (None, False),
        (1.0, False),
        (TOPIC_SHIFT_COSINE, False),
        (TOPIC_SHIFT_COSINE - 1e-6, True),
        (0.0, True),
        (-1.0, True),
    ],
)
def test_a_new_topic_opens_the_gate(cosine: float | None, shifted: bool) -> None:
    """A question less like the recent window than the threshold leaves its topic."""
    decision = should_retrieve("Write a haiku about rain.", topic_cosine=cosine)
    assert decision.reasons == (("topic_shift",) if shifted else ())
    assert (decision.retrieve, decision.exact) == (shifted, False)


def test_reasons_add_up() -> None:
    """Every reason is recorded, in a fixed order."""
    decision = should_retrieve("What port did we use last time?", topic_cosine=0.0)
    assert decision.reasons == ("past_reference", "exact_detail", "topic_shift")


@settings(max_examples=50, deadline=None)
@given(question=st.text(st.characters(), max_size=80), cosine=st.none() | st.floats(-1, 1))
def test_any_question_gets_a_decision(question: str, cosine: float | None) -> None:
    """The gate is open exactly when it has a reason, whatever the text."""
    decision = should_retrieve(question, topic_cosine=cosine)
    assert decision.retrieve == bool(decision.reasons)
    assert decision.exact == ("exact_detail" in decision.reasons)


@pytest.mark.parametrize("piece", ["again ", "x, what ", "is x ", "予", "a, "])
def test_a_pasted_wall_of_text_is_decided_in_linear_time(piece: str) -> None:
    """Much repetition does not make the patterns backtrack (quadratic time would hit the timeout)."""
    assert should_retrieve(piece * 60_000).reasons == ()


def test_the_topic_is_that_of_the_most_similar_message() -> None:
    """The best cosine over the window counts; an empty window has no topic (by hand)."""
    question = np.array([1.0, 0.0], dtype=np.float32)
    window = [np.array(v, dtype=np.float32) for v in ([0.0, 1.0], [0.6, 0.8], [-1.0, 0.0])]
    assert topic_cosine(question, window) == pytest.approx(0.6)
    assert topic_cosine(question, window[2:]) == pytest.approx(-1.0)
    assert topic_cosine(question, []) is None
