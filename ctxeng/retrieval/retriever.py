"""Search one conversation's older messages and return them as message groups."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts, snap_back, snap_forward
from ctxeng.core.protocols import Embedder, Vectors
from ctxeng.core.settings import RetrievalSettings
from ctxeng.retrieval.analyser import analyse
from ctxeng.retrieval.fusion import (
    Fused,
    convex,
    min_max,
    normalised,
    recency,
    reciprocal_rank,
    rerank,
)
from ctxeng.retrieval.gate import GateDecision, should_retrieve, topic_cosine
from ctxeng.retrieval.indexing import named_text
from ctxeng.retrieval.reference import references
from ctxeng.store import Hit, Store

Search = Literal["semantic", "lexical", "trigram"]
Found = Mapping[Search, Sequence[Hit]]
SEARCHES: tuple[Search, ...] = ("semantic", "lexical", "trigram")
FUSED_SEARCHES: tuple[Search, ...] = ("semantic", "lexical")
LAST_SEARCHES: tuple[Search, ...] = ("trigram",)  # where those find nothing
_SEARCHES: Mapping[str, tuple[Search, ...]] = {name: (name,) for name in SEARCHES}
ARTICLE_WEIGHTS = {"semantic": 0.45, "lexical": 0.25, "recency": 0.15, "reference": 0.15}
RECORDED = 50  # of the ranking; what is further down explains nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the messages themselves tell of a question, besides their score in a search.

    Args:
        named: 1 for messages that name what the question names (their speaker, an identifier).
        tool_output: messages that hold tool results.
    """

    named: Mapping[int, float] = field(default_factory=dict)
    tool_output: frozenset[int] = frozenset()


NOTHING_TOLD = Told()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageGroup:
    """Found messages with their neighbours: consecutive, whole tool pairs.

    Args:
        matches: the messages that were found, seq to score; the others are their surroundings.
    """

    messages: tuple[Message, ...]
    matches: Mapping[int, float]

    @property
    def matched_seqs(self) -> tuple[int, ...]:
        """Return the seqs of the messages that were found, in order."""
        return tuple(sorted(self.matches))

    @property
    def score(self) -> float:
        """Return the best match's score."""
        return max(self.matches.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """What the gate decided and what was found, best group first."""

    decision: GateDecision
    groups: tuple[MessageGroup, ...] = ()
    ranked: tuple[Fused, ...] = ()
    below_score: tuple[int, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


class Retriever:
    """Finds older raw messages for a question, through the store's searches."""

    def __init__(
        self, store: Store, embedder: Embedder | None, settings: RetrievalSettings
    ) -> None:
        self._store = store
        self._embedder = embedder if store.capabilities.vector else None
        self._settings = settings

    async def retrieve(
        self,
        conversation_id: str,
        question: str,
        *,
        as_of: int,
        history: Sequence[Message],
        recent: Sequence[Message] = (),
        exclude_seqs: Collection[int] = (),
    ) -> Retrieval:
        """Return the message groups a question needs, or none when the gate stays shut.

        Args:
            history: the whole conversation as of ``as_of``; groups are cut from it.
            recent: the raw window, which the gate compares the question's topic with.
            exclude_seqs: messages that are in the prompt anyway.
        """
        decision = await self._decide(question, recent)
        if not decision.retrieve:
            return Retrieval(decision=decision)
        ranked = await self.rank(
            conversation_id, question, as_of=as_of, history=history, exclude_seqs=exclude_seqs
        )
        good = [f for f in ranked if f.score > self._settings.min_score]
        groups = message_groups(
            good,
            history,
            around=self._settings.around,
            limit=self._settings.groups,
            exclude=set(exclude_seqs),
        )
        return Retrieval(
            decision=decision,
            groups=groups,
            ranked=tuple(ranked[:RECORDED]),
            below_score=tuple(f.seq for f in ranked if f.score <= self._settings.min_score),
        )

    async def rank(
        self,
        conversation_id: str,
        question: str,
        *,
        as_of: int,
        history: Sequence[Message] = (),
        exclude_seqs: Collection[int] = (),
    ) -> list[Fused]:
        """Return messages by fused score, best first; ``history`` as of ``as_of``."""
        wanted = _SEARCHES.get(self._settings.preset, FUSED_SEARCHES)
        where: dict[str, Any] = {"as_of": as_of, "exclude_seqs": exclude_seqs}
        found = await self.search(conversation_id, question, wanted=wanted, **where)
        if not any(found.values()) and wanted == FUSED_SEARCHES:
            found = await self.search(conversation_id, question, wanted=LAST_SEARCHES, **where)
        return fuse(self._settings, found, as_of=as_of, told=told(question, history, found))

    async def search(
        self,
        conversation_id: str,
        question: str,
        *,
        as_of: int,
        exclude_seqs: Collection[int] = (),
        wanted: Collection[Search] = SEARCHES,
    ) -> Found:
        """Return the hits of each wanted search, before any fusion; at most ``candidates`` each."""
        where: dict[str, Any] = {
            "as_of": as_of,
            "limit": self._settings.candidates,
            "exclude": exclude_seqs,
        }
        found: dict[Search, Sequence[Hit]] = {}
        if "semantic" in wanted and self._embedder is not None and question.strip():
            vector = await self._embed(question)
            found["semantic"] = await self._store.search_semantic(conversation_id, vector, **where)
        if "lexical" in wanted:
            terms = analyse(question)
            found["lexical"] = await self._store.search_lexical(conversation_id, terms, **where)
        if "trigram" in wanted:
            found["trigram"] = await self._store.search_trigram(conversation_id, question, **where)
        return found

    async def _decide(self, question: str, recent: Sequence[Message]) -> GateDecision:
        match self._settings.gate:
            case "never":
                return GateDecision(retrieve=False, exact=False)
            case "always":
                exact = should_retrieve(question).exact
                return GateDecision(retrieve=True, exact=exact, reasons=("always",))
        cosine = None
        if self._embedder is not None and recent and question.strip():
            query = await self._embed(question)
            texts = [named_text(m)[:500] for m in recent[-8:] if m.text.strip()]
            rows = await asyncio.to_thread(self._embedder.embed, texts, kind="passage")
            cosine = topic_cosine(query, list(rows))
        return should_retrieve(question, recent=[m.text for m in recent], topic_cosine=cosine)

    async def _embed(self, question: str) -> Vectors:
        assert self._embedder is not None
        rows = await asyncio.to_thread(self._embedder.embed, [question], kind="query")
        return np.asarray(rows[0], dtype=np.float32)


def told(question: str, history: Sequence[Message], found: Found) -> Told:
    """Return what the found messages tell of a question."""
    seqs = {hit.seq for hits in found.values() for hit in hits}
    messages = [message for message in history if message.seq in seqs]
    return Told(
        named=references(question, messages),
        tool_output=frozenset(m.seq for m in messages if m.role == "tool" or _has_result(m)),
    )


def _has_result(message: Message) -> bool:
    return any(str(block.get("type", "")).endswith("tool_result") for block in message.blocks)


def fuse(
    settings: RetrievalSettings, found: Found, *, as_of: int, told: Told = NOTHING_TOLD
) -> list[Fused]:
    """Return one ranking of several searches, by the preset.

    ``convex``: semantic_weight · cosine (min–max scaled over the candidates) +
    (1 − semantic_weight) · BM25 (divided by the best), then ``rerank`` with the neighbours, the
    reference and the kind of source. ``article``: 0.45 semantic + 0.25 keyword + 0.15 recency
    (seq / as_of) + 0.15 reference (the question names what the message names).
    """
    semantic, lexical = found.get("semantic", ()), found.get("lexical", ())
    named: dict[str, dict[int, float]] = {
        "semantic": min_max(semantic),
        "lexical": normalised(lexical),
    }
    if not semantic and not lexical:
        return convex({"trigram": normalised(found.get("trigram", ()))}, {"trigram": 1.0})
    if settings.preset == "rrf":
        return reciprocal_rank(named)
    if settings.preset == "article":
        seqs = sorted(set(named["semantic"]) | set(named["lexical"]))
        named["recency"] = recency(seqs, as_of=as_of)
        named["reference"] = {seq: told.named[seq] for seq in seqs if seq in told.named}
        return convex(named, ARTICLE_WEIGHTS)
    weight = settings.semantic_weight if semantic and lexical else (1.0 if semantic else 0.0)
    fused = convex(named, {"semantic": weight, "lexical": 1 - weight})
    if settings.preset != "convex":
        return fused
    factor = settings.tool_output_weight
    return rerank(
        fused,
        previous=settings.previous_weight,
        following=settings.following_weight,
        reference=settings.reference_weight,
        named=told.named,
        factors={} if factor == 1 else dict.fromkeys(told.tool_output, factor),
    )


def message_groups(
    ranked: Sequence[Fused],
    history: Sequence[Message],
    *,
    around: int,
    limit: int,
    exclude: Collection[int] = (),
) -> tuple[MessageGroup, ...]:
    """Return the best matches with ``around`` neighbours each, overlapping groups merged.

    A group never holds an excluded message, keeps its best score, and has no border between a tool
    call and its result.
    """
    position = {message.seq: i for i, message in enumerate(history)}
    starts = atomic_starts(history)
    found: list[_Span] = []
    for fused in ranked:
        if len(found) == limit:
            break
        at = position.get(fused.seq)
        if at is None:
            continue
        low = snap_back(starts, max(0, at - around))
        high = snap_forward(starts, min(len(history), at + around + 1), end=len(history))
        found = _merged(found, _Span(low=low, high=high, matches={fused.seq: fused.score}))
    left_out = set(exclude)
    groups = []
    for span in sorted(found, key=lambda one: (-one.score, one.low)):
        messages = tuple(m for m in history[span.low : span.high] if m.seq not in left_out)
        if messages:
            groups.append(MessageGroup(messages=messages, matches=span.matches))
    return tuple(groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """A group in the making: indices ``low`` to before ``high``, and its matches' scores."""

    low: int
    high: int
    matches: dict[int, float]

    @property
    def score(self) -> float:
        return max(self.matches.values())


def _merged(found: Sequence[_Span], new: _Span) -> list[_Span]:
    kept = []
    for other in found:
        if other.low < new.high and new.low < other.high:
            new = _Span(
                low=min(new.low, other.low),
                high=max(new.high, other.high),
                matches={**other.matches, **new.matches},
            )
        else:
            kept.append(other)
    return [*kept, new]
