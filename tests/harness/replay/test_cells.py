"""One row of the cells table, from a prompt and an answer put together by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay.cells import Geometry, cell_row, measure, shown_history
from ctxeng.harness.replay.plan import Arm
from ctxeng.harness.replay.unit import Built, Played
from ctxeng.harness.replay.verdicts import Scored
from ctxeng.harness.results.tables import CELLS
from ctxeng.harness.scoring.judge import JudgeVerdict
from ctxeng.harness.scoring.literal import LiteralVerdict
from tests.harness.attribution.made import artifact, context, left, made_of, messages, probe, raw

SAID = tuple(messages(20, m7="予算は三千円にしましょう", m8="了解"))
ASKED = probe((7, 8), expect=(("¥3,000",),), language="ja", category="2")
EPISODES = [artifact("episode", 0, 5, "hello"), artifact("episode", 6, 11, "予算: 3,000円")]
LOSSY = [EPISODES[0], artifact("episode", 6, 11, "weather")]
ARM = Arm(
    name="episodes", settings=StrategySettings.model_validate({"episodes": {"enabled": True}})
)
GEOMETRY = Geometry(
    bucket="boundary", distilled=True, tail=False, full_tokens=200, full_seqs=tuple(range(20))
)
LITERAL = LiteralVerdict(verdict="ambiguous", rule="hedged", matched=("¥3,000",))
RECALLED = Scored(
    outcome="recalled",
    judged_by="judge",
    literal=LITERAL,
    judge=JudgeVerdict(verdict="correct"),
    answer="たぶん3000円",
)
MISSED = Scored(outcome="missed", judged_by="literal", answer="5000円")


def row_of(
    built: Context,
    artifacts: Sequence[Artifact] = EPISODES,
    *,
    asked: Probe = ASKED,
    scored: Scored = RECALLED,
    geometry: Geometry = GEOMETRY,
) -> dict[str, Any]:
    """Return the cell of a prompt built at its own ``as_of``."""
    played = Played(
        conversation_id="c",
        parts=None,  # type: ignore[arg-type]  # nothing is built here
        messages=SAID,
        artifacts=tuple(artifacts),
        failures=(),
    )
    prompt = Built(probe=asked, context=built, as_of=built.as_of, now=None, build_seconds=0.01)
    return cell_row(ARM, played, measure(played, prompt), geometry, scored)


def test_a_cell_holds_everything_measured_about_one_probe() -> None:
    """Every column by hand: nine messages after the evidence are seen, ten tokens each."""
    shown = context(*(made_of(e) for e in EPISODES), *(raw(s) for s in range(12, 18)), as_of=17)
    assert row_of(shown) == {
        "probe_id": "p",
        "kind": "number",
        "category": "2",
        "language": "ja",
        "answerable": True,
        "bucket": "boundary",
        "arm_bucket": "interior",
        "distilled": True,
        "tail": False,
        "retrieved": False,
        "evicted": False,
        "depth": 7 / 17,
        "tokens_from_end": 90,
        "rounds": 1,
        "value_in_context": True,
        "evidence_in_context": 0.0,
        "value_in_artifact": True,
        "outcome": "recalled",
        "literal_verdict": "ambiguous",
        "literal_rule": "hedged",
        "verbose": False,
        "judge_verdict": "correct",
        "judged_by": "judge",
        "audited": False,
        "answer": "たぶん3000円",
        "error": None,
        "loss_stage": None,
        "context_tokens": 83,
        "full_tokens": 200,
        "differs_from_full": True,
    }


def test_every_column_of_a_cell_is_one_of_the_table() -> None:
    """Run, arm, session and replicate are added by the runner; nothing else is missing."""
    added = {
        "run_id", "arm", "is_control", "session_id", "replicate", "summariser_replicate",
        "reader_replicate", "judge_replicate",
    }  # fmt: skip
    assert set(row_of(context())) == set(CELLS) - added


def test_the_bucket_is_the_reference_arms_and_the_arms_own_stands_beside_it() -> None:
    """An arm that keeps everything raw is still scored in the reference arm's bucket."""
    row = row_of(context(*(raw(s) for s in range(20)), as_of=19), ())
    assert (row["bucket"], row["arm_bucket"]) == ("boundary", "recent")


def test_the_arms_own_bucket_is_by_its_own_seams() -> None:
    """A fact within one episode of the reference lies across two of an arm with another grid."""
    shifted = [artifact("episode", 0, 7, "hello"), artifact("episode", 8, 11, "weather")]
    inside = replace(GEOMETRY, bucket="interior")
    row = row_of(context(), shifted, scored=MISSED, geometry=inside)
    assert (row["bucket"], row["arm_bucket"]) == ("interior", "boundary")
    row = row_of(context(), EPISODES, scored=MISSED, geometry=inside)
    assert (row["bucket"], row["arm_bucket"]) == ("interior", "interior")


def test_artifacts_that_are_not_visible_yet_are_not_measured() -> None:
    """A late summary covers nothing at the time of the question."""
    late = [artifact("episode", 6, 11, "3,000円", visible_from_seq=18)]
    row = row_of(context(as_of=17), late, scored=MISSED)
    assert (row["arm_bucket"], row["rounds"], row["value_in_artifact"]) == ("gap", 0, None)
    assert row["loss_stage"] == "never_reached", "written at 18, asked at 17"


@pytest.mark.parametrize(
    ("outcome", "stage"),
    [
        ("missed", "lost_in_summary"),
        ("abstained", "lost_in_summary"),
        ("stale", "lost_in_summary"),
        ("undecided", "lost_in_summary"),
        ("skipped", "lost_in_summary"),
        ("recalled", None),
        ("error", None),
        ("refused", None),
    ],
)
def test_a_failed_call_is_no_loss(outcome: Any, stage: str | None) -> None:
    """Errors and refusals are not traced; a guess that was right lost nothing."""
    row = row_of(context(made_of(LOSSY[1])), LOSSY, scored=Scored(outcome=outcome))
    assert row["loss_stage"] == stage


@pytest.mark.parametrize(
    ("outcome", "stage"),
    [("missed", "reader_missed"), ("recalled", None), ("undecided", None), ("skipped", None)],
)
def test_in_context_and_missed_is_the_readers_fault(outcome: Any, stage: str | None) -> None:
    """Only a decided miss blames the reader."""
    row = row_of(context(made_of(EPISODES[1])), scored=Scored(outcome=outcome))
    assert (row["value_in_context"], row["loss_stage"]) == (True, stage)


def test_a_paraphrased_answer_blames_no_summary() -> None:
    """Where the expected words are not in the evidence, no summary can be said to have lost them."""
    asked = probe((7, 8), expect=(("a cheap lunch",),))
    assert (
        row_of(context(made_of(LOSSY[1])), LOSSY, asked=asked, scored=MISSED)["loss_stage"] is None
    )
    raw_too = context(raw(7), raw(8))
    assert row_of(raw_too, LOSSY, asked=asked, scored=MISSED)["loss_stage"] == "reader_missed"


def test_without_a_reader_the_score_columns_are_empty() -> None:
    """In-context runs have no verdict, no answer and no judge."""
    row = row_of(context(), scored=Scored(outcome="skipped"))
    empty = ("literal_verdict", "literal_rule", "verbose", "judge_verdict", "judged_by", "answer")
    assert {name: row[name] for name in empty} == dict.fromkeys(empty)


def test_flags_are_those_of_the_prompt() -> None:
    """Retrieved and evicted are read from the arm's own prompt."""
    assert row_of(context(raw(7, "retrieved"), as_of=17))["retrieved"] is True
    assert row_of(context(left_out=[left(raw(7), "over_budget")]))["evicted"] is True


WHOLE = [raw(seq) for seq in range(20)]


@pytest.mark.parametrize(
    ("built", "differs"),
    [
        (context(*WHOLE), False),
        (context(*WHOLE[1:]), True),
        (context(*(raw(s, "tail") for s in range(5)), *WHOLE[5:]), False),
        (context(*WHOLE, raw(7, "pinned")), True),
        (context(*WHOLE[:19], raw(19, shortened=True)), True),
        (context(made_of(EPISODES[0]), *WHOLE), True),
        (context(), True),
    ],
)
def test_a_prompt_equals_the_whole_history_only_if_it_shows_all_of_it_raw(
    built: Context, differs: bool
) -> None:
    """An idle arm is one whose prompts do not differ; a cut message is a difference."""
    assert row_of(built)["differs_from_full"] is differs


def test_the_history_shown_is_empty_where_artifacts_stand_for_it() -> None:
    """Raw messages are listed in the order shown, and only if there is nothing else."""
    assert shown_history(context(raw(3), raw(1, "pinned"))) == (3, 1)
    assert shown_history(context(raw(3), made_of(EPISODES[0]))) == ()
    assert shown_history(context()) == ()
