"""Economics of an experiment: whose prices, which arms, and the advice they lead to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ctxeng.core.messages import Message, Session
from ctxeng.harness.economics.arms import arm_economics
from ctxeng.harness.economics.turns import Sitting
from ctxeng.harness.experiments.advice import Advice, Lengths, advise, judged, sampled
from ctxeng.harness.experiments.arms import resolve_arms
from ctxeng.harness.experiments.economics import (
    STAND_INS,
    Economics,
    overlap_arms,
    payers_of,
)
from ctxeng.harness.experiments.inputs import Inputs
from ctxeng.harness.experiments.prepared import Prepared
from ctxeng.harness.experiments.schema import ExperimentFile
from tests.harness.economics.made import PAYERS, call, request, sitting


def experiment(**changes: object) -> ExperimentFile:
    """Return an experiment of one three-tier arm."""
    table = {
        "name": "e",
        "sessions": ["s"],
        "probes": ["p"],
        "reference_arm": "tiers",
        "arms": {"tiers": {"strategy": "episodes_memory"}},
        **changes,
    }
    return ExperimentFile.model_validate(table)


def test_the_offline_model_pays_with_the_articles_models() -> None:
    """Its own price is zero, which would make everything free."""
    assert payers_of(experiment()) == STAND_INS


def test_a_priced_model_pays_for_itself_unless_another_is_named() -> None:
    """The distiller is the summariser where none is named."""
    models = {"reader": "claude-haiku-4-5", "summariser": "claude-sonnet-5"}
    found = payers_of(experiment(models=models, economics={"reader": "claude-opus-5"}))
    assert (found.reader, found.summariser, found.distiller) == (
        "claude-opus-5", "claude-sonnet-5", "claude-sonnet-5",
    )  # fmt: skip


def test_overlap_arms_differ_from_the_reference_in_nothing_else(tmp_path: Path) -> None:
    """An arm with another window does not show what overlap costs."""
    file = experiment(
        arms={
            "tiers": {"strategy": "episodes_memory"},
            "wide": {"strategy": "episodes_memory", "episodes": {"overlap": 2}},
            "other": {"strategy": "episodes_memory", "episodes": {"overlap": 0}, "window": {"tokens": 9}},
        },
        controls=["full"],
    )  # fmt: skip
    prepared = Prepared(
        path=tmp_path, workspace=tmp_path, experiment=file, arms=resolve_arms(file),
        inputs=Inputs(sessions=(), probes={}),
    )  # fmt: skip
    assert overlap_arms(prepared) == {1: "tiers", 2: "wide"}


@pytest.mark.parametrize(("size", "kept"), [(2, [4, 9]), (5, [1, 3, 5, 7, 9]), (20, list(range(10)))])  # fmt: skip
def test_a_sample_is_even_over_the_lengths_and_holds_the_longest(size: int, kept: list[int]) -> None:  # fmt: skip
    """Sessions come in order of length."""
    ordered = [session(str(n), 1) for n in range(10)]
    assert [int(s.session_id) for s in sampled(ordered, size)] == kept


def session(name: str, messages: int, text: str = "word") -> Session:
    made = [Message(seq=i, role="user" if i % 2 == 0 else "assistant", content=text) for i in range(messages)]  # fmt: skip
    return Session(session_id=name, messages=tuple(made))


async def test_short_chats_are_told_no_without_playing_them(tmp_path: Path) -> None:
    """No database is started; Japanese counts by the character."""
    sessions = [session("a", 2), session("b", 4, "価格はいくらですか"), session("c", 6)]
    found = await advise(sessions, workspace=tmp_path, payers=PAYERS)
    assert (found.answer, found.found, found.within_window_share) == ("no", None, 1.0)
    assert found.lengths.messages == (2, 4, 5, 6)
    assert "nothing would ever be compacted" in found.reasons[0]
    assert not (tmp_path / ".ctxeng").exists()


LENGTHS = Lengths(messages=(1, 2, 3, 4), tokens=(1, 2, 3, 4))
ABOUT = Advice(sessions=4, lengths=LENGTHS, within_window_share=0.0, answer="no", reasons=())


def economics_of(tokens: dict[str, list[int]], *, reader: str = "claude-sonnet-4-6") -> Economics:
    """Return the economics of sessions of one request each: tokens by arm, the first arm whole."""
    payers = replace(PAYERS, reader=reader)
    played: dict[str, list[Sitting]] = {
        arm: [
            sitting(
                request((f"{arm}{i}", size), seq=5), arm=arm, session=str(i),
                calls=() if arm == "full" else (call(at=1),),
            )
            for i, size in enumerate(sizes)
        ]
        for arm, sizes in tokens.items()
    }  # fmt: skip
    whole = {s.session_id: s for s in played["full"]}
    return Economics(
        name="advice", sessions=len(whole), messages=10, untimed_share=0.0, is_offline=True,
        counter="heuristic", payers=payers, reference_arm="rolling",
        arms=tuple(arm_economics(sittings, whole, payers) for sittings in played.values()),
        claims=(), prices_date="2026-10-25", prices_source="here",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("full", "rolling", "answer", "best"),
    [
        ([9000] * 4, [3000] * 4, "yes", "rolling"),
        ([9000, 500, 500, 500], [1000, 500, 500, 500], "for the long ones", "rolling"),
        ([1000] * 4, [990] * 4, "no", "rolling"),
        ([1000] * 4, [1000] * 4, "no", "rolling"),
    ],
)
def test_the_advice_follows_the_money(full: list[int], rolling: list[int], answer: str, best: str) -> None:  # fmt: skip
    """An episode costs a quarter of a millidollar; what only drops is never advised."""
    tokens = {"full": full, "recent_window": [10] * 4, "rolling": rolling, "episodes": [99_000] * 4}
    found = judged(ABOUT, economics_of(tokens))
    assert (found.answer, found.best) == (answer, best)
    assert found.saved_share is not None
    assert (found.saved_share < 0.05) == (answer == "no")


def test_a_history_that_no_model_takes_is_reason_enough() -> None:
    """200,000 tokens are the most that Haiku 4.5 reads, whatever the money says."""
    tokens = {"full": [200_001] * 4, "rolling": [200_001] * 4}
    found = judged(ABOUT, economics_of(tokens, reader="claude-haiku-4-5"))
    assert (found.answer, found.exceeds_model) == ("yes", True)
    assert any("does not fit" in reason for reason in found.reasons)
