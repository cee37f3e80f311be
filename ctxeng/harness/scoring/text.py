"""Normal forms that matching works on."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

SPACELESS = r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\u3005\uac00-\ud7a3\uff66-\uff9f"
_SPACELESS = re.compile(f"[{SPACELESS}]")
_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "ʼ": "'", "‐": "-",
     "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-", "\u00a0": " ", "\u200b": None,
     "\u2060": None, "\ufeff": None}
)  # fmt: skip
_COLUMNS = re.compile(r"(?<=\d)(?:[ ]*[\n\r\t]\s*|\s{2,})(?=\d)")
_SPACE = re.compile(r"(?!(?<=\d)\n\d)\s+")  # all but the line break that parts two figures
_WORD = re.compile(rf"[{SPACELESS}]+|[^\W_{SPACELESS}]+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\s_\-./]+")
_SUFFIX = re.compile(r"(?:ing|ed|es|s|ly)$")
_STOP_LIST = """
a an and are as at be been but by can do does for from had has have he her his how i if in is it its
me my of on or our she so that the their them then there they this to us was we were will with you
your
"""
_STOP = frozenset(_STOP_LIST.split())


@lru_cache(maxsize=50_000)
def normal(text: str) -> str:
    """Return NFKC, case-folded text with plain quotes, hyphens and single spaces.

    Figures of two lines or columns are parted by a line break, so that they are not one number.
    """
    return cased(text).casefold()


@lru_cache(maxsize=50_000)
def cased(text: str) -> str:
    """Return the normal form before its case is folded."""
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return _SPACE.sub(" ", _COLUMNS.sub("\n", plain)).strip()


class Taken:
    """Which places of a text somebody has claimed."""

    def __init__(self, text: str) -> None:
        self._marks = bytearray(len(text))

    def meets(self, start: int, end: int) -> bool:
        """Return whether any place from ``start`` up to ``end`` is claimed."""
        return 1 in self._marks[start:end]

    def take(self, start: int, end: int) -> None:
        """Claim the places from ``start`` up to ``end``."""
        self._marks[start:end] = b"\1" * (end - start)


def is_spaceless(text: str) -> bool:
    """Return whether a text is written in a script without spaces between words."""
    return bool(_SPACELESS.search(text))


def word_sizes(text: str) -> tuple[int, int]:
    """Return the number of words between spaces, and of letters of scripts without spaces."""
    return len(_SPACELESS.sub(" ", text).split()), len(_SPACELESS.findall(text))


@lru_cache(maxsize=20_000)
def content_words(text: str) -> frozenset[str]:
    """Return the stemmed content words of a text; character pairs where words have no borders."""
    found: set[str] = set()
    for token in _WORD.findall(normal(text)):
        if _SPACELESS.match(token):
            found.update(token[i : i + 2] for i in range(max(1, len(token) - 1)))
        elif token not in _STOP:
            found.add(_SUFFIX.sub("", token) if len(token) > 4 else token)
    return frozenset(found)


def case_style(text: str) -> str:
    """Return an identifier without its style: ``maxRetryCount`` and ``max_retry-count`` agree."""
    spaced = " ".join(_CAMEL.split(text))
    return _SEPARATORS.sub(" ", spaced).casefold().strip()
