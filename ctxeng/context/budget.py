"""Fit sections into a token budget. Pure: blocks in, blocks and a list of what was left out.

Each section has a share. In order of priority a section takes what it needs up to its share plus
whatever more important sections did not use; what is left flows to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ctxeng.core.context import Block, LeftOut, LeftOutReason
from ctxeng.core.pairs import bound

Cut = Callable[[Sequence[Block], int], Sequence[Block] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section's candidates, in the order in which they are given up last to first.

    Args:
        blocks: most valuable first; the fitting stops paying from the end.
        share_tokens: its own part of the budget.
        cut: returns blocks that belong together cut to at most so many tokens, None where nothing
            of one would be left. Without it a block is kept whole or not at all.

    A tool call and its result are kept together or not at all.
    """

    name: str
    blocks: Sequence[Block]
    share_tokens: int
    reason: LeftOutReason = "over_budget"
    cut: Cut | None = None

    @property
    def claim_tokens(self) -> int:
        """Return what the section needs of its share."""
        return min(self.share_tokens, sum(block.tokens for block in self.blocks))


@dataclass(slots=True)
class Fitted:
    """What was kept of each section, and what was not."""

    kept: dict[str, list[Block]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


def fit(sections: Sequence[Section], *, room_tokens: int | None) -> Fitted:
    """Return what fits, sections given in order of priority.

    A block that does not fit is cut where its section knows how, else left out; smaller ones after
    it are still tried. A second round hands what nobody used to the sections in order of priority
    again; a section that cuts is given beforehand what will be over, so as not to cut too much.

    Args:
        room_tokens: None means no limit at all.
    """
    if room_tokens is None:
        return Fitted(kept={section.name: list(section.blocks) for section in sections})
    room, spare, unmet = room_tokens, 0, 0
    taken: list[dict[int, Block]] = []
    for place, section in enumerate(sections):
        limit = section.share_tokens + spare
        if section.cut is not None:
            claimed = sum(later.claim_tokens for later in sections[place + 1 :])
            limit = max(limit, room - unmet - claimed)
        kept = _take(section, {}, min(room, limit))
        used = _tokens(kept)
        room -= used
        spare = max(0, section.share_tokens + spare - used)
        unmet += sum(b.tokens for i, b in enumerate(section.blocks) if i not in kept)
        taken.append(kept)
    fitted = Fitted()
    for section, first in zip(sections, taken, strict=True):
        kept = _take(section, first, room)
        room -= _tokens(kept) - _tokens(first)
        fitted.kept[section.name] = [kept[i] for i in sorted(kept)]
        fitted.left_out += [
            left_out(block, section.reason)
            for i, block in enumerate(section.blocks)
            if i not in kept
        ]
    return fitted


def left_out(block: Block, reason: LeftOutReason, detail: str = "") -> LeftOut:
    """Return the record of a block that is not in the prompt."""
    return LeftOut(
        kind=block.kind,
        reason=reason,
        tokens=block.tokens,
        message_seqs=block.message_seqs,
        artifact_ids=block.artifact_ids,
        detail=detail,
    )


def _take(section: Section, paid: dict[int, Block], room: int) -> dict[int, Block]:
    """Return what is kept by place: what is paid for already, and what still fits the room."""
    kept = dict(paid)
    for places in bound([block.message for block in section.blocks]):
        if places[0] in kept:
            continue
        fits: Sequence[Block] | None = [section.blocks[place] for place in places]
        if fits and sum(block.tokens for block in fits) > room:
            fits = section.cut(fits, room) if section.cut is not None else None
        if fits:
            kept |= zip(places, fits, strict=True)
            room -= sum(block.tokens for block in fits)
    return kept


def _tokens(kept: dict[int, Block]) -> int:
    return sum(block.tokens for block in kept.values())
