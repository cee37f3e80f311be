"""Dates, weekdays and times of day, by value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ctxeng.harness.scoring.clock import clock_in_digits
from ctxeng.harness.scoring.text import Taken, normal

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
_SPANISH = ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
            "octubre", "noviembre", "diciembre")  # fmt: skip
_MONTH = {n[:3]: i for i, n in enumerate(_MONTHS, 1)} | {"sept": 9}
_MONTH |= {name: i for names in (_MONTHS, _SPANISH) for i, name in enumerate(names, 1)}
_MONTH_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
# "sun" and "sat" are words of their own.
_WEEKDAYS = (
    "monday|mon|月曜日?|월요일|(?:星期|周|礼拜)一",
    "tuesday|tues?|火曜日?|화요일|(?:星期|周|礼拜)二",
    "wednesday|weds?|水曜日?|수요일|(?:星期|周|礼拜)三",
    "thursday|thu(?:rs?)?|木曜日?|목요일|(?:星期|周|礼拜)四",
    "friday|fri|金曜日?|금요일|(?:星期|周|礼拜)五",
    "saturday|土曜日?|토요일|(?:星期|周|礼拜)六",
    "sunday|日曜日?|일요일|(?:星期|周|礼拜)[日天]",
)
_WEEKDAY = re.compile(
    rf"(?<![a-z])(?:{'|'.join(f'({names})' for names in _WEEKDAYS)})(?:'s|s)?(?![a-z])"
)

_DAY, _MON, _YEAR = r"(?P<d>\d{1,2})", r"(?P<m>\d{1,2})", r"(?P<y>\d{4})"
_LATE_DAY, _REAL_MONTH = r"(?P<d>1[3-9]|2\d|3[01])", r"(?P<m>0?[1-9]|1[0-2])"
_NUMERIC_FORMS = (
    rf"(?<!\d){_YEAR}(?:[-/.]|\. ){_MON}(?:[-/.]|\. ){_DAY}(?!\d)",
    # 15.03.2024, 3/15/2024, 3/3/2024: only where it does not matter which number is the month
    rf"(?<![\d./-]){_LATE_DAY}(?P<sep>[-/.]){_REAL_MONTH}(?P=sep){_YEAR}(?!\d)",
    rf"(?<![\d./-]){_REAL_MONTH}(?P<sep>[-/.]){_LATE_DAY}(?P=sep){_YEAR}(?!\d)",
    rf"(?<![\d./-])0?(?P<m>[1-9]|1[0-2])(?P<sep>[-/.])0?(?P<d>(?P=m))(?P=sep){_YEAR}(?!\d)",
    rf"(?<![\d./-]){_YEAR}-(?P<m>0[1-9]|1[0-2])(?![-/]?\d)",
)
_WORDED_FORMS = (
    rf"(?:(?<!\d){_YEAR}\s?[年년]\s?)?(?<!\d){_MON}\s?[月월]\s?{_DAY}\s?[日일号號]",
    rf"\b{_DAY}(?:st|nd|rd|th)?\s(?:of\s|de\s)?(?P<mn>{_MONTH_NAMES})\b\.?(?:,?\s(?:de\s)?{_YEAR})?",
    rf"\b(?P<mn>{_MONTH_NAMES})\.?\s(?:the\s)?{_DAY}(?:st|nd|rd|th)?\b(?!:\d)(?:,?\s{_YEAR})?",
    rf"\b(?P<mn>{_MONTH_NAMES})\.?,?\s(?:of\s)?{_YEAR}\b",
    rf"(?<!\d){_YEAR}\s?[年년]\s?{_MON}\s?[月월]",
    rf"(?<![\d./-]){_REAL_MONTH}/{_LATE_DAY}(?![\d/])",
)
_DATE_FORMS = tuple(
    (re.compile(form), numeric)
    for forms, numeric in ((_NUMERIC_FORMS, True), (_WORDED_FORMS, False))
    for form in forms
)
_HALVES = {
    "am": ("am", "午前", "朝", "早朝", "오전", "아침", "새벽", "上午", "早上", "凌晨", "清晨"),
    "pm": ("pm", "午後", "夕方", "오후", "저녁", "낮", "下午", "傍晚"),
    "night": ("夜", "晚上", "밤", "夜里", "夜晚", "深夜"),
}
_HALF_NAMES = "|".join(name for names in _HALVES.values() for name in names if name[0] > "z")
_AP = r"[ap]\.?m\b\.?"
_TIME = re.compile(
    rf"(?:(?P<ap0>{_HALF_NAMES})\s?)?(?<![\d:.])(?P<h>\d{{1,2}}):(?P<min>\d{{2}})(?!\d)(?::\d{{2}})?(?:\s?(?P<ap>{_AP}))?"
    rf"|\b(?P<h2>\d{{1,2}})(?:\s?(?P<ap2>{_AP})|\so'clock(?:\s(?P<ap4>{_AP}))?)"
    rf"|(?:(?P<ap3>{_HALF_NAMES})\s?)?(?<!\d)(?P<h3>\d{{1,2}})\s?(?:[時时시](?!間|间|간)|[点點](?=\s?(?:半|整|钟|鐘|\d{{1,2}}\s?分)))"
    r"\s?(?:(?P<min3>\d{1,2})\s?[分분]|(?P<half>半|반))?"
    rf"|(?P<ap5>{_HALF_NAMES})\s?(?P<h5>\d{{1,2}})\s?[点點]"
    r"|(?P<noon>\bnoon\b|\bmidday\b|\bmediodía\b|正午|정오)|(?P<midnight>\bmidnight\b|\bmedianoche\b|자정|午前零時)"
)
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a weekday or a time of day; None for parts that are not said.

    Args:
        weekday: 0 is Monday. minutes: since midnight.
        is_numeric: written in digits and separators alone (2024-03-15, 15:30).
    """

    year: int | None
    month: int | None
    day: int | None
    minutes: int | None
    start: int
    end: int
    weekday: int | None = None
    is_numeric: bool = False


@lru_cache(maxsize=20_000)
def moments(text: str) -> tuple[Moment, ...]:
    """Return the dates, weekdays and times of day in a text (places in its normal form)."""
    written = clock_in_digits(normal(text))
    found: list[Moment] = []
    taken = Taken(normal(text))

    def add(moment: Moment | None) -> None:
        if moment and not taken.meets(moment.start, moment.end):
            taken.take(moment.start, moment.end)
            found.append(moment)

    for form, numeric in _DATE_FORMS:
        for m in form.finditer(written.text):
            add(_date(m, written.span(*m.span()), numeric=numeric))
    for m in _TIME.finditer(written.text):
        add(_time(m, written.span(*m.span())))
    for m in _WEEKDAY.finditer(written.text):
        start, end = written.span(*m.span())
        add(Moment(None, None, None, None, start, end, weekday=(m.lastindex or 1) - 1))
    return tuple(found)


def only_moment(text: str) -> Moment | None:
    """Return the date or time a value consists of, None when it says anything more."""
    shown = normal(text)
    found = moments(shown)
    if len(found) != 1:
        return None
    rest = (shown[: found[0].start] + shown[found[0].end :]).strip(" .,")
    return found[0] if rest in ("", "on", "at", "the", "に", "에") else None


def same_moment(a: Moment, b: Moment) -> bool:
    """Return whether every part that both say agrees, and they share the telling parts."""
    shared = False
    for mine, theirs in ((a.year, b.year), (a.month, b.month), (a.day, b.day),
                         (a.minutes, b.minutes), (a.weekday, b.weekday)):  # fmt: skip
        if mine is not None and theirs is not None:
            if mine != theirs:
                return False
            shared = True
    wants_day = a.day is not None
    return shared and (not wants_day or b.day is not None)


def _date(m: re.Match[str], span: tuple[int, int], *, numeric: bool) -> Moment | None:
    parts = m.groupdict()
    month = int(parts["m"]) if parts.get("m") else _MONTH[parts["mn"]]
    day = int(parts["d"]) if parts.get("d") else None
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    year = int(parts["y"]) if parts.get("y") else None
    return Moment(year, month, day, None, *span, is_numeric=numeric)


def _time(m: re.Match[str], span: tuple[int, int]) -> Moment | None:
    if m["noon"] or m["midnight"]:
        return Moment(None, None, None, _DAY_MINUTES // 2 if m["noon"] else 0, *span)
    hour = int(m["h"] or m["h2"] or m["h3"] or m["h5"])
    minute = 30 if m["half"] else int(m["min"] or m["min3"] or 0)
    said = next(
        (name for group in ("ap", "ap0", "ap2", "ap3", "ap4", "ap5") if (name := m[group])), ""
    )
    hour = _of_day(hour, said.replace(".", ""))
    if hour > 24 or minute > 59:
        return None
    numeric = bool(m["min"] or m["min3"])
    minutes = (hour * 60 + minute) % _DAY_MINUTES
    return Moment(None, None, None, minutes, *span, is_numeric=numeric)


def _of_day(hour: int, said: str) -> int:
    """Return the hour 0..24 of an hour with its half of the day ("" where none is named)."""
    half = next((half for half, names in _HALVES.items() if said in names), "")
    if half == "night":
        return 24 if hour == 12 else hour + 12 if 5 <= hour < 12 else hour
    if half == "pm" and hour < 12:
        return hour + 12
    return 0 if half == "am" and hour == 12 else hour
