"""Generated sessions with many facts, and arms that each lose facts at one known station.

Every plant is a summariser, a distiller, an embedder, a reader or a table of settings: nothing of
the attribution is touched, and which facts a plant loses is decided before anything is replayed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.core.calls import ModelClient
from ctxeng.core.messages import Message, Session
from ctxeng.core.protocols import Distillation, DistillTask, Summary, SummaryTask, Vectors
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.replay.plan import ReplayPlan
from ctxeng.strategies.builtin import settings_for
from tests.support import planted

SIZE, LENGTH, FACTS, SESSIONS, SEED = 6, 96, 28, 2, 20260309
FILLER = (
    "We went over the weather and the tea.", "昨日の会議は長かったですね。", "점심은 뭐 먹을까요?",
    "The build was slow, nothing else.", "Let us talk about the garden for a while.", "好的，没问题。",
)  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """A part number for a slot, stated at ``seq`` and, where acknowledged, again right after."""

    slot: int
    seq: int
    acknowledged: bool

    @property
    def value(self) -> str:
        return f"KX-{7000 + self.slot}"

    @property
    def seqs(self) -> tuple[int, ...]:
        return (self.seq, self.seq + 1) if self.acknowledged else (self.seq,)


@dataclass(frozen=True)
class Battery:
    """Sessions with their facts, and which of them the plants are to lose."""

    sessions: tuple[Session, ...]
    facts: dict[str, tuple[Fact, ...]]
    chosen: frozenset[int]

    @property
    def all_facts(self) -> dict[str, Fact]:
        return {f"slot-{f.slot}": f for facts in self.facts.values() for f in facts}

    @property
    def probes(self) -> dict[str, tuple[Probe, ...]]:
        return {name: tuple(_probe(name, f) for f in facts) for name, facts in self.facts.items()}


@dataclass(frozen=True)
class Plant:
    """One arm that loses facts at known stations.

    Args:
        stage: where it loses a fact, None for a fact it keeps.
        if_shut_out: the stage holds only for facts that the perfect reader cannot find in the
            prompt: how much a budget shuts out is the builder's business.
    """

    settings: StrategySettings
    stage: Callable[[Fact], str | None]
    if_shut_out: bool = False
    summariser: VerbatimSummariser = field(default_factory=VerbatimSummariser)
    distiller: VerbatimDistiller = field(default_factory=VerbatimDistiller)

    def expected(self, fact: Fact, *, is_found: bool) -> str | None:
        """Return the stage to name for a fact that a perfect reader did or did not find."""
        return None if self.if_shut_out and is_found else self.stage(fact)


def battery() -> Battery:
    """Return the same sessions every time: facts at random places, a third of them chosen."""
    rng = np.random.default_rng(SEED)
    sessions, facts = [], {}
    for number in range(SESSIONS):
        name = f"made-{number}"
        starts = sorted(rng.choice(np.arange(0, LENGTH - 10, 3), FACTS, replace=False).tolist())
        own = tuple(
            Fact(
                slot=number * FACTS + i,
                seq=seq + int(rng.integers(2)),
                acknowledged=bool(rng.integers(2)),
            )
            for i, seq in enumerate(starts)
        )
        facts[name] = own
        sessions.append(_session(name, own, rng))
    slots = [f.slot for own in facts.values() for f in own]
    chosen = frozenset(rng.choice(slots, len(slots) // 3, replace=False).tolist())
    return Battery(sessions=tuple(sessions), facts=facts, chosen=chosen)


def plants(made: Battery) -> dict[str, Plant]:
    """Return every plant by the name of its arm; the first is the faithful reference."""
    chosen = made.chosen

    def lost(stage: str, otherwise: str | None = None) -> Callable[[Fact], str | None]:
        return lambda fact: stage if fact.slot in chosen else otherwise

    def always(stage: str | None) -> Callable[[Fact], str | None]:
        return lambda fact: stage

    def keep(text: str, task: SummaryTask) -> str:
        return text

    def cramped(total: int, **changes: int) -> dict[str, int]:
        return {"total_tokens": total, "reserve_tokens": 100, **changes}

    searching = {"gate": "always", "groups": 1, "around": 0, "preset": "semantic"}
    return {
        "faithful": Plant(settings("episodes"), always(None)),
        "drops_sentences": Plant(
            settings("episodes"), lost("lost_in_summary"),
            summariser=Edits(lambda text, task: _without(text, chosen)),
        ),
        "drops_at_seams": Plant(
            settings("episodes"), lambda fact: "lost_in_summary" if at_seam(fact) else None,
            summariser=SeamLosing(),
        ),
        "swaps_values": Plant(
            settings("episodes"), lost("lost_in_summary"),
            summariser=Edits(lambda text, task: _swapped(text, chosen)),
        ),
        "drops_on_rewrite": Plant(
            settings("rolling"), lost("lost_in_rewrite"), if_shut_out=True,
            summariser=Edits(keep, previous=lambda text: _without(text, chosen)),
        ),
        "swaps_on_rewrite": Plant(
            settings("rolling"), lost("lost_in_rewrite"), if_shut_out=True,
            summariser=Edits(keep, previous=lambda text: _swapped(text, chosen)),
        ),
        "coarse_levels": Plant(
            settings("hierarchical", budget=cramped(1600, summary_tokens=300)),
            lost("lost_in_rewrite"), if_shut_out=True,
            summariser=Edits(lambda text, task: _facts_alone(text, chosen) if task.level else text),
        ),
        "small_budget": Plant(
            settings("episodes", budget=cramped(1100)), always("over_budget"), if_shut_out=True
        ),
        "distils_badly": Plant(
            settings("episodes_memory", budget=cramped(800, memory_tokens=500, summary_tokens=10)),
            lost("lost_in_distillation"), if_shut_out=True, distiller=BadDistiller(chosen),
        ),
        "never_shown": Plant(
            settings("episodes", compaction={"lag_messages": None, "when_late": "window_only"}),
            always("not_loaded"),
        ),
        "window_only": Plant(settings("recent_window"), always("never_reached")),
        "shut_gate": Plant(settings("retrieval", retrieval={"gate": "never"}), always("gated")),
        "blind_search": Plant(settings("retrieval", retrieval=searching), lost("not_retrieved")),
        "search_without_room": Plant(
            settings("retrieval", retrieval=searching, budget=cramped(150)),
            lost("not_retrieved", otherwise="over_budget"),
        ),
    }  # fmt: skip


def settings(strategy: str, **changes: dict[str, Any]) -> StrategySettings:
    """Return a strategy with a window of two messages and no token limit, but for the changes."""
    tables: dict[str, dict[str, Any]] = {
        "window": {"tokens": 0, "min_messages": 2},
        "episodes": {"size": SIZE, "overlap": 1},
        "hierarchy": {"chunk_messages": 6, "fan_in": 3, "levels": 3},
        "rolling": {"threshold_tokens": 120},
        "memory": {"every_episodes": 3},
        "budget": {"total_tokens": None},
    }
    return settings_for(strategy, {**tables, **changes})


def plan(
    made: Battery,
    scratch: Path,
    *,
    reader: ModelClient | None = None,
    arms: Mapping[str, Plant] | None = None,
) -> ReplayPlan:
    """Return one replay of every plant (or of some), each an arm of its own."""
    arms = arms or plants(made)
    base = planted.plan(
        scratch,
        arms={name: plant.settings for name, plant in arms.items()},
        sessions=made.sessions,
        reader=reader,
    )
    faithful = arms["faithful"]
    return replace(
        base,
        probes=made.probes,
        summariser=lambda arm, client: arms.get(arm.name, faithful).summariser,
        distiller=lambda arm, client: arms.get(arm.name, faithful).distiller,
        embedder=SlotEmbedder(blind=made.chosen),
    )


def at_seam(fact: Fact) -> bool:
    """Return whether every message that states a fact is the first or last of its episode."""
    return all(seq % SIZE in (0, SIZE - 1) for seq in fact.seqs)


class Edits(VerbatimSummariser):
    """Keeps every word, then edits its own text, or the text it was given to rewrite."""

    def __init__(
        self,
        edit: Callable[[str, SummaryTask], str],
        previous: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._edit = edit
        self._previous = previous

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the edited text."""
        if task.previous is not None:
            task = replace(task, previous=self._previous(task.previous))
        faithful = await super().summarise(task)
        return replace(faithful, text=self._edit(faithful.text, task) or "(nothing)")


class SeamLosing(VerbatimSummariser):
    """Loses the first and the last message of what it summarises."""

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the inner messages."""
        ends = (task.core_from_seq, task.core_to_seq)
        inner = tuple(m for m in task.messages if m.seq not in ends)
        return await super().summarise(replace(task, messages=inner))


class BadDistiller(VerbatimDistiller):
    """Keeps the sentences with part numbers, but for those of the chosen slots."""

    def __init__(self, chosen: frozenset[int]) -> None:
        self._chosen = chosen

    async def distil(self, task: DistillTask) -> Distillation:
        """Return the previous items and what is kept of the new texts."""
        texts = tuple(_facts_alone(text, self._chosen) or "(nothing)" for text in task.texts)
        return await super().distil(replace(task, texts=texts))


class SlotEmbedder:
    """A vector for each slot: a question about a blind slot looks like one about its neighbour."""

    embedder_id = "hashing-384"
    dimensions = 384

    def __init__(self, blind: frozenset[int]) -> None:
        self._blind = blind

    def embed(self, texts: Sequence[str], *, kind: str) -> Vectors:
        """Return a unit vector along the axis of the slot a text speaks of."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            found = re.findall(r"slot (\d+)", text)
            slot = int(found[-1]) if found else -1
            if kind == "query" and slot in self._blind:
                slot = -2
            row[slot] = 1.0
        return rows

    def split(self, text: str) -> list[str]:
        """Return the text whole."""
        return [text] if text.strip() else []


def _session(name: str, facts: Sequence[Fact], rng: np.random.Generator) -> Session:
    said = {}
    for fact in facts:
        said[fact.seq] = f"Right, slot {fact.slot} is {fact.value}, keep that."
        if fact.acknowledged:
            said[fact.seq + 1] = f"Noted, slot {fact.slot} is {fact.value}."
    texts = [said.get(seq) or FILLER[int(rng.integers(len(FILLER)))] for seq in range(LENGTH)]
    return Session(
        session_id=name,
        language="en",
        messages=tuple(
            Message(seq=seq, role="user" if seq % 2 == 0 else "assistant", content=text)
            for seq, text in enumerate(texts)
        ),
    )


def _probe(session_id: str, fact: Fact) -> Probe:
    return Probe(
        probe_id=f"slot-{fact.slot}",
        session_id=session_id,
        question=f"Which part is for slot {fact.slot}?",
        kind="identifier",
        evidence=(Span(from_seq=fact.seqs[0], to_seq=fact.seqs[-1]),),
        expect=((fact.value,),),
        language="en",
    )


def _slot(line: str) -> int | None:
    found = re.search(r"slot (\d+) is", line)
    return int(found[1]) if found else None


def _without(text: str, chosen: frozenset[int]) -> str:
    return "\n".join(line for line in text.split("\n") if _slot(line) not in chosen)


def _swapped(text: str, chosen: frozenset[int]) -> str:
    lines = text.split("\n")
    return "\n".join(
        re.sub(r"KX-7", "KX-8", line) if _slot(line) in chosen else line for line in lines
    )


def _facts_alone(text: str, chosen: frozenset[int]) -> str:
    kept = [line for line in text.split("\n") if "slot" in line and _slot(line) not in chosen]
    return "\n".join(
        dict.fromkeys(f"slot {_slot(line)} is KX-{7000 + (_slot(line) or 0)}" for line in kept)
    )
