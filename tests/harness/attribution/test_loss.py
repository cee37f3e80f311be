"""The loss stage: every stage is planted by hand in what an arm stored and what it built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import pytest

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.attribution.loss import STAGES, LossStage, Trace, loss_stage
from ctxeng.harness.probes.model import Probe
from tests.harness.attribution.made import artifact, context, left, made_of, probe, raw

FACT = "予算は $500 に決定"
NOTHING = "They talked about the weather."
AT = probe((7, 8))

PLAIN = StrategySettings()
LATE = StrategySettings.model_validate({"compaction": {"lag_messages": 40}})
SEARCHING = StrategySettings.model_validate({"retrieval": {"enabled": True}})


def stage_of(
    built: Context,
    artifacts: Sequence[Artifact] = (),
    *,
    asked: Probe = AT,
    settings: StrategySettings = PLAIN,
    right: bool | None = False,
    present: bool = False,
    **changes: Any,
) -> LossStage | None:
    """Return the loss stage of a fact that is not in the prompt and was not recalled."""
    return loss_stage(
        Trace(
            probe=asked,
            context=built,
            artifacts=artifacts,
            settings=settings,
            value_in_context=present,
            right=right,
            **changes,
        )
    )


def searched(*found: int, retrieve: bool = True) -> dict[str, Any]:
    """Return the record of a search that found groups of these messages."""
    groups = [{"seqs": [seq], "matched": [seq], "score": 1.0} for seq in found]
    return {"retrieve": retrieve, "groups": groups}


EPISODE = artifact("episode", 6, 11, FACT)
LOSSY = artifact("episode", 6, 11, NOTHING)
OTHER = artifact("episode", 0, 5, FACT)
MEMORY = artifact("memory", 0, 11, f"- [constraint] {FACT}")
FORGETFUL = artifact("memory", 0, 11, "- [preference] likes blue")


def test_a_fact_in_context_that_was_not_recalled_is_the_readers_fault() -> None:
    """In the prompt and answered wrongly: compaction did its part."""
    assert stage_of(context(made_of(EPISODE)), [EPISODE], present=True) == "reader_missed"


@pytest.mark.parametrize(("present", "right"), [(True, True), (True, None), (False, True)])
def test_a_fact_that_was_not_lost_has_no_stage(present: bool, right: bool | None) -> None:
    """Recalled, or in context with nobody asked: nothing was lost."""
    assert stage_of(context(), [LOSSY], present=present, right=right) is None


@pytest.mark.parametrize(
    "asked",
    [
        probe((7, 8), answerable=False),
        probe((7, 8), expect=()),
        probe(),
    ],
)
def test_without_a_value_or_evidence_nothing_can_be_said(asked: Probe) -> None:
    """An absent fact has no way into the prompt to be followed."""
    assert stage_of(context(), [LOSSY], asked=asked) is None


def test_a_stage_is_known_without_a_reader() -> None:
    """In-context runs ask nobody and still say where a fact was lost."""
    assert stage_of(context(made_of(LOSSY)), [LOSSY], right=None) == "lost_in_summary"


def test_never_reached() -> None:
    """Nothing covers the evidence and nothing brought it back."""
    assert stage_of(context(made_of(OTHER)), [OTHER]) == "never_reached"


def test_lost_in_summary() -> None:
    """The artifact that stands for the evidence does not hold the value."""
    assert stage_of(context(made_of(LOSSY)), [OTHER, LOSSY]) == "lost_in_summary"


@pytest.mark.parametrize("kind", ["rolling", "node", "episode"])
def test_every_kind_of_artifact_can_lose_a_fact_in_its_summary(kind: Any) -> None:
    """Rolling versions, nodes and episodes are followed alike."""
    summary = artifact(kind, 0, 11, NOTHING)
    assert stage_of(context(made_of(summary)), [summary]) == "lost_in_summary"


def test_lost_in_rewrite_of_a_rolling_summary() -> None:
    """The first version held the value, the one that is shown does not."""
    first = artifact("rolling", 0, 9, FACT, superseded_from_seq=20, status="superseded")
    second = artifact("rolling", 0, 19, NOTHING, version=2)
    assert stage_of(context(made_of(second)), [second, first]) == "lost_in_rewrite"


def test_lost_in_rewrite_of_a_higher_level() -> None:
    """The chunk held the value, its parent took its place and does not."""
    chunk = artifact("node", 0, 11, FACT)
    parent = artifact("node", 0, 35, NOTHING, level=1, parents=(chunk.artifact_id,))
    assert stage_of(context(made_of(parent)), [parent, chunk]) == "lost_in_rewrite"


def test_lost_in_rewrite_of_a_second_generation() -> None:
    """An episode that was written again without the value lost it in the rewrite."""
    again = artifact("episode", 6, 11, NOTHING, version=2)
    assert stage_of(context(made_of(again)), [EPISODE, again]) == "lost_in_rewrite"


def test_a_later_rewrite_cannot_have_lost_what_was_asked_before_it() -> None:
    """A version that becomes visible after the question was asked plays no part."""
    first = artifact("rolling", 0, 9, FACT, visible_from_seq=60)
    second = artifact("rolling", 0, 49, NOTHING, version=2, visible_from_seq=70)
    assert stage_of(context(as_of=50), [first, second], settings=LATE) == "not_loaded"
    assert stage_of(context(as_of=29), [first, second], settings=LATE) == "not_loaded"


def test_lost_in_distillation() -> None:
    """The episode held the value and gave way to a memory that does not."""
    built = context(made_of(FORGETFUL), left_out=[left(made_of(EPISODE), "folded")])
    assert stage_of(built, [EPISODE, FORGETFUL]) == "lost_in_distillation"


def test_lost_in_a_second_distillation() -> None:
    """The first snapshot held the value, the second dropped it."""
    second = artifact("memory", 0, 11, "- [preference] likes blue", version=2)
    built = context(made_of(second), left_out=[left(made_of(EPISODE), "folded")])
    assert stage_of(built, [EPISODE, MEMORY, second]) == "lost_in_distillation"


def test_what_the_episode_lost_was_not_lost_in_distillation() -> None:
    """Memory is made of episodes: where they lacked the value, the summary lost it."""
    built = context(made_of(FORGETFUL), left_out=[left(made_of(LOSSY), "folded")])
    assert stage_of(built, [LOSSY, FORGETFUL]) == "lost_in_summary"


@pytest.mark.parametrize(
    "hidden",
    [
        artifact("episode", 6, 11, FACT, visible_from_seq=120),
        artifact("episode", 6, 11, FACT, status="stale"),
        artifact("rolling", 0, 11, FACT, visible_from_seq=100),
        artifact("memory", 0, 11, FACT, visible_from_seq=100),
    ],
)
def test_not_loaded(hidden: Artifact) -> None:
    """An artifact that holds the value but is late, or stale, was not there to be loaded."""
    assert stage_of(context(), [hidden], settings=LATE) == "not_loaded"


@pytest.mark.parametrize("lag", [0, 20])
def test_what_was_written_after_the_question_had_not_been_reached(lag: int) -> None:
    """Asked at 50, compacted at 60: no compactor had seen the message when the question came."""
    written = artifact("episode", 6, 11, FACT, visible_from_seq=60 + lag)
    settings = StrategySettings.model_validate({"compaction": {"lag_messages": lag}})
    assert stage_of(context(as_of=50), [written], settings=settings) == "never_reached"


def test_an_artifact_that_is_never_shown_is_not_loaded() -> None:
    """Without a lag that ends, an artifact counts as written once its range has passed."""
    hidden = artifact("episode", 6, 11, FACT, visible_from_seq=2**62)
    settings = StrategySettings.model_validate({"compaction": {"lag_messages": None}})
    assert stage_of(context(as_of=50), [hidden], settings=settings) == "not_loaded"
    assert stage_of(context(as_of=10), [hidden], settings=settings) == "never_reached"


def test_words_cut_from_a_compactors_input_never_reached_it() -> None:
    """The message was shortened to fit the summariser, and the value fell in the hole."""
    without = {LOSSY.artifact_id: {7: "予算は […cut…]"}}
    within = {LOSSY.artifact_id: {7: f"{FACT} […cut…]"}}
    built = context(made_of(LOSSY))
    said = {7: f"予算は {FACT}", 8: "了解"}
    assert stage_of(built, [LOSSY], cut=without, evidence=said) == "never_reached"
    assert stage_of(built, [LOSSY], cut=within, evidence=said) == "lost_in_summary"


def test_a_neighbour_of_the_statement_is_not_the_statement() -> None:
    """The search found the acknowledgement, which does not say the value."""
    built = context(raw(8, "retrieved"), retrieval=searched(8))
    said = {7: FACT, 8: "了解"}
    assert stage_of(built, settings=SEARCHING, evidence=said) == "not_retrieved"
    cut = context(left_out=[left(raw(7, "retrieved"), "over_budget")], retrieval=searched(7, 8))
    assert stage_of(cut, settings=SEARCHING, evidence=said) == "over_budget"


def test_the_statement_alone_is_followed_through_summaries() -> None:
    """Lost where it was said; that the acknowledgement's episode was cut is another matter."""
    asked = probe((5, 6))
    first, second = artifact("episode", 0, 5, NOTHING), artifact("episode", 6, 11, NOTHING)
    built = context(made_of(first), left_out=[left(made_of(second), "over_budget")])
    assert stage_of(built, [first, second], asked=asked, evidence={5: FACT, 6: "ok"}) == (
        "lost_in_summary"
    )


def test_a_summary_that_says_it_in_other_words_did_not_lose_it() -> None:
    """A judge found the fact in the artifact: shown, the reader had it; cut, the budget took it."""
    told = frozenset({LOSSY.artifact_id})
    shown, cut = context(made_of(LOSSY)), context(left_out=[left(made_of(LOSSY), "over_budget")])
    assert stage_of(shown, [LOSSY], paraphrased=told) == "reader_missed"
    assert stage_of(shown, [LOSSY], paraphrased=told, right=None) is None
    assert stage_of(cut, [LOSSY], paraphrased=told) == "over_budget"
    assert stage_of(cut, [LOSSY], paraphrased=told, literal=False) == "over_budget"


def test_gated() -> None:
    """The gate kept a search from being made."""
    built = context(retrieval=searched(retrieve=False))
    assert stage_of(built, settings=SEARCHING) == "gated"
    assert stage_of(context(), settings=SEARCHING) == "gated"


def test_not_retrieved() -> None:
    """The search was made and found other messages."""
    built = context(raw(3, "retrieved"), retrieval=searched(3, 4))
    assert stage_of(built, settings=SEARCHING) == "not_retrieved"


def test_without_retrieval_nothing_is_gated() -> None:
    """An arm that does not search cannot lose a fact in its search."""
    assert stage_of(context(retrieval=searched(retrieve=False))) == "never_reached"


def test_deduplicated() -> None:
    """The search found the message, and it was dropped as a copy of another."""
    built = context(left_out=[left(raw(7, "retrieved"), "duplicate")], retrieval=searched(7))
    assert stage_of(built, settings=SEARCHING) == "deduplicated"


@pytest.mark.parametrize(
    "cut",
    [
        left(raw(7, "recent"), "over_budget"),
        left(raw(8, "tail"), "over_budget"),
        left(raw(7, "tail"), "keep_raw"),
        left(raw(7, "retrieved"), "over_budget"),
        left(made_of(EPISODE), "over_budget"),
    ],
)
def test_over_budget(cut: Any) -> None:
    """The value was loaded, raw or in an artifact, and then cut."""
    built = context(left_out=[cut], retrieval=searched(7))
    artifacts = [EPISODE] if cut.artifact_ids else []
    assert stage_of(built, artifacts, settings=SEARCHING) == "over_budget"


def test_memory_over_budget() -> None:
    """Episode and memory both held the value; the memory did not fit."""
    built = context(
        left_out=[left(made_of(EPISODE), "folded"), left(made_of(MEMORY), "over_budget")]
    )
    assert stage_of(built, [EPISODE, MEMORY]) == "over_budget"


def test_a_message_cut_short_lost_its_value_to_the_budget() -> None:
    """Raw in the prompt, but shortened: the budget took the part that mattered."""
    built = context(raw(7, text="予算は […]", shortened=True), raw(8))
    assert stage_of(built) == "over_budget"


def test_every_stage_can_be_reached() -> None:
    """The stages tested above are all there are."""
    assert set(STAGES) == set(get_args(LossStage)) == {
        "never_reached", "lost_in_summary", "lost_in_rewrite", "lost_in_distillation", "not_loaded",
        "gated", "not_retrieved", "deduplicated", "over_budget", "reader_missed",
    }  # fmt: skip


def test_the_furthest_path_counts() -> None:
    """Lost in the rolling summary, in the episode over budget: the budget was the last station."""
    rolling = artifact("rolling", 0, 11, NOTHING)
    built = context(
        made_of(rolling),
        left_out=[left(made_of(EPISODE), "over_budget")],
        retrieval=searched(retrieve=False),
    )
    assert stage_of(built, [rolling, EPISODE], settings=SEARCHING) == "over_budget"
    assert stage_of(built, [rolling, LOSSY], settings=SEARCHING) == "gated"
    assert stage_of(built, [rolling, LOSSY]) == "lost_in_summary"


def test_a_value_split_over_two_episodes_is_followed_piece_by_piece() -> None:
    """Each episode holds one item of a list; the cut one lost its item to the budget."""
    asked = probe((5, 6), expect=(("red",), ("金色",)))
    first, second = artifact("episode", 0, 5, "red"), artifact("episode", 6, 11, "金色")
    built = context(made_of(first), left_out=[left(made_of(second), "over_budget")])
    assert stage_of(built, [first, second], asked=asked) == "over_budget"


def test_an_acknowledgement_without_the_value_does_not_rewrite_it() -> None:
    """The statement's episode holds the value and is late; the next episode was never to hold it."""
    asked = probe((5, 6))
    first = artifact("episode", 0, 5, FACT, visible_from_seq=120)
    second = artifact("episode", 6, 11, NOTHING)
    built = context(made_of(second))
    assert stage_of(built, [first, second], asked=asked, settings=LATE) == "not_loaded"


def test_of_several_lost_values_the_first_lost_one_decides() -> None:
    """One item never got into the summary, another was cut with it: the summary is to blame."""
    asked = probe((7, 8), expect=(("$500",), ("金色",)))
    built = context(left_out=[left(made_of(EPISODE), "over_budget")])
    assert stage_of(built, [EPISODE], asked=asked) == "lost_in_summary"


def test_a_value_that_is_still_there_is_not_followed() -> None:
    """Only what the prompt lacks was lost."""
    asked = probe((7, 8), expect=(("weather",), ("$500",)))
    built = context(made_of(LOSSY), left_out=[left(made_of(EPISODE), "over_budget")])
    assert stage_of(built, [LOSSY, EPISODE], asked=asked) == "over_budget"


def test_evidence_that_stands_raw_was_there_to_be_read() -> None:
    """A paraphrased answer is not literal in its evidence; the reader had it all the same."""
    built = context(raw(7), raw(8))
    assert stage_of(built, literal=False) == "reader_missed"
    assert stage_of(built, literal=False, right=None) is None
    assert stage_of(context(raw(8)), literal=False) == "never_reached"


def test_a_paraphrased_value_is_followed_by_provenance_alone() -> None:
    """No summary can be searched for words that were never said, so none is blamed."""
    assert stage_of(context(made_of(LOSSY)), [LOSSY], literal=False) is None
    cut = context(left_out=[left(raw(7, "tail"), "over_budget")])
    assert stage_of(cut, [LOSSY], literal=False) == "over_budget"
    gated = context(retrieval=searched(retrieve=False))
    assert stage_of(gated, [LOSSY], literal=False, settings=SEARCHING) == "gated"
