"""Position of a fact, read from provenance: what each block and artifact says it came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.harness.probes.model import Probe, Span

Bucket = Literal["recent", "edge", "gap", "boundary", "interior", "mixed", "none"]
BUCKETS: tuple[Bucket, ...] = ("recent", "edge", "gap", "boundary", "interior", "mixed", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a probe's evidence stands in one prompt.

    Args:
        tail: raw, but in an unfinished episode before the window.
        distilled: an artifact that covers it has been folded into memory or a higher level.
        retrieved: brought back raw by the search. evicted: loaded, then cut by the budget.
    """

    bucket: Bucket
    tail: bool = False
    distilled: bool = False
    retrieved: bool = False
    evicted: bool = False


def position(
    probe: Probe, context: Context, visible: Sequence[Artifact], seams: Iterable[int]
) -> Position:
    """Return a probe's position: the bucket its spans have in common, else ``mixed``.

    Args:
        visible: artifacts a prompt at the context's ``as_of`` could use.
        seams: first seqs of the arm's own core ranges, see :func:`seams_of`.
    """
    if not probe.evidence:
        return Position(bucket="none")
    borders = sorted(set(seams))
    found = {bucket_of(span, context, visible, borders) for span in probe.evidence}
    evidence = set(probe.evidence_seqs)
    tail = _seqs(context, "tail")
    raw = _seqs(context, "recent", "tail")
    return Position(
        bucket=found.pop() if len(found) == 1 else "mixed",
        tail=bool(evidence & tail),
        distilled=any(_distilled(seq, visible) for seq in evidence - raw),
        retrieved=bool(evidence & _seqs(context, "retrieved")),
        evicted=_evicted(evidence, context),
    )


def bucket_of(
    span: Span, context: Context, visible: Sequence[Artifact], seams: Sequence[int]
) -> Bucket:
    """Return one span's bucket, tested in the order recent, edge, gap, boundary, interior.

    A message that was cut short stands partly in the prompt, so that its span is ``edge``.
    """
    whole = _whole_seqs(context)
    raw = _seqs(context, "recent", "tail")
    if all(seq in whole for seq in span.seqs):
        return "recent"
    if any(seq in raw for seq in span.seqs):
        return "edge"
    if not all(any(a.covers(seq) for a in visible) for seq in span.seqs):
        return "gap"
    return "boundary" if crosses(span, seams) else "interior"


def crosses(span: Span, seams: Iterable[int]) -> bool:
    """Return whether a seam stands inside a span."""
    return any(span.from_seq < seam <= span.to_seq for seam in seams)


def seams_of(artifacts: Sequence[Artifact]) -> tuple[int, ...]:
    """Return where the core ranges of an arm meet: the first seq of every range but the first.

    The finest tiling counts: episodes, else level-0 nodes, else the steps of the rolling summary.
    """
    episodes = [a for a in artifacts if a.kind == "episode"]
    chunks = [a for a in artifacts if a.kind == "node" and a.level == 0]
    if episodes or chunks:
        return tuple(sorted({a.from_seq for a in episodes or chunks} - {0}))
    versions = sorted((a for a in artifacts if a.kind == "rolling"), key=lambda a: a.version)
    return tuple(earlier.to_seq + 1 for earlier, _ in pairwise(versions))


def _seqs(context: Context, *kinds: str) -> set[int]:
    return {seq for b in context.blocks if b.kind in kinds for seq in b.message_seqs}


def _whole_seqs(context: Context) -> set[int]:
    raw = (b for b in context.blocks if b.kind in ("recent", "tail") and not b.shortened)
    return {seq for block in raw for seq in block.message_seqs}


def _distilled(seq: int, visible: Sequence[Artifact]) -> bool:
    covering = [a for a in visible if a.covers(seq)]
    folded = any(a.kind == "memory" for a in covering)
    return folded or any(a.kind == "node" and a.level > 0 for a in covering)


def _evicted(evidence: set[int], context: Context) -> bool:
    shown = {seq for block in context.history for seq in block.message_seqs}
    cut = {
        seq
        for out in context.left_out
        if out.reason in ("over_budget", "folded", "keep_raw")
        for seq in out.message_seqs
    }
    return bool(evidence & (cut - shown))
