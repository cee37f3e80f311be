"""Say nothing twice: find the candidates that repeat what the prompt shows already.

A candidate is a repetition by

- **message id**: the search is told which messages are shown, and a message is in one group only;
- **source range**: a summary of messages that all stand in the prompt in their own words, uncut;
  or a message within the range of an artifact that kept every word (the lossless control);
- **normalised text**: each of its lines stands in one other block, whatever the case, the spaces,
  the width of the letters and the list marks. Messages of two speakers never repeat each other,
  and a text of fewer than three terms (“Yes.”) says what its surroundings say and repeats nothing.

What is more important stays. A repetition comes back where what it repeats did not fit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ctxeng.context.budget import Fitted, Section, fit, left_out
from ctxeng.core.context import Block, BlockKind
from ctxeng.core.pairs import bound
from ctxeng.retrieval.analyser import analyse

MIN_TERMS = 3
_OF_A_RANGE: frozenset[BlockKind] = frozenset({"summary", "node", "episode"})
_LIST_MARK = re.compile(r"^(?:[-*•・]|\d{1,3}[.)])\s+(?:\[\w+\]\s+)?")

Repeated = Mapping[int, Sequence[Block]]  # id of a block -> the blocks that say the same


def fit_once(
    sections: Sequence[Section], shown: Sequence[Block], room_tokens: int | None
) -> Fitted:
    """Return what fits without repetitions, and those among what was left out.

    Args:
        sections: candidates in order of priority. shown: raw blocks that are in the prompt anyway.
    """
    wanted: set[int] = set()
    while True:
        repeated = repetitions(sections, shown, wanted=wanted)
        candidates = [
            replace(s, blocks=[b for b in s.blocks if id(b) not in repeated]) for s in sections
        ]
        fitted = fit(candidates, room_tokens=room_tokens)
        kept = {id(b) for blocks in (shown, *fitted.kept.values()) for b in blocks}
        alone = {i for i, same in repeated.items() if not kept.issuperset(map(id, same))}
        if not alone:
            break
        wanted |= alone
    fitted.left_out += [
        left_out(block, "duplicate")
        for section in sections
        for block in section.blocks
        if id(block) in repeated
    ]
    return fitted


def repetitions(
    sections: Sequence[Section], shown: Sequence[Block], *, wanted: Collection[int] = ()
) -> Repeated:
    """Return which candidates say nothing that is not said by a more important block.

    Args:
        wanted: ids of blocks that are kept all the same.
    """
    if not any(section.blocks for section in sections):
        return {}
    said = _Said()
    for block in shown:
        if block.kind != "pinned":  # evidence that is shown beside a prompt leaves it as it is
            said.add(block)
    repeated: dict[int, Sequence[Block]] = {}
    for unit in (unit for section in sections for unit in _units(section.blocks)):
        same = [() if id(block) in wanted else said.same(block) for block in unit]
        originals = [other for others in same for other in others]
        for block in unit:
            if all(same):  # what belongs together repeats together, or not at all
                repeated[id(block)] = originals
            else:
                said.add(block)
    return repeated


def _units(blocks: Sequence[Block]) -> list[list[Block]]:
    return [[blocks[i] for i in unit] for unit in bound([block.message for block in blocks])]


@dataclass(slots=True)
class _Said:
    """What the prompt says so far: by line, by message, and by lossless artifact."""

    by_line: dict[str, list[Block]]
    by_seq: dict[int, Block]
    lossless: list[Block]

    def __init__(self) -> None:
        self.by_line, self.by_seq, self.lossless = {}, {}, []

    def add(self, block: Block) -> None:
        for line in set(_lines(block.text)):
            self.by_line.setdefault(line, []).append(block)
        if block.kind in ("recent", "tail") and not block.shortened:
            self.by_seq.update(dict.fromkeys(block.message_seqs, block))
        if block.meta.get("lossless"):
            self.lossless.append(block)

    def same(self, block: Block) -> Sequence[Block]:
        """Return the blocks that a block repeats, none where it says something of its own."""
        return self._same_range(block) or self._same_text(block)

    def _same_range(self, block: Block) -> Sequence[Block]:
        seqs = block.message_seqs
        if block.is_raw:
            return [b for b in self.lossless if set(seqs) <= set(b.message_seqs)][:1]
        if seqs and block.kind in _OF_A_RANGE and all(seq in self.by_seq for seq in seqs):
            return [self.by_seq[seq] for seq in seqs]
        return ()

    def _same_text(self, block: Block) -> Sequence[Block]:
        lines = _lines(block.text)
        if not lines or lines[0] not in self.by_line or not _says_something(block.text):
            return ()
        for other in self.by_line[lines[0]]:
            holds_all = all(
                any(other is held for held in self.by_line.get(line, ())) for line in lines
            )
            if holds_all and _may_repeat(block, other):
                return (other,)
        return ()


def _may_repeat(block: Block, other: Block) -> bool:
    """Return whether the same words are the same statement: two speakers make two."""
    if block.message is None or other.message is None:
        return True
    return block.message.speaker == other.message.speaker


@lru_cache(maxsize=4096)
def _lines(text: str) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    lines = (" ".join(_LIST_MARK.sub("", line.strip()).split()) for line in folded.splitlines())
    return tuple(line for line in lines if line)


@lru_cache(maxsize=4096)
def _says_something(text: str) -> bool:
    return len(analyse(text)) >= MIN_TERMS
