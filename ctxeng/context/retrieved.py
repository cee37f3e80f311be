"""Found message groups as blocks: matches before neighbours, cut around what was asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ctxeng.context.budget import Cut
from ctxeng.context.sections import Count
from ctxeng.context.shortening import MARK, around_match, squeezed
from ctxeng.context.shortening import cut_around as cut_text
from ctxeng.context.snapshot import Snapshot
from ctxeng.core.context import Block, LeftOut
from ctxeng.core.messages import result_text
from ctxeng.retrieval import MessageGroup, Retrieval
from ctxeng.retrieval.analyser import analyse

FEWEST_TOKENS = 5  # of a found message that was cut and holds nothing that was asked for


def retrieved_blocks(
    groups: Sequence[MessageGroup], snapshot: Snapshot, shown: Collection[int]
) -> list[Block]:
    """Return the messages of groups by what they were found for: a match, then its neighbours.

    The best match comes first, whichever group it is in: merged groups may hold a whole session.

    Args:
        shown: messages that are in the prompt anyway and are left out.
    """
    blocks = []
    for place, group in enumerate(groups):
        matched = group.matched_seqs
        for message in group.messages:
            if message.seq in shown:
                continue
            at = bisect_left(matched, message.seq)
            beside = matched[max(0, at - 1) : at + 1]
            nearest = min(beside, key=lambda s: (abs(s - message.seq), -group.matches[s], s))
            meta = {"group": place, "score": group.score, "before": message.seq < nearest}
            block = replace(snapshot.raw("retrieved", message), meta=meta)
            away = abs(nearest - message.seq)
            order = (-group.matches[nearest], nearest, away, message.seq)
            blocks.append((order, block))
    return [block for _, block in sorted(blocks, key=lambda found: found[0])]


def cut_around(question: str, count: Count) -> Cut:
    """Return how found messages that do not fit are cut: to the words around the match.

    A neighbour that shares no word with the question keeps the end that is next to the match. A
    tool call and its result keep their places and ids, and something of what each says. A message
    of which neither a word that is asked for nor a few others would be left is left out.
    """
    terms = analyse(question)

    def cut(unit: Sequence[Block], room_tokens: int) -> Sequence[Block] | None:
        if len(unit) > 1:
            around = partial(cut_text, wanted=terms)
            shorter = squeezed(unit, room_tokens, count, cut=around)
            return None if shorter is None or any(map(_says_nothing, shorter)) else shorter
        ends = bool(unit[0].meta.get("before"))
        one = around_match(unit[0], terms, room_tokens, count, towards_end=ends)
        return [one] if one and _says_something(one.text, terms, count) else None

    return cut


def not_searched(found: Retrieval | None) -> list[LeftOut]:
    """Return what a shut gate or the least score kept out: seqs alone, nothing was loaded."""
    if found is None:
        return []
    if not found.decision.retrieve:
        return [LeftOut(kind="retrieved", reason="gated", tokens=0)]
    grouped = {message.seq for group in found.groups for message in group.messages}
    return [
        LeftOut(kind="retrieved", reason="below_score", tokens=0, message_seqs=(seq,))
        for seq in found.below_score
        if seq not in grouped
    ]


def retrieval_record(found: Retrieval | None) -> dict[str, Any]:
    """Return what the gate said and what was ranked and grouped, as a context records it."""
    if found is None:
        return {}
    return {
        "retrieve": found.decision.retrieve,
        "exact": found.decision.exact,
        "reasons": list(found.decision.reasons),
        "ranked": [
            {"seq": f.seq, "score": round(f.score, 6)}
            | {name: round(term, 6) for name, term in f.terms.items()}
            for f in found.ranked
        ],
        "groups": [
            {"seqs": [m.seq for m in g.messages], "matched": list(g.matched_seqs),
             "score": round(g.score, 6)}
            for g in found.groups
        ],
    }  # fmt: skip


def _says_something(text: str, wanted: Collection[str], count: Count) -> bool:
    said = text.replace(MARK.strip(), " ").strip()
    return count(said) >= FEWEST_TOKENS or not set(analyse(said)).isdisjoint(wanted)


def _says_nothing(block: Block) -> bool:
    """Return whether nothing but the mark is left of a text or of a tool result."""
    message = block.message
    said = (message.content, *map(result_text, message.blocks)) if message is not None else ()
    return MARK.strip() in {text.strip() for text in said}
