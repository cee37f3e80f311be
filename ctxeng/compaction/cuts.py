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
    chosen: int | None = None,
) -> int | None:
    """Return the end (exclusive index) of the episode that begins at ``start``, None if not due.

    Args:
        messages: the conversation from seq 0.
        old_until: messages before this index are out of the recent window.
        embed: gives ``(n, dimensions)`` unit rows; needed for semantic cuts.
        chosen: for ``cut = "model"``, the end a model chose; None: as a semantic cut.

    Cuts that look for a good place wait until ``max_size`` messages are old and look at those
    only, so that compacting late cuts as compacting at once does.
    """
    reach = reach_of(start, settings)
    if old_until < reach:
        return None
    match settings.cut:
        case "fixed":
            wanted = reach
        case "exchange":
            wanted = _exchange_end(messages, start, settings)
        case "semantic" | "model":
            wanted = chosen or _semantic_end(messages, start, settings, embed)
    end = snap_forward(atomic_starts(messages), wanted, end=len(messages))
    return end if end <= old_until else None


def reach_of(start: int, settings: EpisodeSettings) -> int:
    """Return the index before which all messages must be old for an episode to be cut."""
    if settings.cut != "fixed":
        return start + settings.max_size
    return start + settings.size - (settings.phase if start == 0 else 0)


def _exchange_end(messages: Sequence[Message], start: int, settings: EpisodeSettings) -> int:
    """Return the exchange border nearest to ``size`` within the limits; max_size if there is none.

    An exchange begins at a user message that follows a message of another role.
    """
    high = start + settings.max_size
    borders = [
        i
        for i in range(start + settings.min_size, high)
        if messages[i].role == "user" and messages[i - 1].role != "user"
    ]
    goal = start + settings.size
    return min(borders, key=lambda i: (abs(i - goal), i), default=high)


def _semantic_end(
    messages: Sequence[Message],
    start: int,
    settings: EpisodeSettings,
    embed: Similarities | None,
) -> int:
    """Return the deepest dip of similarity between neighbours within the size limits.

    Without an embedder: ``size``, within the limits.

    Source: depth score of TextTiling (Hearst, 1997), over one neighbour on each side.
    """
    goal = start + min(max(settings.size, settings.min_size), settings.max_size)
    if embed is None:
        return goal
    rows = embed(messages[start : start + settings.max_size])
    near = np.sum(rows[:-1] * rows[1:], axis=1)
    depths = {
        start + i: float(2 * near[i - 1] - near[: i - 1].max(initial=near[i - 1])
                         - near[i:].max(initial=near[i - 1]))
        for i in range(settings.min_size, settings.max_size)
    }  # fmt: skip
    return min(depths, key=lambda i: (round(depths[i], 6), abs(i - goal), i), default=goal)
