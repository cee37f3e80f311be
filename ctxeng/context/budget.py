"""Fit sections into a token budget. Pure: blocks in, blocks and a list of what was left out.

Each section has a share. In order of priority a section takes what it needs up to its share plus
whatever more important sections did not use; what is left flows to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxeng.core.context import Block, LeftOut, LeftOutReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section's candidates, in the order in which they are given up last to first.

    Args:
        blocks: most valuable first; the fitting stops paying from the end.
        share_tokens: its own part of the budget.
    """

    name: str
    blocks: Sequence[Block]
    share_tokens: int
    reason: LeftOutReason = "over_budget"


@dataclass(slots=True)
class Fitted:
    """What was kept of each section, and what was not."""

    kept: dict[str, list[Block]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


def fit(sections: Sequence[Section], *, room_tokens: int | None) -> Fitted:
    """Return what fits, sections given in order of priority.

    A block that does not fit is left out and smaller ones after it are still tried. A second
    round hands what nobody used to the sections in order of priority again.

    Args:
        room_tokens: None means no limit at all.
    """
    fitted = Fitted(kept={section.name: [] for section in sections})
    if room_tokens is None:
        for section in sections:
            fitted.kept[section.name] = list(section.blocks)
        return fitted
    room = room_tokens
    spare = 0
    waiting: list[tuple[Section, list[Block]]] = []
    for section in sections:
        limit = min(room, section.share_tokens + spare)
        kept, rest = _take(section.blocks, limit)
        used = sum(block.tokens for block in kept)
        room -= used
        spare = max(0, section.share_tokens + spare - used)
        fitted.kept[section.name] = kept
        waiting.append((section, rest))
    for section, unpaid in waiting:
        kept, rest = _take(unpaid, room)
        room -= sum(block.tokens for block in kept)
        chosen = {id(block) for block in (*fitted.kept[section.name], *kept)}
        fitted.kept[section.name] = [b for b in section.blocks if id(b) in chosen]
        fitted.left_out += [left_out(block, section.reason) for block in rest]
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


def _take(blocks: Sequence[Block], room: int) -> tuple[list[Block], list[Block]]:
    kept: list[Block] = []
    rest: list[Block] = []
    for block in blocks:
        if block.tokens <= room:
            kept.append(block)
            room -= block.tokens
        else:
            rest.append(block)
    return kept, rest
