"""The raw part of the prompt: newest messages first, tool pairs whole, a minimum always there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ctxeng.context.sections import priced
from ctxeng.context.shortening import shorten_message
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
        squeezed = _squeeze_into(unit, kept, room_tokens, min_messages=min_messages, count=count)
        if squeezed is None:
            break
        kept = squeezed
        used = sum(block.tokens for block in kept)
    shown = {block.message_seqs for block in kept}
    return FittedRecent(
        kept=tuple(kept), dropped=tuple(b for b in blocks if b.message_seqs not in shown)
    )


def _units(blocks: Sequence[Block]) -> list[list[Block]]:
    messages = [block.message for block in blocks if block.message is not None]
    starts = [*atomic_starts(messages), len(blocks)]
    return [list(blocks[a:b]) for a, b in pairwise(starts) if b > a]


def _squeeze_into(
    unit: Sequence[Block], newer: Sequence[Block], room: int, *, min_messages: int, count: Count
) -> list[Block] | None:
    """Return unit and newer blocks shortened to fit evenly, None when not even marks fit."""
    everything = [*unit, *newer]
    fair = room // max(len(everything), 1)
    small = sum(b.tokens for b in everything if b.tokens <= fair)
    large = [b for b in everything if b.tokens > fair]
    if not large:
        return everything if sum(b.tokens for b in everything) <= room else None
    each = (room - small) // len(large)
    squeezed = [_shortened(b, each, count) if b.tokens > fair else b for b in everything]
    return squeezed if sum(b.tokens for b in squeezed) <= room else None


def _shortened(block: Block, room: int, count: Count) -> Block:
    assert block.message is not None
    bare = priced(
        replace(block, text="", message=block.message.with_(content="", blocks=())), count
    )
    text_room = room - bare.tokens
    while True:
        message = shorten_message(block.message, room_tokens=max(0, text_room), count=count)
        cut = block.shortened or message.text != block.message.text
        shorter = priced(replace(block, text=message.text, message=message, shortened=cut), count)
        if shorter.tokens <= room or text_room <= 0:
            return shorter
        text_room -= shorter.tokens - room
