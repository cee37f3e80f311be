"""The gate on labelled questions in three languages: its precision and recall, with intervals.

``needs`` says that the answer lies before the recent messages shown; most questions are minimal
pairs (one question, two recent windows). The gate was worked out on ``gate_seen.jsonl``, by who
had read it, and ``gate_unseen.jsonl``, by who had not and which has been read since. Only
``gate_fresh.jsonl`` was measured once, when the gate was final, and never used to change it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from ctxeng.embedding.minilm import MiniLmEmbedder
from ctxeng.retrieval.gate import should_retrieve, topic_cosine

FOLDER = Path(__file__).parent / "data"
HALVES = ("gate_seen", "gate_unseen", "gate_fresh")
# What holds, rounded down: (precision, recall). A gate open for every question would reach .49, 1.
HOLDS = {"gate_seen": (0.90, 1.0), "gate_unseen": (0.85, 0.96), "gate_fresh": (0.60, 0.77)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A question, the messages before it, and whether it needs older ones."""

    id: str
    language: str
    question: str
    needs: bool
    recent: list[str]


@dataclass(slots=True)
class Counts:
    """Decisions beside labels; shares with their 95 % Wilson interval."""

    right: int = 0  # open, and needed
    needless: int = 0
    missed: int = 0

    def line(self, name: str) -> str:
        """Return precision and recall in words."""
        precision = _share(self.right, self.right + self.needless)
        recall = _share(self.right, self.right + self.missed)
        return f"{name}: precision {precision}, recall {recall}"


def questions(half: str) -> list[Labelled]:
    """Return one half of the set."""
    lines = (FOLDER / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Labelled(**json.loads(line)) for line in lines]


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    """Embed every text of the set once."""
    asked = [one for half in HALVES for one in questions(half)]
    texts = sorted({t for one in asked for t in (one.question, *one.recent) if t.strip()})
    return dict(zip(texts, MiniLmEmbedder().embed(texts, kind="query"), strict=True))


def test_the_set_has_what_it_should() -> None:
    """360 or more, about half of them in need of retrieval, none twice, in three languages."""
    both = [one for half in HALVES for one in questions(half)]
    assert len(both) >= 360
    assert min(len(questions(half)) for half in HALVES) >= 180
    assert len({one.id for one in both}) == len(both)
    assert len({(one.question, *one.recent) for one in both}) == len(both)
    assert min(Counter(one.language for one in both).values()) >= 120
    assert 0.45 < np.mean([one.needs for one in both]) < 0.55


@pytest.mark.parametrize("half", HALVES)
def test_the_gate_opens_where_it_should(half: str, vectors: dict[str, np.ndarray]) -> None:
    """Printed by language (pytest -s); what holds over all languages is asserted."""
    by_language: dict[str, Counts] = {}
    for one in questions(half):
        window = [vectors[text] for text in one.recent if text.strip()]
        cosine = topic_cosine(vectors[one.question], window)
        is_open = should_retrieve(one.question, recent=one.recent, topic_cosine=cosine).retrieve
        for name in (one.language, "all"):
            counts = by_language.setdefault(name, Counts())
            counts.right += is_open and one.needs
            counts.needless += is_open and not one.needs
            counts.missed += one.needs and not is_open
    for name, counts in sorted(by_language.items()):
        print(counts.line(f"{half} {name}"))
    pooled = by_language["all"]
    least_precision, least_recall = HOLDS[half]
    assert pooled.right / (pooled.right + pooled.needless) >= least_precision
    assert pooled.right / (pooled.right + pooled.missed) >= least_recall


def _share(part: int, whole: int) -> str:
    low, high = proportion_confint(part, whole, method="wilson")
    return f"{part / whole:.2f} ({low:.2f} to {high:.2f}, n = {whole})"
