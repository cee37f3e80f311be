"""What of a conversation stands raw in its prompt, and what artifacts stand for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxeng.context.snapshot import Snapshot
from ctxeng.core.artifacts import Artifact
from ctxeng.core.messages import Message
from ctxeng.core.settings import StrategySettings
from ctxeng.core.windows import window_start


@dataclass(frozen=True, slots=True, kw_only=True)
class RawHistory:
    """The raw messages that could be shown: the window, and the uncovered ones before it.

    Args:
        late: the compactions that were due before and are not visible yet.
        hidden: uncovered, and not shown because compaction is late.
    """

    recent: tuple[Message, ...]
    tail: tuple[Message, ...]
    covered: frozenset[int]
    late: tuple[str, ...]
    hidden: tuple[Message, ...] = ()


def without_question(messages: Sequence[Message], question: str) -> tuple[Message, ...]:
    """Leave the question out of the history where the product has saved it already."""
    last = messages[-1] if messages else None
    if last is None or last.role != "user" or last.blocks:
        return tuple(messages)
    saved = last.content.strip() == question.strip()
    return tuple(messages[:-1] if saved else messages)


def raw_history(
    messages: Sequence[Message], snapshot: Snapshot, settings: StrategySettings
) -> RawHistory:
    """Split the history: recent window, uncovered tail before it, and what artifacts cover."""
    window, keep_raw = settings.window, snapshot.head.keep_raw
    start = window_start(messages, budget_tokens=window.tokens, min_messages=window.min_messages)
    covered = frozenset(
        seq for a in usable(snapshot, settings) for seq in range(a.from_seq, a.to_seq + 1)
    )
    keeps = settings.compacts and settings.compaction.when_late == "keep_raw"
    uncovered = tuple(m for m in messages[:start] if m.seq not in covered)
    shown = keeps or keep_raw
    return RawHistory(
        recent=tuple(messages[start:]),
        tail=uncovered if shown else (),
        covered=covered,
        late=() if keep_raw else _late(uncovered, settings),
        hidden=uncovered if settings.compacts and not shown else (),
    )


def usable(snapshot: Snapshot, settings: StrategySettings) -> list[Artifact]:
    """Return the artifacts that the strategy shows; none of a conversation that is kept raw."""
    if snapshot.head.keep_raw:
        return []
    kinds = {
        "rolling": settings.rolling.enabled,
        "node": settings.hierarchy.enabled,
        "episode": settings.episodes.enabled,
        "memory": settings.memory.enabled,
    }
    return [a for a in snapshot.artifacts if kinds[a.kind] and a.text.strip()]


def _late(uncovered: Sequence[Message], settings: StrategySettings) -> tuple[str, ...]:
    """Return the compactions that were due before this build and are not visible yet."""
    waiting = sum(m.tokens or 0 for m in uncovered)
    episodes = settings.episodes
    longest = episodes.size if episodes.cut == "fixed" else episodes.max_size
    late = []
    if episodes.enabled and len(uncovered) > longest:
        late.append("episodes")
    if settings.rolling.enabled and waiting > 2 * settings.rolling.threshold_tokens:
        late.append("rolling")
    if settings.hierarchy.enabled and len(uncovered) > 2 * settings.hierarchy.chunk_messages:
        late.append("hierarchy")
    return tuple(late)
