"""Planted losses: for each of many facts the stage that was planted is named, in its own arm only.

One replay of two generated sessions with 56 facts through fourteen arms, each of which loses
facts at a station of its own; the real store, compactor, retriever and builder.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.harness.attribution.drift import decay, rounds, wordings
from ctxeng.harness.attribution.path import FactPath
from ctxeng.harness.attribution.stored import StoredRun
from ctxeng.harness.attribution.tracing import fact_paths
from ctxeng.harness.replay.runner import replay
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.store import Store
from tests.support import battery, planted
from tests.support.stored_runs import replayed_run

MADE = battery.battery()
PLANTS = battery.plants(MADE)
CARELESS = ("faithful", "drops_sentences", "blind_search", "small_budget")


@dataclass(frozen=True)
class Replayed:
    """What one replay of the battery left: the run, the paths of its cells, the reader's calls."""

    run: RunFolder
    paths: tuple[FactPath, ...]
    requests: dict[str, list[ModelRequest]] = field(default_factory=dict)

    def of(self, arm: str) -> list[FactPath]:
        return [path for path in self.paths if path.arm == arm]


class Listening(planted.PerfectReader):
    """A perfect reader that keeps every request by its question."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: dict[str, list[ModelRequest]] = {}

    async def complete(self, request: ModelRequest) -> ModelResponse:
        question = request.messages[-1]["content"][-1]["text"]
        self.requests.setdefault(question, []).append(request)
        return await super().complete(request)


@pytest.fixture(scope="module")
def replayed(server: Path, worker: str, tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """Replay the whole battery once."""
    folder, reader = tmp_path_factory.mktemp("battery"), Listening()
    plan = battery.plan(MADE, folder / "scratch", reader=reader)
    run = replayed_run(plan, folder, server=server, database=f"battery_{worker}")
    paths = tuple(fact_paths(StoredRun.open(run)))
    return Replayed(run=run, paths=paths, requests=reader.requests)


def share_named(paths: list[FactPath], plant: battery.Plant) -> tuple[float, list[str]]:
    """Return the share of facts whose stage is the planted one, and those where it is not."""
    wrong = []
    for path in paths:
        fact = MADE.all_facts[path.probe_id]
        expected = plant.expected(fact, is_found=path.answer.outcome == "recalled")
        if path.loss_stage != expected:
            wrong.append(f"{path.probe_id}: {path.loss_stage}, planted {expected}")
    return 1 - len(wrong) / len(paths), wrong


@pytest.mark.parametrize("arm", list(PLANTS))
def test_the_planted_stage_is_named(replayed: Replayed, arm: str) -> None:
    """At least 99 % of the facts of an arm are lost where they were planted to be, and only those."""
    paths = replayed.of(arm)
    assert len(paths) == battery.SESSIONS * battery.FACTS
    share, wrong = share_named(paths, PLANTS[arm])
    assert share >= 0.99, wrong


@pytest.mark.parametrize("arm", [name for name in PLANTS if name != "faithful"])
def test_every_plant_loses_something(replayed: Replayed, arm: str) -> None:
    """A plant that nobody notices proves nothing: each arm has lost facts to attribute."""
    assert sum(path.loss_stage is not None for path in replayed.of(arm)) >= 4


def test_a_stage_planted_in_one_arm_is_never_named_in_another(replayed: Replayed) -> None:
    """All arms ran side by side over the same facts; each shows its own stages and no more."""
    for arm, plant in PLANTS.items():
        planted_here = {plant.stage(fact) for fact in MADE.all_facts.values()}
        assert {path.loss_stage for path in replayed.of(arm)} <= planted_here | {None}, arm


def test_every_stage_but_deduplication_is_planted(replayed: Replayed) -> None:
    """The battery reaches them all; a copy of a shown text cannot lose a value, so none is there."""
    from ctxeng.harness.attribution.loss import STAGES

    named = {path.loss_stage for path in replayed.paths} - {None}
    assert named == set(STAGES) - {"deduplicated", "reader_missed"}


def test_a_summary_is_blamed_only_for_what_it_was_given(replayed: Replayed) -> None:
    """The path shows the value in the compactor's input, and where in the chain it went."""
    for path in replayed.paths:
        if path.loss_stage == "lost_in_summary":
            assert all(w.given is not None and w.given.holds == (0,) for w in path.written)
            assert not any(w.text.holds for w in path.written)
        if path.loss_stage == "lost_in_rewrite":
            assert path.written[0].text.holds == (0,) and path.written[0].fate != "in_prompt"
            assert path.prompt_holds == ()
        if path.loss_stage == "lost_in_distillation":
            (memory, *_) = [w for w in path.written if w.kind == "memory"]
            assert memory.given and memory.given.holds == (0,) and not memory.text.holds
        if path.loss_stage == "over_budget":
            assert any(out.is_of_fact and out.holds == (0,) for out in path.left_out)
        if path.loss_stage == "not_retrieved":
            assert path.search and path.search.is_made
            assert path.search.evidence_rank != 1
        if path.loss_stage == "gated":
            assert path.search and not path.search.is_made and path.search.matches == ()


def test_a_prompt_read_back_is_the_prompt_that_was_sent(replayed: Replayed) -> None:
    """Every stored context gives the request the reader got, to the letter."""
    stored = StoredRun.open(replayed.run)
    for cell in stored.cells:
        context = stored.context(cell)
        assert context is not None
        body: dict[str, Any] = context.to_anthropic()
        sent = replayed.requests[stored.probes[cell["session_id"], cell["probe_id"]].question]
        assert any(
            (tuple(body["system"]), tuple(body["messages"])) == (r.system, r.messages) for r in sent
        ), (cell["arm"], cell["probe_id"])


def test_paths_are_plain_json_and_brief_ones_are_small(replayed: Replayed) -> None:
    """For a page with many of them: JSON types alone, and excerpts that still show the value."""
    import orjson

    for path in replayed.of("drops_on_rewrite"):
        whole, brief = (
            orjson.dumps(path.to_json()),
            orjson.dumps(path.brief(characters=200).to_json()),
        )
        assert len(brief) < len(whole)
        short = path.brief(characters=200)
        assert [bool(w.text.holds) for w in short.written] == [
            bool(w.text.holds) for w in path.written
        ]
        assert all(len(w.text.text) <= 204 for w in short.written)
        assert short.loss_stage == path.loss_stage and short.why == path.why


def test_drift_shows_the_planted_decay_and_the_swapped_values(replayed: Replayed) -> None:
    """Chosen facts are gone from the second writing on; swapped values are the only inventions."""
    stored = StoredRun.open(replayed.run)
    points = {(p.arm, p.round): p for p in decay(rounds(stored)) if p.kind == "rolling"}
    for arm in ("drops_on_rewrite", "swaps_on_rewrite"):
        first, second = points[arm, 1], points[arm, 2]
        assert (first.present, first.dropped) == (first.n, 0)
        assert (second.at_risk, second.dropped) == (second.n, second.n - second.present)
        lost = {p.probe_id for p in replayed.of(arm) if p.loss_stage}
        assert second.dropped == len(lost)
        assert all(
            p.dropped == p.regained == 0 for (a, r), p in points.items() if a == arm and r > 2
        )
    told: dict[str, list[str]] = {arm: [] for arm in PLANTS}
    for one in wordings(stored):
        told[one.arm] += one.invented
    swapped = [p for p in replayed.of("swaps_on_rewrite") if p.loss_stage]
    assert len(told.pop("swaps_on_rewrite")) == len(swapped)
    chosen = [fact for fact in MADE.all_facts.values() if fact.slot in MADE.chosen]
    assert sorted(told.pop("swaps_values")) == sorted(f"kx-{8000 + f.slot}" for f in chosen)
    assert set(map(tuple, told.values())) == {()}


async def test_a_reader_that_ignores_its_context_is_blamed_for_what_was_there(
    store: Store, tmp_path: Path
) -> None:
    """What an arm lost stays lost where it was; everything else is the reader's."""
    arms = {name: PLANTS[name] for name in CARELESS}
    one = replace(MADE, sessions=MADE.sessions[:1], facts={"made-0": MADE.facts["made-0"]})
    plan = battery.plan(one, tmp_path, arms=arms, reader=planted.FixedReader("UNKNOWN"))
    rows = await replay(plan, store=store)
    assert len(rows["cells"]) == len(CARELESS) * battery.FACTS
    for cell in rows["cells"]:
        fact = one.all_facts[cell["probe_id"]]
        is_there = bool(cell["value_in_context"])
        lost = arms[cell["arm"]].expected(fact, is_found=is_there)
        assert is_there == (lost is None)
        assert cell["loss_stage"] == (lost or "reader_missed"), (cell["arm"], cell["probe_id"])
