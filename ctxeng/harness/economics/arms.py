"""What each arm costs over all sessions, beside the whole history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctxeng.harness.economics.caching import Split
from ctxeng.harness.economics.latency import ttft_ms
from ctxeng.harness.economics.money import (
    CACHINGS,
    NO_CACHE,
    Caching,
    Payers,
    call_usd,
    pays_from,
    session_splits,
    spending,
    total,
)
from ctxeng.harness.economics.turns import CompactionCall, Sitting

TENTHS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedCost:
    """One arm under one way to use the cache.

    Args:
        split: tokens of all reader requests. read_share: of them, read from the cache, 0..1.
        usd_per_1000_turns: reader, summariser and distiller together; a turn is one message.
        saved_share: money saved against the whole history under the same caching; negative where
            the arm is dearer. None where the whole history costs nothing.
        pays_from_turn: median over the sessions that end cheaper, None where none does.
        paying_sessions: how many sessions end cheaper than with the whole history.
    """

    caching: Caching
    split: Split
    read_share: float | None
    usd_per_1000_turns: float
    saved_share: float | None
    pays_from_turn: float | None
    paying_sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmEconomics:
    """One arm.

    Args:
        request_tokens: input tokens per request: median, 95th percentile, largest.
        along: mean input tokens per request in each tenth of the session, None where none falls.
        compaction: calls, tokens in, tokens out, USD, by kind of artifact.
        ttft_ms: modelled, median and 95th percentile.
    """

    arm: str
    sessions: int
    turns: int
    requests: int
    input_tokens: int
    answer_tokens: int
    request_tokens: tuple[float, float, float]
    along: tuple[float | None, ...]
    compaction: Mapping[str, CompactionCost]
    ttft_ms: tuple[float, float]
    costs: tuple[CachedCost, ...]

    def cost(self, caching: Caching = NO_CACHE) -> CachedCost:
        """Return the arm's money under one way to use the cache."""
        return next(cost for cost in self.costs if cost.caching == caching)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCost:
    """The calls of one kind of compaction."""

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float


def arm_economics(
    sittings: Sequence[Sitting], full: Mapping[str, Sitting], payers: Payers
) -> ArmEconomics:
    """Return what one arm's sessions come to.

    Args:
        sittings: the arm's sessions; at least one request among them.
        full: the same sessions with the whole history, by session id.
    """
    requests = [request for sitting in sittings for request in sitting.requests]
    sizes = np.array([request.tokens for request in requests] or [0])
    times = [ttft_ms(size) for size in sizes]
    return ArmEconomics(
        arm=sittings[0].arm,
        sessions=len(sittings),
        turns=sum(sitting.messages for sitting in sittings),
        requests=len(requests),
        input_tokens=int(sizes.sum()),
        answer_tokens=sum(request.answer_tokens for request in requests),
        request_tokens=(
            float(np.median(sizes)),
            float(np.percentile(sizes, 95)),
            float(sizes.max()),
        ),
        along=_along(sittings),
        compaction=compaction_costs([c for s in sittings for c in s.calls], payers),
        ttft_ms=(float(np.median(times)), float(np.percentile(times, 95))),
        costs=tuple(_cached(sittings, full, caching, payers) for caching in CACHINGS),
    )


def compaction_costs(calls: Sequence[CompactionCall], payers: Payers) -> dict[str, CompactionCost]:
    """Return calls added up by kind of artifact."""
    found: dict[str, CompactionCost] = {}
    for kind in sorted({call.kind for call in calls}):
        mine = [call for call in calls if call.kind == kind]
        found[kind] = CompactionCost(
            calls=len(mine),
            input_tokens=sum(call.input_tokens for call in mine),
            output_tokens=sum(call.output_tokens for call in mine),
            usd=sum(call_usd(call, payers) for call in mine),
        )
    return found


def _cached(
    sittings: Sequence[Sitting], full: Mapping[str, Sitting], caching: Caching, payers: Payers
) -> CachedCost:
    split, mine, theirs = Split(), 0.0, 0.0
    turns: list[int] = []
    for sitting in sittings:
        split += total(session_splits(sitting, caching, payers))
        spent = spending(sitting, caching, payers)
        whole = spending(full[sitting.session_id], caching, payers)
        mine += float(spent[-1]) if len(spent) else 0.0
        theirs += float(whole[-1]) if len(whole) else 0.0
        start = pays_from(spent, whole)
        if start is not None:
            turns.append(start)
    messages = sum(sitting.messages for sitting in sittings)
    return CachedCost(
        caching=caching,
        split=split,
        read_share=split.read_share,
        usd_per_1000_turns=mine / messages * 1_000 if messages else 0.0,
        saved_share=1 - mine / theirs if theirs else None,
        pays_from_turn=float(np.median(turns)) if turns else None,
        paying_sessions=len(turns),
    )


def _spread(sizes: NDArray[np.int64]) -> tuple[float, float, float]:
    return float(np.median(sizes)), float(np.percentile(sizes, 95)), float(sizes.max())


def _along(sittings: Sequence[Sitting]) -> tuple[float | None, ...]:
    tenths: list[list[int]] = [[] for _ in range(TENTHS)]
    for sitting in sittings:
        for request in sitting.requests:
            tenths[request.seq * TENTHS // sitting.messages].append(request.tokens)
    return tuple(float(np.mean(sizes)) if sizes else None for sizes in tenths)
