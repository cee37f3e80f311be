"""Episodes: fixed-size runs of old messages, each compressed into a note of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctxeng.compaction.cuts import next_episode_end, reach_of
from ctxeng.compaction.state import State
from ctxeng.compaction.writing import Tools, write_summary
from ctxeng.core.artifacts import Artifact
from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts, snap_back
from ctxeng.core.protocols import Embedder, SummaryTask, Vectors
from ctxeng.store import Store


def due(
    state: State, tools: Tools, embedder: Embedder | None = None, *, chosen: int | None = None
) -> tuple[int, int] | None:
    """Return the index range (end exclusive) of the next episode, None when none is due.

    Args:
        chosen: the end a model chose, if one was asked.
    """
    start, border = state.uncovered("episode")
    end = next_episode_end(
        state.messages,
        start=start,
        old_until=state.old_until,
        settings=tools.settings.episodes,
        embed=(lambda messages: _rows(embedder, messages)) if embedder is not None else None,
        chosen=chosen,
    )
    if border is not None:  # a hole between current episodes is filled, however short it is
        end = border if end is None else min(end, border)
    return None if end is None else (start, end)


async def step(
    store: Store, state: State, tools: Tools, embedder: Embedder | None = None
) -> Artifact | None:
    """Write the next episode if one is due and return it.

    Raises:
        Conflict: somebody else wrote it first, or edited what it was made from.
    """
    planned = due(state, tools, embedder, chosen=await _chosen(state, tools))
    if planned is None:
        return None
    artifact = await write(state, tools, *planned)
    await store.insert_nodes([artifact], read_at_stamp=state.conversation.stamp)
    return artifact


async def write(state: State, tools: Tools, start: int, end: int) -> Artifact:
    """Return the next generation of an episode (end exclusive); nothing is stored."""
    read_from = overlap_start(state, start, tools.settings.episodes.overlap)
    return await write_summary(
        state,
        tools,
        SummaryTask(
            kind="episode",
            messages=state.messages[read_from:end],
            core_from_seq=start,
            core_to_seq=end - 1,
            target_tokens=tools.settings.episodes.target_tokens,
            language=state.conversation.language,
        ),
        kind="episode",
        version=state.next_version("episode", from_seq=start),
        read_from=read_from,
        read_to=end - 1,
    )


async def _chosen(state: State, tools: Tools) -> int | None:
    """Return the end a model chooses for the next episode; None where none is asked or due."""
    settings = tools.settings.episodes
    start, border = state.uncovered("episode")
    if tools.cutter is None or settings.cut != "model" or border is not None:
        return None
    reach = reach_of(start, settings)
    if state.old_until < reach:
        return None
    await tools.check(state)
    last = await tools.cutter.end_of_episode(
        state.messages[start:reach],
        settings,
        replicate=tools.replicate,
        conversation_id=state.conversation_id,
    )
    return last + 1


def overlap_start(state: State, start: int, overlap: int) -> int:
    """Return where the read range begins: ``overlap`` messages earlier, no tool pair split."""
    if overlap == 0 or start == 0:
        return start
    return snap_back(atomic_starts(state.messages), max(0, start - overlap))


def _rows(embedder: Embedder, messages: Sequence[Message]) -> Vectors:
    texts = [m.text[:600] or m.name for m in messages]
    return np.asarray(embedder.embed(texts, kind="passage"))
