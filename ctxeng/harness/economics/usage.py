"""The prompt cache in a finished run: what the rules foretell, and what the provider billed.

A run asks its probes back to back, so nothing expires: the forecast is what the provider should
bill if the calls of a session and arm come one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ctxeng.harness.economics.caching import Split, splits
from ctxeng.harness.economics.turns import Piece, Request

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheUse:
    """The reader's prompts of one arm of a run.

    Args:
        foretold: by the rules, from the prompts as they were built.
        billed: by the usage that came back; all tokens uncached where no cache took part.
    """

    arm: str
    requests: int
    foretold: Split
    billed: Split


def cache_uses(contexts: Iterable[Row], calls: Iterable[Row], *, min_tokens: int) -> list[CacheUse]:
    """Return what every arm of a run read from the cache.

    Args:
        contexts: rows of the contexts table, each session's in the order of asking.
        calls: rows of the calls table, of all roles.
        min_tokens: the shortest prefix the reader's model caches.
    """
    foretold: dict[str, Split] = {}
    requests: dict[str, int] = {}
    for (arm, _), rows in groupby(contexts, key=lambda row: (row["arm"], row["session_id"])):
        asked = [_request(row) for row in rows]
        requests[arm] = requests.get(arm, 0) + len(asked)
        for split in splits(asked, placement="built", ttl="5m", min_tokens=min_tokens):
            foretold[arm] = foretold.get(arm, Split()) + split
    billed = _billed(calls)
    return [
        CacheUse(arm=arm, requests=requests[arm], foretold=split, billed=billed.get(arm, Split()))
        for arm, split in foretold.items()
    ]


def _request(row: Row) -> Request:
    """Return a context as a request; its blocks stand for the texts they were made of."""
    blocks = json.loads(row["blocks"])
    pieces = [
        Piece(role="system", text=_name(block, row), tokens=int(block["tokens"]))
        for block in blocks
    ]
    built = tuple(i for i, block in enumerate(blocks) if block.get("cache_breakpoint"))
    return Request(seq=int(row["as_of"]), at_seconds=0.0, pieces=tuple(pieces), built=built)


def _name(block: Mapping[str, Any], row: Row) -> str:
    """Return what tells a block's text: its sources, or its words where they are stored with it."""
    asked = row["probe_id"] if block["kind"] == "question" else block.get("text")
    return json.dumps([block["kind"], block["artifacts"], block["seqs"], asked])


def _billed(calls: Iterable[Row]) -> dict[str, Split]:
    billed: dict[str, Split] = {}
    for row in calls:
        if row["role"] == "reader" and row["input_tokens"] is not None:
            billed[row["arm"]] = billed.get(row["arm"], Split()) + Split(
                read=row["cached_tokens"] or 0,
                written=row["cache_write_tokens"] or 0,
                uncached=row["input_tokens"],
            )
    return billed
