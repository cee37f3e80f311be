"""One analyser for indexed text and for questions: any text in, a list of terms out.

NFKC and casefold; identifiers whole and in parts; stems for Latin-script words, stop words
dropped; two-character terms for Chinese, Japanese and Korean, whose words have no borders.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

_HAN_AND_KANA = (
    r"\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f\U00020000-\U0003ffff"
)
_HANGUL = r"\uac00-\ud7a3"
_OTHER = rf"[^\W_{_HAN_AND_KANA}{_HANGUL}]"  # letters and digits of scripts that space their words
_TOKEN = re.compile(
    rf"(?P<unspaced>[{_HAN_AND_KANA}]+|[{_HANGUL}]+)"
    rf"|{_OTHER}+(?:[._:/@#\-+'’]{_OTHER}+|_+{_OTHER}+)*"
)
MAX_WORD = 40  # what is longer is no word: it is kept as it is
_PART = re.compile(r"[^\W\d_]+|\d+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HIRAGANA_ONLY = re.compile(r"[\u3040-\u309f]{2}")

# Function words of English: they carry no topic. (A closed class, listed by hand.)
_STOP_WORD_LIST = """
a an the and or but if then than so as at by for from in into of off on onto out over to
up with about after again all also am any are aren be because been before being both can
cannot could couldn did didn do does doesn doing don down during each few further had hadn
has hasn have haven having he her here hers him his how i im ive id ill is isn it its
itself just let me more most my no nor not now only other our ours own same she should
shouldn some such that thats the their theirs them there these they this those through too
under until very was wasn we were weren what whats when where which while who whom whose
why will won would wouldn you your yours yourself s t d ll m re ve
"""
STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


def analyse(text: str) -> list[str]:
    """Return the terms of a text, repeats included, in order.

    Example:
        ``analyse("buildApiMessages?")`` → ``["buildapimessages", "build", "api", "messag"]``
    """
    terms: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        terms += _bigrams(match.group()) if match["unspaced"] else _terms(match.group())
    return terms


def _terms(token: str) -> list[str]:
    folded = token.casefold()
    parts = [
        part
        for piece in _CAMEL.split(token)
        for part in _PART.findall(piece.casefold())
    ]  # fmt: skip
    if len(parts) > 1:
        whole = [] if folded in STOP_WORDS or _is_contraction(folded) else [folded]
        return whole + [term for part in parts if (term := _stem(part))]
    term = _stem(folded)
    return [term] if term else []


def _is_contraction(word: str) -> bool:
    head, _, tail = word.replace("’", "'").partition("'")
    return bool(tail) and tail in {"s", "t", "d", "ll", "m", "re", "ve"} and head.isalpha()


def _stem(word: str) -> str:
    if word in STOP_WORDS:
        return ""
    if not word.isalpha() or not 3 <= len(word) <= MAX_WORD:
        return word
    return _stemmed(word)


@lru_cache(maxsize=50_000)
def _stemmed(word: str) -> str:
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def _bigrams(run: str) -> list[str]:
    """Return overlapping pairs of characters; pairs of hiragana are grammar and are dropped."""
    if len(run) == 1:
        return [run]
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    kept = [pair for pair in pairs if not _HIRAGANA_ONLY.fullmatch(pair)]
    return kept or pairs
