"""Answer a question with the statement of the prompt that matches it best, or UNKNOWN."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ctxeng.models.offline.prompt import without_tags
from ctxeng.models.offline.words import sentences, words

UNKNOWN = "UNKNOWN"
# Share of the question's weight that a statement must carry. On LoCoMo abstaining does not tell the
# answerable from the unanswerable at any value (0.25: 14 % and 10 % abstain), so it is kept low:
# it only stops answers that share next to nothing with the question.
ANSWER_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the prompt with its distinct words."""

    text: str
    words: frozenset[str]


def answer(question: str, blocks: Sequence[str]) -> str:
    """Return the best-matching statement of the blocks, or exactly ``UNKNOWN``.

    A question's words weigh by their rarity in this prompt. Of equal statements the later wins:
    a newer value stands after an older one. Questions are not answers.
    """
    wanted = set(words(question))
    if not wanted:
        return UNKNOWN
    statements = [s for block in blocks for s in _statements(block)]
    counts = Counter(word for s in statements for word in s.words & wanted)
    weights = {w: math.log(1 + len(statements) / max(1, counts[w])) for w in wanted}
    total = math.fsum(weights.values())  # exact sums: a set's order differs between processes
    best, best_score = "", 0.0
    for statement in statements:
        score = math.fsum(weights[word] for word in statement.words & wanted)
        if score >= best_score and score > 0:
            best, best_score = statement.text, score
    return best if total and best_score / total >= ANSWER_SHARE else UNKNOWN


@lru_cache(maxsize=4_000)
def _statements(block: str) -> tuple[Statement, ...]:
    return tuple(
        Statement(sentence, frozenset(words(sentence)))
        for sentence in sentences(without_tags(block))
        if not sentence.endswith(("?", "？"))
    )
