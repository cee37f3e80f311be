"""Found message groups as blocks: matches before neighbours, cut around what was asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ctxeng.context.budget import Cut
from ctxeng.context.sections import Count
from ctxeng.context.shortening import around_match
from ctxeng.context.snapshot import Snapshot
from ctxeng.core.context import Block
from ctxeng.retrieval import MessageGroup
from ctxeng.retrieval.analyser import analyse


def retrieved_blocks(
    groups: Sequence[MessageGroup], snapshot: Snapshot, shown: Collection[int]
) -> list[Block]:
    """Return the messages of groups, group by group: the matched first, then the nearest.

    Args:
        shown: messages that are in the prompt anyway and are left out.
    """
    blocks = []
    for place, group in enumerate(groups):
        matched = group.matched_seqs
        ranked = sorted(group.messages, key=lambda m: (min(abs(m.seq - s) for s in matched), m.seq))
        for message in ranked:
            if message.seq in shown:
                continue
            nearest = min(matched, key=lambda s: (abs(s - message.seq), s))
            meta = {"group": place, "score": group.score, "before": message.seq < nearest}
            blocks.append(replace(snapshot.raw("retrieved", message), meta=meta))
    return blocks


def cut_around(question: str, count: Count) -> Cut:
    """Return how a found message that does not fit is cut: to the words around the match.

    A neighbour that shares no word with the question keeps the end that is next to the match.
    """
    terms = analyse(question)

    def cut(block: Block, room_tokens: int) -> Block | None:
        return around_match(
            block, terms, room_tokens, count, towards_end=bool(block.meta.get("before"))
        )

    return cut
