"""The rankings that are compared: the searches alone, each way to fuse them, a plain library."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ctxeng.core.messages import Message
from ctxeng.core.settings import RetrievalSettings
from ctxeng.harness.ranking.tuning import Weights
from ctxeng.retrieval.indexing import named_text
from ctxeng.retrieval.retriever import Found, Told, fuse

LIBRARY = "bm25_library"
HYBRID = "hybrid"
PRESETS: tuple[str, ...] = ("convex", "article", "rrf")
_WORD = re.compile(r"\w+")


def searched(
    found: Found, settings: RetrievalSettings, *, as_of: int, told: Told
) -> dict[str, list[int]]:
    """Return the ranking of each search that the server has, and of each preset."""
    rankings: dict[str, list[int]] = {
        name: [hit.seq for hit in hits] for name, hits in found.items()
    }
    for preset in PRESETS:
        changed = settings.model_copy(update={"preset": preset})
        rankings[preset] = fused(found, changed, as_of=as_of, told=told)
    return rankings


def fused(found: Found, settings: RetrievalSettings, *, as_of: int, told: Told) -> list[int]:
    """Return the seqs of production's fusion, best first."""
    return [hit.seq for hit in fuse(settings, found, as_of=as_of, told=told)]


class PlainBm25:
    """What one gets from a library at once: ``rank_bm25``'s BM25Okapi over lower-cased words.

    Each message stands alone with its speaker's name; no stems, no stop words, no CJK analysis.
    It sees the whole conversation whatever seq is asked at, and ranks up to that seq.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        from rank_bm25 import BM25Okapi

        words = [_words(named_text(message)) for message in messages]
        self._seqs = [message.seq for message in messages]
        self._index = BM25Okapi(words) if any(words) else None

    def rank(self, question: str, *, as_of: int, limit: int) -> list[int]:
        """Return the best seqs up to ``as_of`` that share a word with the question."""
        if self._index is None:
            return []
        scores = self._index.get_scores(_words(question))
        order = np.argsort(-scores, kind="stable")
        ranked = [self._seqs[i] for i in order if scores[i] > 0 and self._seqs[i] <= as_of]
        return ranked[:limit]


def hybrid_at(
    found: Found,
    settings: RetrievalSettings,
    grid: Sequence[Weights],
    *,
    as_of: int,
    told: Told,
    depth: int,
) -> list[list[int]]:
    """Return the first ``depth`` seqs of the convex ranking at each set of weights."""
    return [
        fused(
            found,
            settings.model_copy(update={"preset": "convex", **weights._asdict()}),
            as_of=as_of,
            told=told,
        )[:depth]
        for weights in grid
    ]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
