"""Evidence recall at k and reciprocal rank of rankings. Pure functions over lists of seqs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ctxeng.harness.probes.model import Probe
from ctxeng.harness.stats.cluster import MeanInterval, mean_interval

OVERALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One probe's rankings, by method: seqs of messages, best first, each once."""

    probe: Probe
    rankings: Mapping[str, Sequence[int]]

    @property
    def category(self) -> str:
        """Return the category as imported, else the probe's kind."""
        return self.probe.category or self.probe.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRow:
    """One method over the probes of one category.

    Args:
        n: probes. recall: mean share of a probe's evidence messages among the first k, 0..1.
        mrr: mean of 1 / rank of the first evidence message within the first k, else 0.
    """

    method: str
    category: str
    k: int
    n: int
    recall: float
    mrr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """How much more recall one method has than another, probe by probe.

    Args:
        difference: mean of method − other. interval: 95 %, the session as unit; None where fewer
            than two sessions leave it unknown.
    """

    method: str
    other: str
    category: str
    k: int
    n: int
    difference: float
    interval: MeanInterval | None

    @property
    def is_worse(self) -> bool:
        """Return whether the whole interval lies below zero."""
        return self.interval is not None and self.interval.high < 0


def evidence_recall(ranking: Sequence[int], evidence: Collection[int], *, k: int) -> float:
    """Return the share of evidence messages among the first k, 0..1.

    Example:
        ``evidence_recall([7, 3, 9], {3, 4}, k=2)`` → ``0.5``
    """
    wanted = set(evidence)
    return len(wanted & set(ranking[:k])) / len(wanted)


def reciprocal_rank(ranking: Sequence[int], evidence: Collection[int], *, k: int) -> float:
    """Return 1 / rank of the first evidence message within the first k, 0 where there is none.

    Example:
        ``reciprocal_rank([7, 3, 9], {3, 9}, k=5)`` → ``0.5``
    """
    wanted = set(evidence)
    return next((1 / rank for rank, seq in enumerate(ranking[:k], start=1) if seq in wanted), 0.0)


def recall_rows(asked: Sequence[Ranked], *, ks: Sequence[int]) -> list[RecallRow]:
    """Return a row for every method, category (all of them first) and k."""
    return [
        RecallRow(
            method=method,
            category=category,
            k=k,
            n=len(probes),
            recall=float(np.mean(_recalls(probes, method, k))),
            mrr=float(
                np.mean(
                    [
                        reciprocal_rank(r.rankings[method], r.probe.evidence_seqs, k=k)
                        for r in probes
                    ]
                )
            ),
        )
        for method in _methods(asked)
        for category, probes in _categories(asked)
        for k in ks
    ]


def compared(asked: Sequence[Ranked], method: str, *, ks: Sequence[int]) -> list[Against]:
    """Return a method's difference from every other one, by category and k."""
    rows = []
    for other in _methods(asked):
        if method == other or method not in _methods(asked):
            continue
        for category, probes in _categories(asked):
            for k in ks:
                gains = _recalls(probes, method, k) - _recalls(probes, other, k)
                sessions = [ranked.probe.session_id for ranked in probes]
                rows.append(
                    Against(
                        method=method,
                        other=other,
                        category=category,
                        k=k,
                        n=len(probes),
                        difference=float(gains.mean()),
                        interval=mean_interval(gains, sessions),
                    )
                )
    return rows


def _recalls(probes: Sequence[Ranked], method: str, k: int) -> np.ndarray:
    return np.array(
        [evidence_recall(r.rankings[method], r.probe.evidence_seqs, k=k) for r in probes]
    )


def _methods(asked: Sequence[Ranked]) -> list[str]:
    return list(asked[0].rankings) if asked else []


def _categories(asked: Sequence[Ranked]) -> list[tuple[str, list[Ranked]]]:
    names = sorted({ranked.category for ranked in asked})
    groups = [(name, [r for r in asked if r.category == name]) for name in names]
    return [(OVERALL, list(asked)), *groups]
