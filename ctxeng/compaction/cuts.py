"""Where episodes end. Pure: a cut depends only on messages that are old already.

Every cut is an allowed one (``core.pairs``): no tool call is separated from its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts, snap_forward
from ctxeng.core.protocols import Vectors
from ctxeng.core.settings import EpisodeSettings

Similarities = Callable[[Sequence[Message]], Vectors]


def next_episode_end(
    messages: Sequence[Message],
    *,
    start: int,
    old_until: int,
    settings: EpisodeSettings,
    embed: Similarities | None = None,
) -> int | None:
    """Return the end (exclusive index) of the episode that begins at ``start``, None if not due.

    Args:
        messages: the conversation from seq 0.
        old_until: messages before this index are out of the recent window.
        embed: gives ``(n, dimensions)`` unit rows; needed for semantic cuts.
    """
    match settings.cut:
        case "fixed":
            size = settings.size - (settings.phase if start == 0 else 0)
            wanted = start + max(size, 1)
            reach = wanted
        case "exchange":
            reach = start + settings.max_size
            wanted = _exchange_end(messages, start, settings)
        case "semantic" | "model":
            reach = start + settings.max_size
            wanted = _semantic_end(messages, start, reach, settings, embed) if (
                old_until >= reach
            ) else reach  # fmt: skip
    if old_until < reach:
        return None
    end = snap_forward(atomic_starts(messages), wanted, end=len(messages))
    return end if end <= old_until else None


def _exchange_end(messages: Sequence[Message], start: int, settings: EpisodeSettings) -> int:
    """Return the exchange border nearest to ``size`` within the limits; max_size if there is none.

    An exchange begins at a user message that follows a message of another role.
    """
    low, high = start + settings.min_size, start + settings.max_size
    borders = [
        i
        for i in range(low, min(high, len(messages) - 1) + 1)
        if messages[i].role == "user" and messages[i - 1].role != "user"
    ]
    goal = start + settings.size
    return min(borders, key=lambda i: (abs(i - goal), i), default=high)


def _semantic_end(
    messages: Sequence[Message],
    start: int,
    reach: int,
    settings: EpisodeSettings,
    embed: Similarities | None,
) -> int:
    """Return the deepest dip of similarity between neighbours within the size limits.

    Source: depth score of TextTiling (Hearst, 1997), over one neighbour on each side.
    """
    if embed is None:
        return start + settings.size
    rows = embed(messages[start : reach + 1])
    if len(rows) < settings.min_size + 1:
        return start + settings.size
    near = np.sum(rows[:-1] * rows[1:], axis=1)
    depths = {
        start + i: float(2 * near[i - 1] - near[: i - 1].max(initial=near[i - 1])
                         - near[i:].max(initial=near[i - 1]))
        for i in range(settings.min_size, min(settings.max_size, len(near)) + 1)
    }  # fmt: skip
    goal = start + settings.size
    return min(depths, key=lambda i: (round(depths[i], 6), abs(i - goal), i), default=goal)
