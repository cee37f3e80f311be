"""What one prompt holds of one probe. Prompts and artifacts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxeng.core.context import Block, Context
from ctxeng.harness.probes.coverage import depth
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay.measures import (
    InContext,
    evidence_share,
    in_context,
    is_literal,
    rounds,
    tokens_from_end,
)
from tests.harness.attribution.made import artifact, context, made_of, messages, probe, raw

FACT = "予算は三千円にしましょう"
SAID = messages(20, m7=FACT, m8="了解")
ASKED = probe((7, 8), expect=(("¥3,000",),))
HOLDING = artifact("episode", 6, 11, "予算: 3,000円")
LOSSY = artifact("episode", 6, 11, "weather")


def held(asked: Probe, built: Context, *visible: object) -> InContext:
    """Return what a prompt holds of a probe."""
    return in_context(asked, built, SAID, list(visible))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("block", "present"),
    [
        (raw(7, text=FACT), True),
        (raw(7, "tail", FACT), True),
        (raw(7, "retrieved", FACT), True),
        (raw(7, "pinned", FACT), True),
        (made_of(HOLDING), True),
        (made_of(artifact("memory", 0, 11, "- budget 3000円")), True),
        (made_of(LOSSY), False),
        (raw(3, text="予算は3000円ではありません"), True),
        (raw(3, text="30000円"), False),
        (Block(kind="system", text=FACT, tokens=5), False),
        (Block(kind="question", text=FACT, tokens=5), False),
    ],
)
def test_a_value_is_in_context_when_a_block_of_history_holds_it(
    block: Block, present: bool
) -> None:
    """Any history block counts, by value and without regard to denial; system and question do not."""
    assert held(ASKED, context(block)).value is present


def test_groups_may_be_met_in_different_blocks() -> None:
    """A list is in context when the prompt as a whole holds every item."""
    asked = probe((7, 8), expect=(("¥3,000",), ("Kestrel",)))
    split = context(made_of(HOLDING), raw(12, text="Kestrelです"))
    assert held(asked, split).value is True
    assert held(asked, context(made_of(HOLDING))).value is False


@pytest.mark.parametrize(
    "asked",
    [probe((7, 8), answerable=False), probe((7, 8), expect=()), probe(expect=(), answerable=False)],
)
def test_without_a_value_presence_is_undefined(asked: Probe) -> None:
    """None is "not defined here", never a miss."""
    found = held(asked, context(raw(7, text=FACT)), HOLDING)
    assert found.value is None
    assert found.value_in_artifact is None


@pytest.mark.parametrize(
    ("blocks", "share"),
    [
        ([], 0.0),
        ([raw(7)], 0.5),
        ([raw(7), raw(8, "tail")], 1.0),
        ([raw(7, "retrieved"), raw(8, "pinned")], 1.0),
        ([raw(7), raw(7, "retrieved")], 0.5),
        ([made_of(HOLDING)], 0.0),
        ([raw(9)], 0.0),
    ],
)
def test_the_evidence_share_counts_messages_in_their_own_words(
    blocks: list[Block], share: float
) -> None:
    """Artifacts stand for messages and are none of them."""
    assert evidence_share(ASKED, context(*blocks)) == share


def test_an_absent_fact_has_no_evidence_share() -> None:
    """No evidence: None, not 0."""
    assert evidence_share(probe(expect=(), answerable=False), context(raw(7))) is None


@pytest.mark.parametrize(
    ("blocks", "present"),
    [
        ([raw(7), raw(8)], True),
        ([raw(7, "pinned"), raw(8, "pinned")], True),
        ([raw(8)], False),  # the acknowledgement alone does not tell who said it
        ([made_of(artifact("episode", 6, 11, "佐伯 set the budget"))], True),
        ([made_of(artifact("episode", 6, 11, "they set the budget"))], False),
        ([made_of(artifact("episode", 12, 17, "佐伯 joined"))], False),
        ([raw(12, text="佐伯 joined")], False),
    ],
)
def test_who_said_it_is_in_context_with_its_message_or_a_summary_that_names_him(
    blocks: list[Block], present: bool
) -> None:
    """The name somewhere else in the prompt says nothing about who said this."""
    asked = probe((7, 8), expect=(("佐伯",),), kind="speaker")
    assert held(asked, context(*blocks)).value is present


@pytest.mark.parametrize(
    ("visible", "present"),
    [
        ([], None),
        ([HOLDING], True),
        ([LOSSY], False),
        ([LOSSY, artifact("rolling", 0, 11, "3000円")], True),
        ([artifact("episode", 12, 17, "3000円")], None),
        ([artifact("episode", 0, 7, "3000円")], True),
    ],
)
def test_a_covering_artifact_holds_the_value_or_not(
    visible: list[object], present: bool | None
) -> None:
    """Undefined where nothing covers the evidence; another range's words do not count."""
    assert held(ASKED, context(), *visible).value_in_artifact is present


def test_a_paraphrased_answer_cannot_be_looked_for_in_artifacts() -> None:
    """Where the evidence itself does not hold the value, its absence from a summary says nothing."""
    asked = replace(ASKED, expect=(("three lunches",),))
    assert not is_literal(asked, SAID)
    assert held(asked, context(), HOLDING).value_in_artifact is None
    assert is_literal(ASKED, SAID)


@pytest.mark.parametrize(
    ("span", "last", "where"),
    [((0, 1), 10, 0.0), ((5, 6), 10, 0.5), ((10, 10), 10, 1.0), ((12, 13), 10, 1.0)],
)
def test_depth_is_where_the_statement_begins(
    span: tuple[int, int], last: int, where: float
) -> None:
    """0 at the start of the session, 1 at its end and never more."""
    assert depth(probe(span), last) == where


def test_depth_is_undefined_without_evidence_or_in_a_session_of_one_message() -> None:
    """There is no middle of nothing."""
    assert depth(probe(expect=(), answerable=False), 10) is None
    assert depth(probe((0, 0)), 0) is None
    assert depth(probe((0, 0)), -1) is None


def test_the_distance_from_the_end_is_the_tokens_after_the_statement() -> None:
    """Ten tokens a message, eleven messages after seq 8; uncounted messages weigh nothing."""
    assert tokens_from_end(ASKED, SAID) == 110
    assert tokens_from_end(probe((18, 19)), SAID) == 0
    assert tokens_from_end(ASKED, [m.with_(tokens=None) for m in SAID]) == 0
    assert tokens_from_end(probe(expect=(), answerable=False), SAID) is None


@pytest.mark.parametrize(("as_of", "count"), [(0, 0), (11, 0), (12, 1), (18, 2), (40, 4)])
def test_rounds_are_the_compactions_the_fact_went_through(as_of: int, count: int) -> None:
    """Every visible artifact that covers the statement was one more rewriting."""
    artifacts = [
        artifact("episode", 6, 11),
        artifact("rolling", 0, 17),
        artifact("rolling", 0, 29, version=2),
        artifact("memory", 0, 29),
        artifact("episode", 12, 17),
        artifact("memory", 0, 59, version=2),
    ]
    assert rounds(ASKED, artifacts, as_of) == count


def test_a_fact_that_was_never_stated_went_through_no_rounds() -> None:
    """Undefined, not 0."""
    assert rounds(probe(expect=(), answerable=False), [HOLDING], 99) is None
