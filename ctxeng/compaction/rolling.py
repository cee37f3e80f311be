"""Rolling compaction: one structured task state, rewritten when enough has piled up."""

from __future__ import annotations

from dataclasses import replace

from ctxeng.compaction.models import transcript
from ctxeng.compaction.state import State
from ctxeng.compaction.writing import Tools, write_summary
from ctxeng.core.artifacts import Artifact
from ctxeng.core.pairs import atomic_starts, snap_back, snap_forward
from ctxeng.core.protocols import SummaryTask
from ctxeng.store import Store


def due(state: State, tools: Tools) -> tuple[Artifact | None, int, int] | None:
    """Return the previous version and the index range to fold in, None when nothing is due.

    Due means: messages outside the recent window that no version covers sum up to at least the
    threshold.
    """
    previous = state.newest("rolling")
    start = previous.to_seq + 1 if previous is not None else 0
    waiting = state.messages[start : state.old_until]
    if sum(m.tokens or 0 for m in waiting) < tools.settings.rolling.threshold_tokens:
        return None
    return previous, start, state.old_until


async def step(store: Store, state: State, tools: Tools) -> Artifact | None:
    """Write the next version if one is due and return it.

    Raises:
        Conflict: somebody else wrote it first, or edited what it was made from.
    """
    planned = due(state, tools)
    if planned is None:
        return None
    version = await write(state, tools, *planned)
    await store.insert_rolling(
        version, expected_version=version.version - 1, read_at_stamp=state.conversation.stamp
    )
    return version


async def write(
    state: State, tools: Tools, previous: Artifact | None, start: int, end: int
) -> Artifact:
    """Return the next version: the previous one with messages folded in, as many as fit.

    Nothing is stored.
    """
    end = _fitting_end(state, tools, previous, start, end)
    artifact = await write_summary(
        state,
        tools,
        SummaryTask(
            kind="rolling",
            messages=state.messages[start:end],
            previous=previous.text if previous is not None else None,
            core_from_seq=start,
            core_to_seq=end - 1,
            target_tokens=tools.settings.rolling.target_tokens,
            language=state.conversation.language,
        ),
        kind="rolling",
        version=state.next_version("rolling"),
        read_from=start,
        read_to=end - 1,
        parents=[previous.artifact_id] if previous is not None else [],
    )
    return _covering_everything(artifact)


def _covering_everything(artifact: Artifact) -> Artifact:
    name = f"{artifact.conversation_id}/rolling/0/0-{artifact.to_seq}/v{artifact.version}"
    return replace(artifact, artifact_id=name, from_seq=0)


def _fitting_end(
    state: State, tools: Tools, previous: Artifact | None, start: int, end: int
) -> int:
    """Shorten the span so that the summariser's window holds it; at least one atomic run stays."""
    if tools.summariser.lossless:
        return end
    room = tools.window_tokens // 2 - (previous.tokens if previous is not None else 0)
    used, reach = 0, start
    for message in state.messages[start:end]:
        used += tools.counter.count(transcript([message], core_from=start))
        if used > room and reach > start:
            break
        reach = message.seq + 1
    if reach == end:
        return end
    starts = atomic_starts(state.messages)
    cut = snap_back(starts, reach)
    return cut if cut > start else snap_forward(starts, start + 1, end=end)
