"""From an answer to an outcome: the literal rules first, the judge where they leave it open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxeng.core.errors import EmptyAnswer, LimitReached, ModelUnavailable
from ctxeng.harness.replay.asking import Answered, Failed, NotAsked, Refused
from ctxeng.harness.replay.plan import Readers
from ctxeng.harness.replay.verdicts import Scored, audited, only_extracts, score
from ctxeng.harness.scoring.judge import JudgeVerdict, judge_request
from tests.harness.attribution.made import probe
from tests.harness.replay.scripted import Scripted, readers

STATED = replace(
    probe((7, 8), expect=(("¥3,000",),)),
    question="予算はいくら？",
    forbid=("5000円",),
    language="ja",
)
ABSENT = replace(probe(expect=(), answerable=False), question="誰が払う？")
CORRECT = {"verdict": "correct", "reason": "値が一致"}


async def scored(
    text: str, setting: Readers, *, audit: bool = False, asked: object = STATED
) -> Scored:
    """Score an answer to a probe."""
    return await score(
        asked,  # type: ignore[arg-type]
        Answered(text=text),
        setting,
        asked_on="2024-03-15",
        audit=audit,
        replicate=1,
    )


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("三千円です", "recalled"),
        ("30000円です", "missed"),
        ("不明です", "abstained"),
        ("5000円です", "stale"),
    ],
)
async def test_a_plain_answer_never_costs_a_judge(text: str, outcome: str) -> None:
    """What the literal rules decide is not asked about again."""
    judge = Scripted()
    found = await scored(text, readers(judge=judge))
    assert (found.outcome, found.judged_by) == (outcome, "literal")
    assert (found.answer, found.judge, found.audited) == (text, None, False)
    assert judge.requests == []


async def test_an_ambiguous_answer_goes_to_the_judge() -> None:
    """The judge is shown the probe, the answer and the reader's date, and decides."""
    judge = Scripted(CORRECT)
    found = await scored("たぶん3000円", readers(judge=judge, extra={"judge": {"temperature": 0}}))
    assert (found.outcome, found.judged_by) == ("recalled", "judge")
    assert found.judge == JudgeVerdict(verdict="correct", reason="値が一致")
    assert found.literal is not None
    assert found.literal.rule == "hedged"
    expected = judge_request(
        STATED,
        "たぶん3000円",
        model="judge-model",
        asked_on="2024-03-15",
        replicate=1,
        extra={"temperature": 0},
    )
    assert judge.requests == [expected]


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("correct", "recalled"),
        ("incorrect", "missed"),
        ("abstained", "abstained"),
        ("undecided", "undecided"),
    ],
)
async def test_the_judges_word_becomes_the_outcome(said: str, outcome: str) -> None:
    """Undecided stays undecided, it is no miss."""
    found = await scored("たぶん3000円", readers(judge=Scripted({"verdict": said})))
    assert found.outcome == outcome


async def test_without_a_judge_an_ambiguous_answer_stays_open() -> None:
    """Nobody decided, and nobody is named."""
    found = await scored("たぶん3000円", readers())
    assert (found.outcome, found.judged_by, found.judge) == ("undecided", None, None)


@pytest.mark.parametrize(
    "said", [ModelUnavailable("529"), EmptyAnswer("no text"), {"verdict": "yes"}, None]
)
async def test_a_judge_that_fails_leaves_the_answer_open_and_is_named(said: object) -> None:
    """Errors and malformed verdicts are told in the cell, never read as incorrect."""
    found = await scored("たぶん3000円", readers(judge=Scripted(said)))  # type: ignore[arg-type]
    assert (found.outcome, found.judge) == ("undecided", None)
    assert found.error is not None
    assert found.error.startswith("judge ")


async def test_a_limit_stops_the_run() -> None:
    """A budget on calls is no verdict."""
    with pytest.raises(LimitReached):
        await scored("たぶん3000円", readers(judge=Scripted(LimitReached("max calls"))))


async def test_an_audit_is_kept_and_changes_no_outcome() -> None:
    """The judge contradicts a literal pass: the pass stays, the contradiction is on record."""
    judge = Scripted({"verdict": "incorrect"})
    found = await scored("三千円です", readers(judge=judge), audit=True)
    assert (found.outcome, found.judged_by, found.audited) == ("recalled", "literal", True)
    assert found.judge == JudgeVerdict(verdict="incorrect")
    assert len(judge.requests) == 1


async def test_an_ambiguous_answer_is_no_audit() -> None:
    """The audit sample estimates errors of literal passes and fails alone."""
    found = await scored("たぶん3000円", readers(judge=Scripted(CORRECT)), audit=True)
    assert (found.judged_by, found.audited) == ("judge", False)


async def test_a_failed_audit_leaves_the_outcome_alone() -> None:
    """The judge was down: the literal verdict stands, the failure is told."""
    judge = Scripted(ModelUnavailable("529"))
    found = await scored("三千円です", readers(judge=judge), audit=True)
    assert (found.outcome, found.error) == ("recalled", "judge ModelUnavailable: 529")


@pytest.mark.parametrize(
    ("text", "outcome"), [("UNKNOWN", "recalled"), ("佐伯さんです", "fabricated")]
)
async def test_an_absent_fact_is_recalled_by_abstaining(text: str, outcome: str) -> None:
    """Where nothing was stated, any assertion is made up."""
    assert (await scored(text, readers(), asked=ABSENT)).outcome == outcome


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (NotAsked(), Scored(outcome="skipped")),
        (Refused(reason="no"), Scored(outcome="refused", error="no")),
        (Failed(error="EmptyAnswer: x"), Scored(outcome="error", error="EmptyAnswer: x")),
    ],
)
async def test_what_is_no_answer_is_not_scored(asked: object, expected: Scored) -> None:
    """Skips, refusals and errors keep their own outcome and ask no judge, audit or not."""
    judge = Scripted()
    found = await score(
        STATED,
        asked,
        readers(judge=judge),
        asked_on=None,
        audit=True,
        replicate=0,  # type: ignore[arg-type]
    )
    assert found == expected
    assert judge.requests == []


def sample(share: float, *, seed: int = 0, arm: str = "episodes") -> set[str]:
    """Return which of 1,000 probes belong to the audit sample."""
    probes = (replace(STATED, probe_id=f"p{i}") for i in range(1000))
    return {p.probe_id for p in probes if audited(p, arm=arm, share=share, seed=seed)}


def test_the_audit_sample_has_its_share_and_is_fixed_by_the_seed() -> None:
    """A tenth of 1,000 is within four standard errors of 100, and always the same tenth."""
    tenth = sample(0.1)
    assert abs(len(tenth) - 100) < 4 * (1000 * 0.1 * 0.9) ** 0.5
    assert sample(0.1) == tenth
    assert sample(0.1, seed=1) != tenth
    assert sample(0.1, arm="rolling") != tenth


def test_a_larger_audit_holds_the_smaller_one() -> None:
    """Raising the share adds cells and asks about none anew."""
    assert sample(0.1) < sample(0.3) < sample(1.0)


def test_the_edges_of_the_audit_share() -> None:
    """Nothing at 0, everything at 1."""
    assert sample(0.0) == set()
    assert len(sample(1.0)) == 1000


@pytest.mark.parametrize(
    ("models", "extracts"),
    [
        ({"reader": "offline", "summariser": "offline", "distiller": None}, True),
        ({"reader": "offline", "summariser": "offline", "distiller": "offline"}, True),
        ({"reader": "offline", "summariser": "claude-haiku-4-5", "distiller": None}, False),
        ({"reader": "offline", "summariser": "offline", "distiller": "claude-haiku-4-5"}, False),
        ({"reader": "claude-haiku-4-5", "summariser": "offline", "distiller": None}, False),
        ({}, False),
    ],
)
def test_answers_are_extracts_where_nobody_can_reword(
    models: dict[str, str | None], extracts: bool
) -> None:
    """One model that writes in its own words, and an answer may be a rewording."""
    assert only_extracts(models) is extracts


async def test_an_extract_without_the_value_is_a_miss_and_a_rewording_is_not() -> None:
    """The same answer is missed where the reader only quotes, and open where it may reword."""
    asked = replace(probe((7, 8), expect=(("vegetarian",),)), kind="preference")
    text = "He never touches meat or fish."
    quoted = await scored(text, readers(extract=True), asked=asked)
    reworded = await scored(text, readers(), asked=asked)
    assert (quoted.outcome, reworded.outcome) == ("missed", "undecided")
