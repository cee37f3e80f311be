"""Fuse the scores of several searches. Pure functions over ``{seq: score}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxeng.store import Hit

Scores = Mapping[int, float]

RRF_K = 60  # Source: Cormack, Clarke & Büttcher (2009)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """A message's fused score and the normalised terms it is the sum of."""

    seq: int
    score: float
    terms: Mapping[str, float]


def normalised(hits: Sequence[Hit]) -> dict[int, float]:
    """Return scores divided by the best one (0..1); negative scores count as 0."""
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0:
        return {}
    return {hit.seq: max(hit.score, 0.0) / best for hit in hits}


def min_max(hits: Sequence[Hit]) -> dict[int, float]:
    """Return scores scaled to 0..1 between the worst and the best hit; one hit alone scores 1."""
    if not hits:
        return {}
    low, high = min(h.score for h in hits), max(h.score for h in hits)
    if high == low:
        return {hit.seq: 1.0 for hit in hits}
    return {hit.seq: (hit.score - low) / (high - low) for hit in hits}


def convex(named: Mapping[str, Scores], weights: Mapping[str, float]) -> list[Fused]:
    """Return the weighted sum of normalised scores, best first; a missing score counts as 0."""
    seqs = {seq for scores in named.values() for seq in scores}
    fused = [
        Fused(
            seq=seq,
            score=sum(
                weights.get(name, 0.0) * scores.get(seq, 0.0) for name, scores in named.items()
            ),
            terms={name: scores[seq] for name, scores in named.items() if seq in scores},
        )
        for seq in seqs
    ]
    return sorted(fused, key=lambda f: (-f.score, f.seq))


def rerank(
    fused: Sequence[Fused],
    *,
    previous: float,
    following: float,
    reference: float,
    named: Scores,
    factors: Scores,
) -> list[Fused]:
    """Return messages ranked by what they score together with their surroundings, best first.

    ``(score + previous · score of the message before + following · score of the one after
    + reference · named) / (1 + previous + following + reference) · factor``, of found messages
    alone: what was not found scores 0 and is not added. 0..1 where the scores are.

    Args:
        named: 1 where the question names what the message names. factors: by kind of source, 1
            where nothing is said.
    """
    scores = {one.seq: one.score for one in fused}
    whole = 1 + previous + following + reference
    ranked = []
    for one in fused:
        around = previous * scores.get(one.seq - 1, 0.0) + following * scores.get(one.seq + 1, 0.0)
        total = one.score + around + reference * named.get(one.seq, 0.0)
        score = total / whole * factors.get(one.seq, 1.0)
        terms = {**one.terms, "around": around}
        if one.seq in named:
            terms["reference"] = named[one.seq]
        if one.seq in factors:
            terms["source"] = factors[one.seq]
        ranked.append(Fused(seq=one.seq, score=score, terms=terms))
    return sorted(ranked, key=lambda f: (-f.score, f.seq))


def reciprocal_rank(named: Mapping[str, Scores], *, k: int = RRF_K) -> list[Fused]:
    """Return the sum of 1 / (k + rank) over the searches, best first."""
    totals: dict[int, float] = {}
    for scores in named.values():
        ranked = sorted(scores, key=lambda seq: (-scores[seq], seq))
        for rank, seq in enumerate(ranked, start=1):
            totals[seq] = totals.get(seq, 0.0) + 1 / (k + rank)
    fused = [
        Fused(seq=seq, score=score, terms={n: s[seq] for n, s in named.items() if seq in s})
        for seq, score in totals.items()
    ]
    return sorted(fused, key=lambda f: (-f.score, f.seq))


def recency(seqs: Sequence[int], *, as_of: int) -> dict[int, float]:
    """Return seq / as_of: 0 for the first message, 1 for the newest one asked about."""
    return {seq: seq / as_of if as_of > 0 else 1.0 for seq in seqs}
