"""Times of day in words, rewritten in digits: English, Spanish, and Chinese minutes before an hour.

``half past three``, ``las tres y media`` and ``差一刻四点`` become ``3:30``, ``3:30`` and
``3点45分``; where the half of the day is told, it stands with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ctxeng.harness.scoring.numerals import (
    HAN,
    HOURS,
    InDigits,
    Reader,
    eastern_value,
    english_value,
    rewritten,
)
from ctxeng.harness.scoring.spanish import SPANISH, spanish_value

_DAY_PARTS = {
    "in the morning": "am", "in the afternoon": "pm", "in the evening": "pm", "at night": "night",
    "de la mañana": "am", "de la madrugada": "am", "de la tarde": "pm", "de la noche": "night",
}  # fmt: skip
_PART = rf"(?:\s(?P<part>{'|'.join(_DAY_PARTS)})\b)?"
_HOURS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_MINUTES = {"half": 30, "quarter": 15}
_SPANISH_MINUTES = {"media": 30, "cuarto": 15}
_AFTER_HOUR = r"(?=\s*(?:[.,;!?)]|$|[^\x00-\x7f]|in the\b|at night\b|o'clock|[ap]\.?m\b|sharp\b))"
_ENGLISH = re.compile(
    r"\b(?:a )?(?<!from )(?<!between )"
    r"(?P<minutes>half|quarter|five|ten|twenty(?:[- ]five)?|5|10|20|25)(?: minutes)?"
    rf" (?P<side>past|to|til|till|before|after) (?P<hour>{_HOURS}|1[0-2]|[1-9])\b"
    r"(?![:.]?\d| (?:hundred|thousand|million)\b)"
    rf"(?P<ends>{_AFTER_HOUR})?(?: o'clock)?{_PART}"
)
_SPANISH = re.compile(
    rf"\blas? (?P<hour>{SPANISH}|1[0-2]|[1-9])\b(?![:.]\d)"
    rf"(?: (?P<side>y|menos) (?P<minutes>media|cuarto|{SPANISH}|\d{{1,2}})\b)?"
    rf"(?: en punto\b)?{_PART}"
    r"|\b(?P<hour2>1[0-2]|[1-9])(?::(?P<minutes2>\d\d))? "
    r"(?P<part2>de la (?:mañana|madrugada|tarde|noche))\b"
)
_TOLD_BEFORE = re.compile(
    r"\b(?:a|son|es|sobre|hacia|desde|hasta|(?:antes|después|despues|partir) de) $"
)
_BARE = re.compile(r"\s*(?:[.,;!?)]|$)")
_LESS = re.compile(
    rf"差(?P<less>[一三]刻|(?:{HAN}{{1,3}}|\d{{1,2}})分)钟?到?"
    rf"(?P<half>上午|下午|早上|晚上|凌晨|中午)?(?P<hour>{HAN}{{1,3}}|\d{{1,2}})[点點]"
)


def _english(m: re.Match[str]) -> str | None:
    named = _MINUTES.get(m["minutes"])
    if named == 30 and m["side"] != "past":
        return None
    if named is None and (m["side"] in ("before", "after") or m["ends"] is None):
        return None
    minutes = named or _whole(m["minutes"], english_value)
    late = m["side"] in ("past", "after")
    hour = _whole(m["hour"], english_value)
    return _written(hour, minutes if late else -minutes, m["part"])


def _spanish(m: re.Match[str]) -> str | None:
    if m["hour2"]:
        return _written(int(m["hour2"]), int(m["minutes2"] or 0), m["part2"])
    hour = _whole(m["hour"], spanish_value)
    told = m["side"] or m["part"] or m.group().endswith("en punto")
    if not 1 <= hour <= 12 or not (told or _says_when(m)):
        return None
    minutes = _SPANISH_MINUTES.get(m["minutes"] or "") or _whole(m["minutes"] or "0", spanish_value)
    return _written(hour, -minutes if m["side"] == "menos" else minutes, m["part"])


def _says_when(m: re.Match[str]) -> bool:
    """Return whether a bare hour is a time: a las tres, but not las tres opciones."""
    if _TOLD_BEFORE.search(m.string[: m.start()]):
        return True
    ends = _BARE.match(m.string, m.end()) is not None
    return ends and (m.start() == 0 or m.string[: m.start()].endswith((" de ", " para ")))


def _less(m: re.Match[str]) -> str | None:
    hour, minutes = (
        _whole(part, lambda written: eastern_value(written) or 0)
        for part in (m["hour"], {"一刻": "15", "三刻": "45"}.get(m["less"], m["less"].rstrip("分")))
    )
    if not 1 <= hour <= 24 or not 0 < minutes < 60:
        return None
    return f"{m['half'] or ''}{hour - 1 or 12}点{60 - minutes}分"


def _whole(written: str, read: Callable[[str], float]) -> int:
    return int(written) if written.isdigit() else int(read(written))


def _written(hour: int, minutes: int, part: str | None) -> str:
    """Return an hour of the clock and minutes past (or, below 0, to) it as a time in digits."""
    if minutes < 0:
        hour, minutes = (hour - 1 or 12), minutes + 60
    half = _DAY_PARTS.get(part or "", "")
    if half == "night":
        half = "pm" if 5 <= hour < 12 else "am"
    if not minutes:
        return f"{hour} {half}" if half else f"{hour} o'clock"
    return f"{hour}:{minutes:02}{half and ' ' + half}"


_WORDS: tuple[tuple[re.Pattern[str], Reader, re.Pattern[str]], ...] = (
    (_ENGLISH, _english, re.compile(r"\b(?:past|to|till?|before|after) ")),
    (_SPANISH, _spanish, re.compile(r"\blas? |de la ")),
    (_LESS, _less, re.compile("差")),
)


@lru_cache(maxsize=20_000)
def clock_in_digits(shown: str) -> InDigits:
    """Return a text (normal form) with times in words, and Han and Korean numerals, in digits."""
    words = [(pattern, read) for pattern, read, hint in _WORDS if hint.search(shown)]
    return rewritten(shown, [*words, *HOURS])
