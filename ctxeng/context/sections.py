"""What could go into the prompt, section by section. Pure functions over loaded values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Block, BlockKind
from ctxeng.core.markup import nest, wrap
from ctxeng.core.messages import Message
from ctxeng.core.prompt import block_markup
from ctxeng.store.memories import SharedMemory

Count = Callable[[str], int]


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
    meta = {"level": artifact.level, "version": artifact.version, "lossless": artifact.lossless}
    block = Block(
        kind=kind,
        text=artifact.text,
        tokens=0,
        message_seqs=tuple(range(artifact.from_seq, artifact.to_seq + 1)),
        artifact_ids=(artifact.artifact_id,),
        meta=meta,
    )
    return priced(block, count)


def shared_block(memory: SharedMemory, count: Count) -> Block:
    """Return an item that another conversation remembers as a block; it stands for no message."""
    item = memory.item
    block = Block(
        kind="memory",
        text=f"- [{item.kind}] {f'{item.speaker}: ' if item.speaker else ''}{item.text}",
        tokens=0,
        artifact_ids=(memory.artifact_id,),
        meta={"shared": True, "score": memory.score},
    )
    return priced(block, count)


def priced(block: Block, count: Count) -> Block:
    """Return the block with its tokens counted, its own markup included."""
    overhead = 4 if block.is_raw else 2  # role and joins around a message
    return replace(block, tokens=count(_as_sent(block)) + overhead)


def framed(blocks: Sequence[Block], count: Count) -> list[Block]:
    """Return the blocks, the first inside each shared tag priced with that tag."""
    open_tags: set[tuple[str, int]] = set()
    paid: list[Block] = []
    for block in blocks:
        new = [tag for tag in _tags_around(block) if tag not in open_tags]
        open_tags.update(new)
        cost = sum(count(nest(name, "")) for name, _ in new)
        paid.append(replace(block, tokens=block.tokens + cost) if cost else block)
    return paid


def frame_tokens(blocks: Sequence[Block], count: Count) -> int:
    """Return what the shared tags around blocks cost when all of them are kept."""
    return sum(b.tokens for b in framed(blocks, count)) - sum(b.tokens for b in blocks)


def _as_sent(block: Block) -> str:
    if block.kind not in ("retrieved", "pinned") or block.message is None:
        return block_markup(block)
    seq, speaker = block.message.seq, block.message.name
    return wrap("message", block.text, seq=seq, speaker=speaker)


def _tags_around(block: Block) -> list[tuple[str, int]]:
    match block.kind:
        case "episode":
            return [("episodes", 0)]
        case "retrieved":
            return [("retrieved", 0), ("group", int(block.meta.get("group", 0)))]
        case "pinned":
            return [("evidence", 0)]
        case _:
            return []


def finest_mix(
    nodes: Sequence[Artifact], *, room_tokens: int | None, count: Count
) -> list[Artifact]:
    """Return the finest tiling of summary nodes that fits its budget, the oldest coarsened first.

    Start from the lowest level there is of every range; while the sum is over the budget, replace
    the oldest run of siblings by their parent. Nodes that still do not fit are left to the
    caller's budget.
    """
    chosen = _finest(nodes)
    if room_tokens is None:
        return chosen
    cost = {node.artifact_id: artifact_block("node", node, count).tokens for node in nodes}
    parents = sorted((n for n in nodes if n.parents), key=lambda n: (n.level, n.from_seq))
    while sum(cost[n.artifact_id] for n in chosen) > room_tokens:
        present = {n.artifact_id for n in chosen}
        parent = next((p for p in parents if set(p.parents) <= present), None)
        if parent is None:
            break
        children = set(parent.parents)
        chosen = sorted(
            [*(n for n in chosen if n.artifact_id not in children), parent],
            key=lambda n: n.from_seq,
        )
    return chosen


def _finest(nodes: Sequence[Artifact]) -> list[Artifact]:
    """Return the nodes of the lowest level, and higher ones where no lower one covers a range."""
    chosen: list[Artifact] = []
    covered: set[int] = set()
    for node in sorted(nodes, key=lambda n: (n.level, n.from_seq)):
        seqs = range(node.from_seq, node.to_seq + 1)
        if not covered.issuperset(seqs):
            chosen.append(node)
            covered.update(seqs)
    return sorted(chosen, key=lambda n: (n.from_seq, n.level))
