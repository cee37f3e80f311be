"""Answers without the expected value that may say it all the same: spelled apart, or reworded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxeng.harness.scoring.matching import Value
from ctxeng.harness.scoring.text import normal, word_sizes

SHORTEST_JOINED = 4
_HAN = re.compile("[一-龥]")
PARAPHRASE_WORDS = 4
NAMED_KINDS = ("identifier", "number", "date", "list", "order")  # values that are named as they are


def is_spelled_apart(values: Sequence[Value], text: str) -> bool:
    """Return whether an identifier's letters or parts stand in a text, spaced or told in words."""
    spoken = re.sub(r"\W?\bat\b\W?", "@", re.sub(r"\W?\bdot\b\W?", ".", normal(text)))
    joined = re.sub(r"\s", "", spoken)
    return any(
        (len(v.shown) == 2 and any(c in joined for c in _HAN.findall(v.shown)))
        or (v.type == "text" and len(v.shown) > 2 and _bare(v.shown) in _bare(joined))
        or (
            v.type == "identifier"
            and (
                (len(v.shown) >= SHORTEST_JOINED and v.shown in joined)
                or ("/" in v.shown and all(p in joined for p in v.shown.split("/") if p))
            )
            and not any(v.shown in word for word in normal(text).split())
        )
        for v in values
    )


def _bare(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def may_paraphrase(values: Sequence[Value], text: str, kind: str) -> bool:
    """Return whether an answer without a word of the value may still say it: a phrase for a phrase.

    A name is not paraphrased; an answer as short as the value names something else.
    """
    spaced, spaceless = word_sizes(text)
    if kind in NAMED_KINDS or spaced + spaceless / 3 < PARAPHRASE_WORDS:
        return False
    return not all(v.text[:1].isupper() or v.type != "text" for v in values)
