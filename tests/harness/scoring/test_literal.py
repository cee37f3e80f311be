"""The literal scorer: pass what is plainly right, fail what is plainly wrong. Cases by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.literal import (
    VERBOSE_WORDS,
    LiteralVerdict,
    is_verbose,
    score_literal,
)
from ctxeng.harness.scoring.presence import values_present
from tests.generators import WORDS, texts

Expect = list[str]


def verdict_of(
    answer: str,
    expect: Expect,
    *,
    forbid: Expect | None = None,
    kind: str = "other",
    question: str = "What was it?",
    answerable: bool = True,
) -> LiteralVerdict:
    """Score an answer against one value per group."""
    return score_literal(
        question=question,
        kind=kind,
        expect=[[value] for value in expect],
        forbid=forbid or [],
        answer=answer,
        answerable=answerable,
    )


PASSES = [
    ("$500", ["$500"]),
    ("The budget is $500.", ["$500"]),
    ("Five hundred dollars.", ["$500"]),
    ("$500, as of now", ["$500"]),
    ("$500 rather than $700", ["$500"]),
    ("$500 (previously $700)", ["$500"]),
    ("Not $700, but $500.", ["$500"]),
    ("It changed from $700 to $500.", ["$500"]),
    ("3000円", ["¥3,000"]),
    ("三千円です", ["¥3,000"]),
    ("3000円に決まりました。", ["¥3,000"]),
    ("3000円ではなく5000円です", ["5000円"]),
    ("예산은 3,000원입니다", ["3000원"]),
    ("3,000원이 아니라 5,000원입니다", ["5000원"]),
    ("It is due on the 15th of March.", ["2024-03-15"]),
    ("締め切りは3月15日です", ["March 15"]),
    ("마감은 3월 15일입니다", ["2024-03-15"]),
    ("on Tuesday", ["Tuesday"]),
    ("It's maxRetryCount.", ["max_retry_count"]),
    ("PX-2291です。", ["PX-2291"]),
    ("Kestrelです", ["Kestrel"]),
    ("서울에서 열립니다", ["서울"]),
    ("東京から参加します", ["東京"]),
    ("Red, blue and gold", ["red", "blue", "gold"]),
    ("佐伯さんです", ["佐伯"]),
    ("no red", ["no red"]),
    ("It may arrive in May.", ["May"]),
    ("<memory>$500</memory>", ["$500"]),
    ("$500\x00", ["$500"]),
]
FAILS = [
    ("$5000", ["$500"], "no_number"),
    ("$5,000", ["$500"], "no_number"),
    ("30,000円", ["¥3,000"], "no_number"),
    ("The budget.", ["$500"], "no_number"),
    ("Tuesday", ["Monday"], "no_date"),
    ("March 5", ["March 4"], "no_date"),
    ("PX-2292です。", ["PX-2291"], "no_identifier"),
    ("PX2291", ["PX-2291"], "no_identifier"),
    ("Falcon", ["Kestrel"], "no_overlap"),
    ("青いです", ["赤"], "no_overlap"),
    ("Kestrel", ["Kestrel", "Falcon"], "no_overlap"),
    ("", ["$500"], "empty_answer"),
    (" \n ", ["$500"], "empty_answer"),
    ("...", ["$500"], "empty_answer"),
    ("?!", ["$500"], "empty_answer"),
    ("UNKNOWN", ["$500"], "abstained"),
    ("不明です。", ["赤"], "abstained"),
    ("알 수 없습니다.", ["3000원"], "abstained"),
    ("I don't know why, sorry.", ["$500"], "abstained"),
    ("What was it?", ["Kestrel"], "echoes_question"),
    ("word " * (VERBOSE_WORDS + 1), ["$500"], "verbose_without_value"),
]
AMBIGUOUS = [
    ("It's not $500 any more.", ["$500"], "negation_near_value"),
    ("It was $500 until March.", ["$500"], "negation_near_value"),
    ("$500, but later changed", ["$500"], "negation_near_value"),
    ("$500 is no longer the budget", ["$500"], "negation_near_value"),
    ("no more than $500", ["$500"], "negation_near_value"),
    ("do not use max_retry_count", ["maxRetryCount"], "negation_near_value"),
    ("予算は3000円ではなく5000円です", ["¥3,000"], "negation_near_value"),
    ("もう3000円ではありません", ["3000円"], "negation_near_value"),
    ("3,000원이 아니라 5,000원입니다", ["3000원"], "negation_near_value"),
    ("PX-2291이 아닙니다", ["PX-2291"], "negation_near_value"),
    ("red is not allowed", ["no red"], "partial_overlap"),
    ("Red and gold", ["no red"], "partial_overlap"),
    ("maybe $500", ["$500"], "hedged"),
    ("3000円かもしれません", ["3000円"], "hedged"),
    ("아마 3,000원일 거예요", ["3000원"], "hedged"),
    ("UNKNOWN, perhaps $500", ["$500"], "hedged"),
    ("$500 or $700", ["$500"], "one_of_several"),
    ("赤か青です", ["赤"], "one_of_several"),
    ("$500?", ["$500"], "answers_with_question"),
    ("3000円？", ["3000円"], "answers_with_question"),
    ("It was never mentioned in the $500 conversation", ["$500"], "abstains_beside_value"),
    ("word " * VERBOSE_WORDS + "$500", ["$500"], "verbose_answer"),
    ("あ" * (3 * VERBOSE_WORDS) + "赤", ["赤"], "verbose_answer"),
    ("04/03/2024", ["2024-03-04"], "partial_overlap"),
    ("午後10時", ["10時"], "partial_overlap"),
    ("they said never ship on Friday", ["We never ship on Friday."], "partial_overlap"),
]


@pytest.mark.parametrize(("answer", "expect"), PASSES)
def test_a_plainly_right_answer_passes(answer: str, expect: Expect) -> None:
    """Any spelling of the value, plainly asserted, is a pass that needs no judge."""
    verdict = verdict_of(answer, expect)
    assert (verdict.verdict, verdict.rule) == ("pass", "value_found")
    assert verdict.matched == tuple(expect)


@pytest.mark.parametrize(("answer", "expect", "rule"), FAILS)
def test_a_plainly_wrong_answer_fails(answer: str, expect: Expect, rule: str) -> None:
    """Another value, nothing, an abstention, an echo, or a dump without the value fails."""
    verdict = verdict_of(answer, expect)
    assert (verdict.verdict, verdict.rule) == ("fail", rule)
    assert verdict.abstained is (rule == "abstained")


@pytest.mark.parametrize(("answer", "expect", "rule"), AMBIGUOUS)
def test_what_is_neither_is_left_to_the_judge(answer: str, expect: Expect, rule: str) -> None:
    """Denial, doubt, alternatives and near misses are never decided by rule."""
    verdict = verdict_of(answer, expect)
    assert (verdict.verdict, verdict.rule) == ("ambiguous", rule)


@pytest.mark.parametrize(
    ("answer", "expect", "forbid", "verdict", "rule"),
    [
        ("$700", "$500", "$700", "fail", "forbidden_value"),
        ("The old value $700.", "$500", "$700", "fail", "forbidden_value"),
        ("5000円です", "3000円", "五千円", "fail", "forbidden_value"),
        ("$500, previously $700", "$500", "$700", "ambiguous", "forbidden_value_beside"),
        ("It changed from $700 to $500.", "$500", "$700", "ambiguous", "forbidden_value_beside"),
        ("$500, not $700.", "$500", "$700", "pass", "forbidden_value_denied"),
        ("$500, not $700, was rejected.", "$500", "$700", "ambiguous", "forbidden_value_beside"),
        ("It changed from $500 to $700.", "$500", "$700", "fail", "forbidden_value"),
        ("$500, and $700 too", "$500", "$700", "ambiguous", "forbidden_value_beside"),
        ("$500", "$500", "$700", "pass", "value_found"),
        ("$7000", "$500", "$700", "fail", "no_number"),
        ("dark green", "dark green", "green", "pass", "value_found"),
        ("green", "dark green", "green", "fail", "forbidden_value"),
        ("dark green", "green", "dark green", "fail", "forbidden_value"),
        ("dark green, then green", "green", "dark green", "ambiguous", "forbidden_value_beside"),
        ("Kestrel 2", "Kestrel 2", "Kestrel", "pass", "value_found"),
        ("濃い赤", "濃い赤", "赤", "pass", "value_found"),
    ],
)
def test_a_forbidden_value_passes_only_where_it_is_plainly_set_aside(
    answer: str, expect: str, forbid: str, verdict: str, rule: str
) -> None:
    """The old value alone fails as stale; beside the right one it is for the judge, or set aside.

    A value that stands only inside a longer value of the other side does not count.
    """
    scored = verdict_of(answer, [expect], forbid=[forbid], kind="update")
    assert (scored.verdict, scored.rule) == (verdict, rule)
    assert scored.stale is (rule in ("forbidden_value", "forbidden_value_beside"))


@pytest.mark.parametrize(
    ("answer", "kind", "verdict"),
    [
        ("Alpha, Beta, Gamma", "order", "pass"),
        ("First Alpha, then Beta, then Gamma.", "order", "pass"),
        ("Gamma: first Alpha, then Beta, then Gamma.", "order", "ambiguous"),
        ("Gamma, Beta, Alpha", "order", "fail"),
        ("Beta and Gamma came after Alpha", "order", "ambiguous"),
        ("Gamma, Beta, Alpha", "list", "pass"),
        ("Alpha and Gamma", "list", "fail"),
        ("Alpha and Gamma", "order", "fail"),
    ],
)
def test_an_order_is_right_only_in_its_order(answer: str, kind: str, verdict: str) -> None:
    """A list may be told in any order, an order may not."""
    assert verdict_of(answer, ["Alpha", "Beta", "Gamma"], kind=kind).verdict == verdict


@pytest.mark.parametrize(
    ("answer", "expect", "kind"),
    [
        ("The user does not want gradients.", "gradients", "rejection"),
        ("No gradients", "gradients", "rejection"),
        ("グラデーションではなく単色です", "グラデーション", "rejection"),
        ("“We never ship on Friday”", "We never ship on Friday.", "wording"),
        ("They said: I don't know yet, ask Jun", "I don't know yet", "wording"),
        ("まだ分かりません、と言いました", "まだ分かりません", "wording"),
        ("I don't know yet.", "I don't know yet", "wording"),
    ],
)
def test_a_rejection_or_a_wording_may_hold_a_denial(answer: str, expect: str, kind: str) -> None:
    """Where the value is itself a denial, the words of denial beside it are no doubt."""
    assert verdict_of(answer, [expect], kind=kind).verdict == "pass"


@pytest.mark.parametrize(
    ("answer", "verdict", "rule"),
    [
        ("UNKNOWN", "pass", "abstained"),
        ("会話では言及されていません。", "pass", "abstained"),
        ("언급된 적이 없습니다.", "pass", "abstained"),
        ("It is $500.", "fail", "answered_unanswerable"),
        ("3000円です", "fail", "answered_unanswerable"),
        ("I don't know, but it may be $500.", "ambiguous", "abstains_in_part"),
        ("There was no budget.", "ambiguous", "abstains_in_part"),
        ("", "fail", "empty_answer"),
    ],
)
def test_where_nothing_was_said_only_an_abstention_is_right(
    answer: str, verdict: str, rule: str
) -> None:
    """Any assertion about an absent fact fails; a mixture is for the judge."""
    scored = verdict_of(answer, [], answerable=False)
    assert (scored.verdict, scored.rule) == (verdict, rule)


def test_any_value_of_a_group_meets_it_and_all_groups_must_be_met() -> None:
    """Groups are all-of, the values in one are any-of."""
    groups = [["¥3,000", "3000円"], ["Kestrel", "ケストレル"]]

    def scored(answer: str) -> LiteralVerdict:
        return score_literal(question="?", kind="list", expect=groups, forbid=[], answer=answer)

    assert scored("ケストレルは三千円").matched == ("¥3,000", "ケストレル")
    assert scored("ケストレルは三千円").verdict == "pass"
    assert scored("ケストレルです").verdict == "fail"


def test_an_answer_in_the_words_of_the_question_counts_where_it_chooses() -> None:
    """ "A or B?" is answered by A; an echo of the question without a choice is no answer."""
    question = "Is the project Kestrel or Falcon?"
    assert verdict_of("Kestrel", ["Kestrel"], question=question).verdict == "pass"
    assert verdict_of("The project is.", ["Osprey"], question=question).rule == "echoes_question"


@pytest.mark.parametrize(
    ("answer", "verbose"),
    [
        ("word " * VERBOSE_WORDS, False),
        ("word " * (VERBOSE_WORDS + 1), True),
        ("あ" * (3 * VERBOSE_WORDS), False),
        ("あ" * (3 * VERBOSE_WORDS + 1), True),
        ("가" * (3 * VERBOSE_WORDS + 1), True),
        ("word " * 60 + "赤", False),  # a long English answer with one Han letter stays English
        ("word " * 60 + "あ" * 120, True),
        ("", False),
    ],
)
def test_length_is_measured_in_the_script_of_the_answer(answer: str, verbose: bool) -> None:
    """Three letters without borders weigh a word; mixed answers add up."""
    assert is_verbose(answer) is verbose


any_answer = st.one_of(
    texts,
    st.text(max_size=60),
    st.lists(
        st.sampled_from([*WORDS, "UNKNOWN", "不明", "maybe", "or", "か", "?", "\x00"]), max_size=12
    ).map(" ".join),
)


@settings(max_examples=50, deadline=None)
@given(
    any_answer,
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), max_size=3),
    st.lists(st.sampled_from(WORDS), max_size=2),
    st.booleans(),
)
def test_every_answer_gets_a_verdict_and_a_pass_holds_its_values(
    answer: str, expect: list[list[str]], forbid: list[str], answerable: bool
) -> None:
    """No text breaks the scorer, and it never passes an answer without the expected values."""
    scored = score_literal(
        question="What about the budget?",
        kind="other",
        expect=expect,
        forbid=forbid,
        answer=answer,
        answerable=answerable,
    )
    assert scored.rule
    if scored.verdict == "pass" and answerable:
        assert values_present(expect, [answer])
        assert not scored.stale
    if scored.verdict == "pass" and not answerable:
        assert scored.abstained


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from([word for word in WORDS if word != "not"]),
    st.sampled_from(["It is not {}.", "{} was dropped", "{}ではありません", "{}이 아닙니다"]),
)
def test_a_denied_value_never_passes(value: str, frame: str) -> None:
    """Whatever the value, an answer that denies it is not a literal pass."""
    assert verdict_of(frame.format(value), [value]).verdict != "pass"


def scored_as(
    question: str, expect: Expect, answer: str, *, kind: str = "other", extract: bool = False
) -> tuple[str, str]:
    """Return verdict and rule of an answer to a question, one value per group."""
    found = score_literal(
        question=question,
        kind=kind,
        expect=[[value] for value in expect],
        forbid=[],
        answer=answer,
        extract=extract,
    )
    return found.verdict, found.rule


@pytest.mark.parametrize(
    ("question", "expect", "answer"),
    [
        ("What is the order number?", "VX-30917", "Omar: order VX-30917, they come from Tartu."),
        ("Which day do the counters go in?", "15 June", "Her wedding is in Bemidji, so 15 June."),
        ("Which food does she hate?", "bananas", "I hate bananas with a passion."),
        ("디버깅할 때 싫어하는 게 뭐였어?", "추측", "추측부터 하는 거 싫어해."),
        ("公開日はいつですか。", "10月14日", "公開は10月14日に変わりました。"),
        ("공개일이 언제죠?", "5월 20일", "공개일은 5월 20일로 바뀌었어요."),
        ("언제까지죠?", "3월 20일", "3월 20일까지만 받을게요."),
        (
            "주문번호가 뭐예요?",
            "MR-77401",
            "주문번호 MR-77401, 올리브색으로 시켰는데 겨자색이 왔대요.",
        ),
        ("How many days is a chunk?", "six days", "Six days each, 27 runs."),
        ("What is the slowest answer?", "412 ms", "No retries, slowest answer 412 ms."),
        ("Who said 'hard to say'?", "Dana", '"Hard to say" was Dana.'),
        ("Which part is it?", "DR-4406", "DR-4406, and a man so that I don't lose the warranty."),
        ("Which variable?", "MIN_FW", "It checks MIN_FW and offers the update below it."),
    ],
)
def test_what_does_not_touch_the_value_raises_no_doubt(
    question: str, expect: str, answer: str
) -> None:
    """Labels, places, feelings that were asked for, a change that ends in the value, other counts."""
    assert scored_as(question, [expect], answer) == ("pass", "value_found")


@pytest.mark.parametrize(
    ("question", "expect", "answer", "rule"),
    [
        ("What does Omar drink?", "tea", "Dana: tea", "other_person_beside"),
        ("What does Omar drink?", "tea", "Tom drinks tea.", "other_person_beside"),
        ("What did Maya give?", "a scarf", "The scarf is from Tom.", "other_person_beside"),
        ("Which food does she like?", "bananas", "She hates bananas.", "taken_back"),
        ("公開日はいつですか。", "10月14日", "10月14日から変わりました。", "negation_near_value"),
        ("공개일이 언제죠?", "5월 20일", "5월 20일이었는데 바뀌었어요.", "change_after_value"),
        ("How many days is a chunk?", "six days", "Six days, then 9.", "other_value_beside"),
        ("How much is it?", "412", "No fees, not 412.", "negation_near_value"),
        ("Who said it?", "Dana", "Hard to say, Dana.", "hedged"),
    ],
)
def test_what_touches_the_value_still_does(
    question: str, expect: str, answer: str, rule: str
) -> None:
    """The same words about the value itself leave it to the judge."""
    assert scored_as(question, [expect], answer) == ("ambiguous", rule)


@pytest.mark.parametrize(
    ("kind", "expect", "answer", "rule"),
    [
        ("decision", "vegetables", "For the rest I see three options:", "says_nothing"),
        ("decision", "裏表紙", "最後のページにも入れられますが、どうしますか。", "says_nothing"),
        ("update", "17席", "サイトに載せるなら新しいほうで。", "no_number"),
        ("wording", "No exceptions on the night shift", "Call me in the morning.", "other_wording"),
    ],
)
def test_an_answer_that_cannot_hold_the_value_fails(
    kind: str, expect: str, answer: str, rule: str
) -> None:
    """A question back, a start without an end, no number, other words where the words were asked."""
    assert scored_as("Which one?", [expect], answer, kind=kind) == ("fail", rule)


def test_a_number_in_other_numerals_is_left_to_the_judge() -> None:
    """十七席 may be 17席, and is no plain miss."""
    assert scored_as("席数は?", ["17席"], "十七席です。")[0] == "ambiguous"


@pytest.mark.parametrize(
    ("kind", "expect", "answer", "read", "quoted"),
    [
        ("preference", "vegetarian", "He never touches meat or fish.", "ambiguous", "fail"),
        ("number", "1,913", "Usually 48,200, today 1,913.", "ambiguous", "pass"),
        ("identifier", "KX-14", "KX-14 is what Noemi wrote about.", "ambiguous", "pass"),
        ("speaker", "Omar", "The crew is me, Omar and Lotte.", "ambiguous", "ambiguous"),
        ("decision", "teal", "We talked of teal, I suggested it.", "ambiguous", "ambiguous"),
        ("number", "$500", "Not $500.", "ambiguous", "ambiguous"),
        ("number", "$500", "It is $500.", "pass", "pass"),
    ],
)
def test_a_quoted_sentence_rewords_nothing(
    kind: str, expect: str, answer: str, read: str, quoted: str
) -> None:
    """Of a reader that only quotes, a sentence without the value is a miss, with it the statement."""
    question = "What is it?"
    assert scored_as(question, [expect], answer, kind=kind)[0] == read
    assert scored_as(question, [expect], answer, kind=kind, extract=True)[0] == quoted
