"""What could go into the prompt, section by section. Pure functions over loaded values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Block, BlockKind
from ctxeng.core.messages import Message
from ctxeng.core.prompt import block_markup

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A conversation as of a seq: what a build works from.

    Args:
        messages: tokens counted, the question's own message excluded where it is saved already.
        window_start: index of the first message of the recent window.
    """

    messages: tuple[Message, ...]
    artifacts: tuple[Artifact, ...]
    window_start: int

    def of_kind(self, *kinds: str) -> list[Artifact]:
        """Return artifacts of the given kinds, in order of range."""
        found = [a for a in self.artifacts if a.kind in kinds]
        return sorted(found, key=lambda a: (a.from_seq, a.level, a.version))


def raw_block(kind: BlockKind, message: Message, count: Count) -> Block:
    """Return one message as a block."""
    block = Block(
        kind=kind,
        text=message.text,
        tokens=0,
        message_seqs=(message.seq,),
        message=message,
    )
    return priced(block, count)


def artifact_block(kind: BlockKind, artifact: Artifact, count: Count) -> Block:
    """Return an artifact as a block that stands for its core range."""
    block = Block(
        kind=kind,
        text=artifact.text,
        tokens=0,
        message_seqs=tuple(range(artifact.from_seq, artifact.to_seq + 1)),
        artifact_ids=(artifact.artifact_id,),
        meta={"level": artifact.level, "version": artifact.version},
    )
    return priced(block, count)


def priced(block: Block, count: Count) -> Block:
    """Return the block with its tokens counted, markup included."""
    from dataclasses import replace

    overhead = 4 if block.is_raw else 2  # role and joins around a message
    return replace(block, tokens=count(block_markup(block)) + overhead)


def covered_until(artifacts: Sequence[Artifact]) -> int:
    """Return the first seq that no run of artifacts from seq 0 covers.

    Rolling versions and memory snapshots cover from 0; episodes and nodes tile.
    """
    end = 0
    for artifact in sorted(artifacts, key=lambda a: (a.from_seq, a.to_seq)):
        if artifact.from_seq > end:
            break
        end = max(end, artifact.to_seq + 1)
    return end


def finest_mix(
    nodes: Sequence[Artifact], *, room_tokens: int | None, count: Count
) -> list[Artifact]:
    """Return the finest tiling of summary nodes that fits its budget, oldest ranges coarsened first.

    Start from level 0 everywhere; while the sum is over the budget, replace the oldest run of
    siblings by their parent. Nodes that still do not fit are left to the caller's budget.
    """
    by_id = {node.artifact_id: node for node in nodes}
    chosen = sorted((n for n in nodes if n.level == 0), key=lambda n: n.from_seq)
    if room_tokens is None:
        return chosen
    cost = {node.artifact_id: artifact_block("node", node, count).tokens for node in nodes}
    parents = sorted((n for n in nodes if n.level > 0), key=lambda n: (n.level, n.from_seq))
    while sum(cost[n.artifact_id] for n in chosen) > room_tokens:
        present = {n.artifact_id for n in chosen}
        parent = next(
            (p for p in parents if p.parents and set(p.parents) <= present & set(by_id)), None
        )
        if parent is None:
            break
        children = set(parent.parents)
        chosen = sorted(
            [*(n for n in chosen if n.artifact_id not in children), parent],
            key=lambda n: n.from_seq,
        )
    return chosen
