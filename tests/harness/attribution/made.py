"""Probes, artifacts, blocks and contexts by hand, with short names for what a test varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ctxeng.core.artifacts import Artifact, ArtifactKind
from ctxeng.core.context import Block, BlockKind, Context, LeftOut, LeftOutReason
from ctxeng.core.messages import Message
from ctxeng.harness.probes.model import Probe, Span

CONVERSATION = "run/arm/0/s"


def probe(
    *spans: tuple[int, int], expect: Sequence[Sequence[str]] = (("$500",),), **changes: Any
) -> Probe:
    """Return a probe with these evidence spans."""
    made = Probe(
        probe_id="p",
        session_id="s",
        question="How much?",
        kind="number",
        evidence=tuple(Span(from_seq=a, to_seq=b) for a, b in spans),
        expect=tuple(tuple(group) for group in expect),
    )
    return replace(made, **changes)


def artifact(kind: ArtifactKind, first: int, last: int, text: str = "", **changes: Any) -> Artifact:
    """Return an artifact that stands for ``first..last``, visible from the message after it."""
    level, version = changes.get("level", 0), changes.get("version", 1)
    made = Artifact(
        artifact_id=f"{CONVERSATION}/{kind}/{level}/{first}-{last}/v{version}",
        conversation_id=CONVERSATION,
        kind=kind,
        from_seq=first,
        to_seq=last,
        read_from_seq=first,
        read_to_seq=last,
        visible_from_seq=last + 1,
        text=text,
        tokens=len(text),
        model="offline",
        prompt_hash="h",
    )
    return replace(made, **changes)


def raw(
    seq: int, kind: BlockKind = "recent", text: str | None = None, *, shortened: bool = False
) -> Block:
    """Return one message as a block."""
    said = f"message {seq}" if text is None else text
    return Block(
        kind=kind,
        text=said,
        tokens=10,
        message_seqs=(seq,),
        message=Message(seq=seq, role="user", content=said),
        shortened=shortened,
    )


def made_of(source: Artifact, kind: BlockKind | None = None) -> Block:
    """Return an artifact as the block a prompt shows."""
    kinds: dict[ArtifactKind, BlockKind] = {
        "rolling": "summary",
        "episode": "episode",
        "node": "node",
        "memory": "memory",
    }
    return Block(
        kind=kind or kinds[source.kind],
        text=source.text,
        tokens=10,
        message_seqs=tuple(range(source.from_seq, source.to_seq + 1)),
        artifact_ids=(source.artifact_id,),
    )


def left(block: Block, reason: LeftOutReason) -> LeftOut:
    """Return the record of a block that was left out."""
    return LeftOut(
        kind=block.kind,
        reason=reason,
        tokens=block.tokens,
        message_seqs=block.message_seqs,
        artifact_ids=block.artifact_ids,
    )


def context(
    *blocks: Block, as_of: int = 99, left_out: Sequence[LeftOut] = (), **changes: Any
) -> Context:
    """Return a prompt made of these blocks and the question."""
    question = Block(kind="question", text="How much?", tokens=3)
    made = Context(
        conversation_id=CONVERSATION,
        as_of=as_of,
        blocks=(*blocks, question),
        left_out=tuple(left_out),
        budget_tokens=1000,
        reserve_tokens=100,
    )
    return replace(made, **changes)


def messages(count: int, **texts: str) -> list[Message]:
    """Return messages of ten tokens each; ``m3="…"`` gives message 3 its text."""
    return [
        Message(
            seq=seq,
            role="user" if seq % 2 == 0 else "assistant",
            content=texts.get(f"m{seq}", f"message {seq}"),
            tokens=10,
        )
        for seq in range(count)
    ]
