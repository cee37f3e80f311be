"""Plain BM25 over messages: the baseline that needs neither compaction nor vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rank_bm25 import BM25Okapi

from ctxeng.core.messages import Message
from ctxeng.harness.experiments.inputs import Inputs
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.presence import values_present
from ctxeng.retrieval.analyser import analyse
from ctxeng.tokens import open_counter

_NOTHING = ["\0"]  # BM25 needs a term in every document


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25Row:
    """What the best messages of one probe hold, within a budget.

    Args:
        value: all expected values are in them; None for unanswerable probes.
        evidence_share: share of the evidence messages among them, 0..1; None without evidence.
    """

    probe_id: str
    value: bool | None
    evidence_share: float | None
    tokens: int


def bm25_rows(inputs: Inputs, *, budget_tokens: int) -> Iterator[Bm25Row]:
    """Yield a row for every probe: the messages that BM25 ranks first, as many as fit.

    Source: Robertson and Zaragoza 2009, as ``rank_bm25.BM25Okapi`` with its defaults, over the
    terms of the product's own analyser.
    """
    count = open_counter("heuristic").count
    for session in inputs.sessions:
        messages = session.messages
        ranker = BM25Okapi([analyse(message.text) or _NOTHING for message in messages])
        sizes = [count(message.text) for message in messages]
        for probe in inputs.probes[session.session_id]:
            scores = ranker.get_scores(analyse(probe.question))
            last = len(messages) - 1 if probe.ask_at_seq is None else probe.ask_at_seq
            ranked = sorted(range(last + 1), key=lambda seq: (-scores[seq], seq))
            yield _row(probe, messages, _fitting(ranked, sizes, budget_tokens), sizes)


def _fitting(ranked: Sequence[int], sizes: Sequence[int], budget_tokens: int) -> list[int]:
    kept, used = [], 0
    for seq in ranked:
        if used + sizes[seq] <= budget_tokens:
            kept.append(seq)
            used += sizes[seq]
    return kept


def _row(
    probe: Probe, messages: Sequence[Message], kept: Sequence[int], sizes: Sequence[int]
) -> Bm25Row:
    wanted = set(probe.evidence_seqs)
    held = [messages[seq].text for seq in kept]
    return Bm25Row(
        probe_id=probe.probe_id,
        value=values_present(probe.expect, held) if probe.answerable and probe.expect else None,
        evidence_share=len(wanted & set(kept)) / len(wanted) if wanted else None,
        tokens=sum(sizes[seq] for seq in kept),
    )
