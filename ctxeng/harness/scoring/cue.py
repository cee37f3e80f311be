"""One way of reading the words beside a value: which side, how far, in which script.

The words themselves stand in ``beside.toml``. They are looked for only in a text that has letters
of their script, and only as far as they reach.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ctxeng.harness.scoring.matching import Found

Words = Mapping[str, re.Pattern[str]]  # by script

CLAUSE_END = re.compile(r"[;!?。；！？\n、，]|[.,](?=\s|$)|(?<=[가-힣]고),? |\s(?:and|while|but)\s")
_ENDS = {"clause": CLAUSE_END, "sentence": re.compile(r"[!?。！？\n]|\.(?=\s|$)")}
_SCRIPT = {"en": "latin", "es": "latin", "ja": "han", "zh": "han", "ko": "hangul", "signs": "any"}
_LETTERS = {
    "latin": re.compile("[A-Za-z]"),
    "han": re.compile(r"[\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff]"),
    "hangul": re.compile("[가-힣]"),
}


@dataclass(frozen=True, slots=True)
class Cue:
    """Words on one side of a value (``before`` or ``after``).

    Args:
        reach: to the end of its ``clause``, its ``sentence`` or the ``text``; or characters.
        over: words that are over before the value begins, left out.
    """

    side: str
    reach: str | int
    words: Words
    over: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a value in a text."""

    shown: str
    place: Found

    def part(self, side: str, reach: str | int) -> str:
        """Return the text on one side, as far as a reach goes."""
        return _part(self.shown, self.place.start, self.place.end, side, reach)

    def words(self, cues: tuple[Cue, ...]) -> Iterator[str]:
        """Yield the words of cues that stand at the value."""
        scripts = scripts_in(self.shown)
        for cue in cues:
            if part := self.part(cue.side, cue.reach):
                part = cue.over.sub(" ", part) if cue.over else part
                yield from _found(cue.words, part, scripts)

    def says(self, cues: tuple[Cue, ...]) -> bool:
        """Return whether words of some cue stand at the value."""
        return any(True for _ in self.words(cues))


def found_in(words: Words, text: str) -> Iterator[str]:
    """Yield the words that stand in a text."""
    return _found(words, text, scripts_in(text))


def stands_in(words: Words, text: str) -> bool:
    """Return whether some of the words stand in a text."""
    return any(True for _ in found_in(words, text))


@lru_cache(maxsize=20_000)
def scripts_in(text: str) -> tuple[str, ...]:
    """Return the scripts a text has letters of, and ``any``."""
    return ("any", *(script for script, letters in _LETTERS.items() if letters.search(text)))


def _found(words: Words, text: str, scripts: tuple[str, ...]) -> Iterator[str]:
    for script in scripts:
        if script in words:
            yield from (m.group() for m in words[script].finditer(text))


@lru_cache(maxsize=1_000)
def _part(shown: str, start: int, end: int, side: str, reach: str | int) -> str:
    before = side == "before"
    if isinstance(reach, int):
        return shown[max(0, start - reach) : start] if before else shown[end : end + reach]
    whole = shown[:start] if before else shown[end:]
    return _ENDS[reach].split(whole)[-1 if before else 0] if reach in _ENDS else whole


def by_script(table: Mapping[str, Any], flags: int = 0) -> Words:
    """Return the alternatives of a table's languages as one pattern for each script."""
    found: dict[str, list[str]] = {}
    for language, script in _SCRIPT.items():
        if language in table:
            found.setdefault(script, []).extend(table[language])
    return {script: re.compile("|".join(words), flags) for script, words in found.items()}


def _cues(tables: list[Mapping[str, Any]]) -> tuple[Cue, ...]:
    return tuple(
        Cue(side, table["reach"], by_script(table), re.compile(over) if over else None)
        for table in tables
        for over in (table.get("over"),)
        for side in (("before", "after") if table["side"] == "both" else (table["side"],))
    )


_TABLES = tomllib.loads((files(__package__ or "") / "beside.toml").read_text("utf-8"))
CUES = {name: _cues(tables) for name, tables in _TABLES.items() if isinstance(tables, list)}
ASKED = {name: by_script(table) for name, table in _TABLES.items() if isinstance(table, dict)}
