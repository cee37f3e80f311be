"""Guards: a summary that is no summary is a failure with a reason; the old state stays."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Literal

from ctxeng.core.errors import CompactionFailed
from ctxeng.core.protocols import TokenCounter

Script = Literal["latin", "kana", "han", "hangul", "cyrillic", "other", "none"]

REPEAT_SHARE = 0.9
DRIFT_SHARE = 0.2
_SCRIPTS: tuple[tuple[str, Script], ...] = (
    ("LATIN", "latin"),
    ("HIRAGANA", "kana"),
    ("KATAKANA", "kana"),
    ("CJK", "han"),
    ("HANGUL", "hangul"),
    ("CYRILLIC", "cyrillic"),
)
_WORDS = re.compile(r"\w+", re.UNICODE)


def check_summary(text: str, source: str, *, counter: TokenCounter, room_tokens: int) -> None:
    """Refuse a summary that is empty, longer than its input and its target, or its input again.

    Args:
        source: what the summariser was given.
        room_tokens: a summary up to this length is never too long: tiny inputs may grow into
            full sentences.

    Raises:
        CompactionFailed: with the reason ``empty``, ``longer_than_input`` or ``repeats_input``.
    """
    if not text.strip():
        raise CompactionFailed("empty")
    given, written = counter.count(source), counter.count(text)
    if written > max(given, room_tokens):
        raise CompactionFailed("longer_than_input", f"{written} tokens from {given}")
    if given > room_tokens and written >= REPEAT_SHARE * given and _same_words(text, source):
        raise CompactionFailed("repeats_input", f"{written} tokens from {given}")


def script_of(text: str) -> Script:
    """Return the script most letters are in; Japanese is ``kana`` as soon as a tenth is."""
    counts: Counter[Script] = Counter()
    for character, number in Counter(text).items():
        if character.isalpha():
            counts[_script(character)] += number
    total = counts.total()
    if not total:
        return "none"
    if counts["kana"] >= total * 0.1:
        return "kana"
    return max(counts, key=lambda script: counts[script])


def drifted(summary: str, sources: Sequence[str]) -> bool:
    """Return whether a summary is written in another script than its source."""
    source = script_of("\n".join(sources))
    return source not in ("none", "other") and script_of(summary) not in (source, "none")


@cache
def _script(character: str) -> Script:
    name = unicodedata.name(character, "")
    return next((script for prefix, script in _SCRIPTS if name.startswith(prefix)), "other")


def _same_words(text: str, source: str) -> bool:
    """Return whether a text holds nearly all words of its source, whatever stands around them."""
    mine, given = (Counter(_WORDS.findall(t.casefold())) for t in (text, source))
    return bool(given) and (mine & given).total() >= REPEAT_SHARE * given.total()
