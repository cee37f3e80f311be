"""Sentences and words, for Latin scripts and for Chinese, Japanese and Korean."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_KANA_HAN, _HANGUL = r"\u3040-\u30ff\u3400-\u9fff\u3005", r"\uac00-\ud7a3"
_SPACED = rf"[^\W_{_KANA_HAN}{_HANGUL}]+"  # "Kestrelの予算" is a name and Japanese, not one word
_WORD = re.compile(
    rf"[{_KANA_HAN}]+|[{_HANGUL}]+|{_SPACED}(?:[._:/@\-'’]{_SPACED})*",
    re.UNICODE,
)
_SPACELESS = re.compile(rf"[{_KANA_HAN}{_HANGUL}]")
_GRAMMAR = re.compile(r"[\u3040-\u309f]{2}")
_STOP_LIST = """
a an and are as at be been but by can could did do does for from had has have how i if in is it its
me my of on or our so that the their them then there they this to us was we were what when where
which who whom whose why will with would you your about say said again now just not no
"""
STOP = frozenset(_STOP_LIST.split())
_SUFFIX = re.compile(r"(?:ing|ed|es|s|ly)$")


def sentences(text: str) -> list[str]:
    """Return a text's sentences, in order, without empty ones."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


@lru_cache(maxsize=20_000)
def words(text: str) -> tuple[str, ...]:
    """Return the content words of a text: folded, crudely stemmed; character pairs for CJK."""
    found: list[str] = []
    for token in _WORD.findall(unicodedata.normalize("NFKC", text)):
        if _SPACELESS.match(token):
            pairs = [token[i : i + 2] for i in range(max(1, len(token) - 1))]
            found += [pair for pair in pairs if not _GRAMMAR.fullmatch(pair)]
            continue
        folded = token.casefold().replace("’", "'").removesuffix("'s")
        if folded not in STOP:
            found.append(_SUFFIX.sub("", folded) if len(folded) > 4 else folded)
    return tuple(found)


def estimated_tokens(text: str) -> int:
    """Return a rough token count: a quarter per ASCII character, one for any other."""
    plain = len(text.encode("ascii", "ignore"))
    return plain // 4 + (len(text) - plain) + 1
