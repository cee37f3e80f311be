"""The recent-window rule, shared by compaction (what is old) and the builder (what stays raw)."""

from __future__ import annotations

from collections.abc import Sequence

from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts, snap_back


def window_start(
    messages: Sequence[Message], *, budget_tokens: int | None, min_messages: int
) -> int:
    """Return the index where the recent window begins; ``len(messages)`` for an empty window.

    Walk back from the newest message while the budget lasts; at least ``min_messages`` stay
    whatever they cost. The start is then moved back so that no tool pair is split.

    Args:
        messages: each with ``tokens`` set; the whole history, oldest first.
        budget_tokens: None means no limit: the window is everything.
        min_messages: 0 or more.
    """
    if budget_tokens is None:
        return 0
    used, start = 0, len(messages)
    for i in range(len(messages) - 1, -1, -1):
        used += messages[i].tokens or 0
        if used > budget_tokens and len(messages) - i > min_messages:
            break
        start = i
    if not any(message.blocks for message in messages[start:]):
        return start
    return snap_back(atomic_starts(messages), start)
