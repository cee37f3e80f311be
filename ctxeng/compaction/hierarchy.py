"""A tree of summaries: chunks of messages, then fan_in children to one parent, level by level."""

from __future__ import annotations

from dataclasses import dataclass

from ctxeng.compaction.state import State, run_from
from ctxeng.compaction.writing import Tools, write_summary
from ctxeng.core.artifacts import Artifact
from ctxeng.core.pairs import atomic_starts, snap_forward
from ctxeng.core.protocols import SummaryTask
from ctxeng.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNode:
    """The next node to write: from messages (level 0) or from children."""

    level: int
    from_seq: int
    to_seq: int
    children: tuple[Artifact, ...] = ()


def due(state: State, tools: Tools) -> DueNode | None:
    """Return the next due node, lowest level first, None when there is none."""
    settings = tools.settings.hierarchy
    start, border = state.uncovered("node", 0)
    wanted = start + settings.chunk_messages
    end = snap_forward(atomic_starts(state.messages), wanted, end=len(state.messages))
    if border is not None:  # a hole between current chunks is filled, however short it is
        wanted, end = min(wanted, border), min(end, border)
    if wanted <= state.old_until and end <= state.old_until:
        return DueNode(level=0, from_seq=start, to_seq=end - 1)
    for level in range(1, settings.levels):
        ready = _due_children(state, level, settings.fan_in)
        if ready:
            return DueNode(
                level=level,
                from_seq=ready[0].from_seq,
                to_seq=ready[-1].to_seq,
                children=tuple(ready),
            )
    return None


async def step(store: Store, state: State, tools: Tools) -> Artifact | None:
    """Write the next node if one is due and return it.

    Raises:
        Conflict: somebody else wrote it first, or edited what it was made from.
    """
    node = due(state, tools)
    if node is None:
        return None
    artifact = await write(state, tools, node)
    await store.insert_nodes([artifact], read_at_stamp=state.conversation.stamp)
    return artifact


async def write(state: State, tools: Tools, node: DueNode) -> Artifact:
    """Return the next generation of a node; nothing is stored."""
    settings = tools.settings.hierarchy
    budgets = settings.level_tokens
    target = (
        settings.chunk_tokens
        if node.level == 0
        else budgets[min(node.level, len(budgets)) - 1]
        if budgets
        else settings.chunk_tokens
    )
    return await write_summary(
        state,
        tools,
        SummaryTask(
            kind="node",
            level=node.level,
            messages=state.messages[node.from_seq : node.to_seq + 1] if node.level == 0 else (),
            parts=tuple(child.text for child in node.children),
            core_from_seq=node.from_seq,
            core_to_seq=node.to_seq,
            target_tokens=target,
            language=state.conversation.language,
        ),
        kind="node",
        level=node.level,
        version=state.next_version("node", level=node.level, from_seq=node.from_seq),
        read_from=node.from_seq,
        read_to=node.to_seq,
        parents=[child.artifact_id for child in node.children],
    )


def _due_children(state: State, level: int, fan_in: int) -> list[Artifact]:
    """Return the children of the next parent, empty if they are not all there.

    A parent has ``fan_in`` children; fewer only where it fills a hole between current parents.
    """
    start, border = state.uncovered("node", level)
    children = [c for c in state.of_kind("node", level - 1) if border is None or c.to_seq < border]
    run = run_from(children, start, limit=fan_in)
    fills_hole = bool(run) and border is not None and run[-1].to_seq + 1 == border
    return run if len(run) == fan_in or fills_hole else []
