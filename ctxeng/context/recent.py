"""The raw part of the prompt: newest messages first, tool pairs whole, a minimum always there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ctxeng.context.shortening import squeezed
from ctxeng.core.context import Block
from ctxeng.core.pairs import atomic_starts

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRecent:
    """The kept blocks, oldest first, and those that are not."""

    kept: tuple[Block, ...]
    dropped: tuple[Block, ...]

    @property
    def tokens(self) -> int:
        """Return the tokens of the kept blocks."""
        return sum(block.tokens for block in self.kept)


def fit_recent(
    blocks: Sequence[Block], *, room_tokens: int | None, min_messages: int, count: Count
) -> FittedRecent:
    """Return the newest run of whole units that fits.

    A unit is a run of messages that no cut may split. The newest units that hold at least
    ``min_messages`` are kept by shortening their texts; only when even that does not fit, fewer.
    """
    if room_tokens is None or sum(b.tokens for b in blocks) <= room_tokens:
        return FittedRecent(kept=tuple(blocks), dropped=())
    units = _units(blocks)
    kept: list[Block] = []
    used = 0
    for unit in reversed(units):
        cost = sum(block.tokens for block in unit)
        if used + cost <= room_tokens:
            kept[:0] = unit
            used += cost
            continue
        if len(kept) >= min_messages:
            break
        shorter = squeezed([*unit, *kept], room_tokens, count)
        if shorter is None:
            break
        kept = shorter
        used = sum(block.tokens for block in kept)
    shown = {block.message_seqs for block in kept}
    return FittedRecent(
        kept=tuple(kept), dropped=tuple(b for b in blocks if b.message_seqs not in shown)
    )


def _units(blocks: Sequence[Block]) -> list[list[Block]]:
    messages = [block.message for block in blocks if block.message is not None]
    starts = [*atomic_starts(messages), len(blocks)]
    return [list(blocks[a:b]) for a, b in pairwise(starts) if b > a]
