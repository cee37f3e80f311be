"""Rank the evidence of probes by every method, through the searches that production runs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ctxeng.core.errors import InputError
from ctxeng.core.messages import Session
from ctxeng.core.protocols import Embedder
from ctxeng.core.settings import RetrievalSettings
from ctxeng.embedding import CachedEmbedder, open_embedder
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.ranking.methods import HYBRID, LIBRARY, PlainBm25, hybrid_at, searched
from ctxeng.harness.ranking.recall import (
    Against,
    Ranked,
    RecallRow,
    compared,
    evidence_recall,
    recall_rows,
)
from ctxeng.harness.ranking.tuning import GRID, TUNED_AT, Weights, leave_one_out
from ctxeng.harness.replay.plan import content_key
from ctxeng.retrieval import Indexer, Retriever
from ctxeng.retrieval.retriever import SEARCHES, Search, told
from ctxeng.store import EmbeddingSpec, Store

DATABASE = "ctxeng_retrieval"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a retrieval evaluation measured.

    Args:
        weights: the weights each session's ``hybrid`` was ranked with.
        against: ``hybrid`` beside every other method. unasked: probes without evidence.
    """

    embedder_id: str
    sessions: int
    messages: int
    probes: int
    unasked: int
    rows: tuple[RecallRow, ...]
    against: tuple[Against, ...]
    weights: Mapping[str, Weights]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A probe's rankings, and the convex one at every place of the grid."""

    ranked: Ranked
    in_grid: Sequence[Sequence[int]]

    def tuned(self, place: int) -> Ranked:
        """Return the rankings with the hybrid one of a place in the grid."""
        hybrid = {HYBRID: self.in_grid[place]}
        return replace(self.ranked, rankings={**hybrid, **self.ranked.rankings})


async def evaluate(
    sessions: Sequence[Session],
    probes: Sequence[Probe],
    *,
    store: Store,
    embedder: Embedder,
    ks: Sequence[int],
    progress: Progress | None = None,
) -> Evaluation:
    """Return recall and reciprocal rank of every method, with production's default settings.

    Drafts and probes without evidence are not asked. Each probe is asked as of its own seq, and
    every message up to it may be found: nothing is left out for standing in a window.

    Args:
        ks: how many ranked messages count, each 1 or more.

    Raises:
        InputError: no probe has evidence.
    """
    wanted = [probe for probe in probes if probe.evidence_seqs and probe.status != "draft"]
    if not wanted:
        raise InputError(f"probes must name their evidence, got {len(probes)} without any.")
    defaults = RetrievalSettings()
    depth = max(defaults.candidates, *ks)
    settings = defaults.model_copy(update={"candidates": depth})
    asked: list[_Asked] = []
    for session in sessions:
        mine = [probe for probe in wanted if probe.session_id == session.session_id]
        async for one in _ranked(session, mine, store, embedder, settings, depth=max(ks)):
            asked.append(one)
            if progress is not None:
                progress(len(asked), len(wanted), session.session_id)
    places = _places(asked)
    ranked = [one.tuned(places[one.ranked.probe.session_id]) for one in asked]
    return Evaluation(
        embedder_id=embedder.embedder_id,
        sessions=len(places),
        messages=sum(len(s.messages) for s in sessions if s.session_id in places),
        probes=len(asked),
        unasked=len(probes) - len(wanted),
        rows=tuple(recall_rows(ranked, ks=ks)),
        against=tuple(compared(ranked, HYBRID, ks=ks)),
        weights={session_id: GRID[place] for session_id, place in places.items()},
    )


def ks_of(text: str) -> list[int]:
    """Return the numbers of ``5,10,20``, smallest first, each once.

    Raises:
        InputError: something else than whole numbers from 1 stands there.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise InputError(f"k must be whole numbers from 1, joined by commas, got {text!r}.")
    return sorted(set(map(int, parts)))


async def evaluate_in(
    workspace: Path,
    sessions: Sequence[Session],
    probes: Sequence[Probe],
    *,
    embedder_name: str,
    ks: Sequence[int],
    progress: Progress | None = None,
) -> Evaluation:
    """Return the evaluation on the workspace's database, the embedder opened by its name.

    Raises:
        InputError: no probe has evidence. SettingsError: the embedder is unknown or missing.
        StoreError: no database.
    """
    embedder = CachedEmbedder(open_embedder(embedder_name))
    spec = EmbeddingSpec(embedder_id=embedder.embedder_id, dimensions=embedder.dimensions)
    async with await Store.open(
        workspace=workspace,
        database=f"{DATABASE}_{content_key(embedder.embedder_id)[:8]}",
        disposable=True,
        embedding=spec,
    ) as store:
        return await evaluate(
            sessions, probes, store=store, embedder=embedder, ks=ks, progress=progress
        )


async def _ranked(
    session: Session,
    probes: Sequence[Probe],
    store: Store,
    embedder: Embedder,
    settings: RetrievalSettings,
    *,
    depth: int,
) -> AsyncIterator[_Asked]:
    """Store and index a session the way production does, rank its probes, and delete it."""
    if not probes:
        return
    name = f"retrieval/{os.urandom(4).hex()}/{session.session_id}"
    await store.create_conversation(name, language=session.language)
    try:
        await store.append_many(name, session.messages)
        await Indexer(store, embedder).index_due(name)
        retriever = Retriever(store, embedder, settings)
        library = PlainBm25(session.messages)
        last = session.messages[-1].seq
        for probe in probes:
            as_of = last if probe.ask_at_seq is None else min(probe.ask_at_seq, last)
            found = await retriever.search(
                name, probe.question, as_of=as_of, wanted=_searches(store)
            )
            about = told(probe.question, session.messages[: as_of + 1], found)
            plain = library.rank(probe.question, as_of=as_of, limit=settings.candidates)
            rankings = {**searched(found, settings, as_of=as_of, told=about), LIBRARY: plain}
            yield _Asked(
                ranked=Ranked(probe=probe, rankings=rankings),
                in_grid=hybrid_at(
                    found, settings, GRID, as_of=as_of, told=about, depth=max(depth, TUNED_AT)
                ),
            )
    finally:
        await store.discard_conversation(name)


def _searches(store: Store) -> list[Search]:
    """Return the searches the server can do."""
    can = {"semantic": store.capabilities.vector, "trigram": store.capabilities.trigram}
    return [search for search in SEARCHES if can.get(search, True)]


def _places(asked: Sequence[_Asked]) -> Mapping[str, int]:
    recalls = np.array(
        [
            [evidence_recall(r, one.ranked.probe.evidence_seqs, k=TUNED_AT) for r in one.in_grid]
            for one in asked
        ]
    )
    return leave_one_out(recalls, [one.ranked.probe.session_id for one in asked])
