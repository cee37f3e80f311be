"""Numbers with their units, and dates and times, by value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ctxeng.harness.scoring.text import normal

_MULTIPLIERS = {"k": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9,
                "thousand": 1e3, "千": 1e3, "万": 1e4, "億": 1e8, "亿": 1e8, "만": 1e4, "억": 1e8,
                "천": 1e3}  # fmt: skip
_UNITS = {
    "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "us$": "usd", "ドル": "usd",
    "달러": "usd", "美元": "usd", "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur",
    "ユーロ": "eur", "유로": "eur", "欧元": "eur", "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp",
    "¥": "jpy", "円": "jpy", "yen": "jpy", "jpy": "jpy", "엔": "jpy", "₩": "krw", "원": "krw", "won": "krw",
    "krw": "krw", "元": "cny", "块": "cny", "rmb": "cny", "cny": "cny", "yuan": "cny",
    "%": "percent", "percent": "percent", "パーセント": "percent", "퍼센트": "percent",
    "kg": "kg", "kilo": "kg", "kilos": "kg", "キロ": "kg", "g": "g", "gram": "g", "grams": "g",
    "グラム": "g", "그램": "g", "克": "g", "mg": "mg", "lb": "lb", "lbs": "lb", "oz": "oz",
    "km": "km", "m": "metre", "meter": "metre", "meters": "metre", "metre": "metre",
    "metres": "metre", "メートル": "metre", "미터": "metre", "米": "metre", "cm": "cm", "センチ": "cm", "mm": "mm",
    "mile": "mile", "miles": "mile", "ft": "ft", "feet": "ft", "inch": "inch", "inches": "inch",
    "ms": "ms", "millisecond": "ms", "milliseconds": "ms", "s": "second", "sec": "second",
    "secs": "second", "second": "second", "seconds": "second", "秒": "second", "초": "second",
    "min": "minute", "mins": "minute", "minute": "minute", "minutes": "minute", "分": "minute",
    "分間": "minute", "分钟": "minute", "분": "minute", "h": "hour", "hr": "hour", "hrs": "hour",
    "hour": "hour", "hours": "hour", "時間": "hour", "시간": "hour", "小时": "hour", "day": "day",
    "days": "day", "日": "day", "日間": "day", "일": "day", "天": "day", "week": "week", "weeks": "week",
    "週間": "week", "주": "week", "周": "week", "month": "month", "months": "month", "か月": "month",
    "ヶ月": "month", "ヵ月": "month", "개월": "month", "个月": "month", "year": "year", "years": "year",
    "年": "year", "년": "year", "kb": "kb", "mb": "mb", "gb": "gb", "tb": "tb", "mbps": "mbps",
    "gbps": "gbps", "°c": "celsius", "℃": "celsius", "c": "celsius", "度": "celsius", "도": "celsius",
    "°f": "fahrenheit", "ml": "ml", "l": "litre", "liter": "litre", "liters": "litre",
    "litre": "litre", "litres": "litre", "人": "people", "名": "people", "명": "people",
    "people": "people", "persons": "people", "個": "piece", "个": "piece", "개": "piece",
    "pieces": "piece", "times": "times", "回": "times", "번": "times", "次": "times", "㎡": "m2",
    "m2": "m2", "平米": "m2", "畳": "tatami", "階": "floor", "층": "floor", "楼": "floor", "歳": "age", "살": "age",
    "岁": "age", "px": "px", "pt": "pt", "w": "watt", "kw": "kw", "v": "volt",
}  # fmt: skip
_NUMBER_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty
"""
_WORDS = {name: value for value, name in enumerate(_NUMBER_WORDS.split())}
_WORDS |= {
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "dozen": 12,
}  # fmt: skip
_BEFORE = "|".join(
    sorted((re.escape(u) for u in ("us$", "$", "€", "£", "¥", "₩")), key=len, reverse=True)
)
_AFTER = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_SCALES = "|".join(sorted(map(re.escape, _MULTIPLIERS), key=len, reverse=True))
_DIGITS = r"\d{1,3}(?:[,，]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_QUANTITY = re.compile(
    rf"(?P<before>{_BEFORE})?\s?(?<![a-z0-9_.])(?P<sign>(?<![a-z0-9_)])-)?(?P<digits>{_DIGITS})"
    rf"(?:\s?(?P<scale>{_SCALES})(?![a-z]))?(?P<more>\d+)?"
    rf"(?:\s?-?(?P<after>{_AFTER})(?![a-z]))?"
)
_WORD_NUMBER = re.compile(
    rf"\b(?P<tens>twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[- ](?P<ones>{'|'.join(list(_WORDS)[1:10])})\b"
    rf"|\b(?P<word>{'|'.join(_WORDS)})\b"
)  # fmt: skip

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
_MONTH = {name: i for i, name in enumerate(_MONTHS, 1)} | {
    n[:3]: i for i, n in enumerate(_MONTHS, 1)
}
_MONTH |= {"sept": 9}
_SPANISH = ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
            "octubre", "noviembre", "diciembre")  # fmt: skip
_MONTH |= {name: i for i, name in enumerate(_SPANISH, 1)}
_MONTH_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_DATE_FORMS = tuple(
    re.compile(form)
    for form in (
        r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)",
        r"(?:(?P<y>\d{4})\s?[年년]\s?)?(?P<m>\d{1,2})\s?[月월]\s?(?P<d>\d{1,2})\s?[日일号號]",
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s|de\s)?(?P<mn>{_MONTH_NAMES})\b\.?(?:,?\s(?:de\s)?(?P<y>\d{{4}}))?",
        rf"\b(?P<mn>{_MONTH_NAMES})\.?\s(?:the\s)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:\d)(?:,?\s(?P<y>\d{{4}}))?",
        rf"\b(?P<mn>{_MONTH_NAMES})\.?,?\s(?:of\s)?(?P<y>\d{{4}})\b",
        r"(?P<y>\d{4})\s?[年년]\s?(?P<m>\d{1,2})\s?[月월]",
    )
)
_TIME = re.compile(
    r"(?<![\d:.])(?P<h>\d{1,2})(?::(?P<min>\d{2}))(?::\d{2})?\s?(?P<ap>[ap]\.?m\b\.?)?"
    r"|\b(?P<h2>\d{1,2})\s?(?P<ap2>[ap]\.?m\b\.?)"
    r"|(?P<ap3>午前|午後|朝|夜|오전|오후|上午|下午|晚上)?\s?(?P<h3>\d{1,2})\s?[時시点點](?!間|간)\s?(?:(?P<min3>\d{1,2})\s?[分분]|(?P<half>半|반))?"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit ("" where none is named)."""

    value: float
    unit: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a time of day; None for parts that are not said."""

    year: int | None
    month: int | None
    day: int | None
    minutes: int | None
    start: int
    end: int


@lru_cache(maxsize=20_000)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text (normal form), written in digits or as English words."""
    shown = normal(text)
    found = [q for m in _QUANTITY.finditer(shown) if (q := _quantity(m))]
    for m in _WORD_NUMBER.finditer(shown):
        value = _WORDS[m["tens"]] + _WORDS[m["ones"]] if m["tens"] else _WORDS[m["word"]]
        unit = re.match(rf"[\s-]?({_AFTER})(?![a-z])", shown[m.end() :])
        found.append(Quantity(value, _UNITS[unit[1]] if unit else "", m.start(), m.end()))
    return tuple(found)


def only_quantity(text: str) -> Quantity | None:
    """Return the number a value consists of, None when it says anything more."""
    shown = normal(text).removeprefix("about ").removeprefix("~").removesuffix(".")
    whole = _QUANTITY.fullmatch(shown)
    if whole:
        return _quantity(whole)
    word = _WORD_NUMBER.match(shown)
    if word and (not shown[word.end() :].strip(" -") or shown[word.end() :].strip(" -") in _UNITS):
        return quantities(shown)[-1]
    return None


def same_quantity(a: Quantity, b: Quantity) -> bool:
    """Return whether two numbers agree in value, and in unit where both name one."""
    agree = abs(a.value - b.value) <= 1e-9 * max(1.0, abs(a.value))
    return agree and (not a.unit or not b.unit or a.unit == b.unit)


@lru_cache(maxsize=20_000)
def moments(text: str) -> tuple[Moment, ...]:
    """Return the dates and the times of day in a text (normal form)."""
    shown = normal(text)
    found: list[Moment] = []
    for form in _DATE_FORMS:
        for m in form.finditer(shown):
            if not any(o.start < m.end() and m.start() < o.end for o in found):
                date = _date(m)
                found += [date] if date else []
    found += [t for m in _TIME.finditer(shown) if (t := _time(m))]
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
                         (a.minutes, b.minutes)):  # fmt: skip
        if mine is not None and theirs is not None:
            if mine != theirs:
                return False
            shared = True
    wants_day = a.day is not None
    return shared and (not wants_day or b.day is not None)


def _quantity(m: re.Match[str]) -> Quantity | None:
    value = float(re.sub("[,，]", "", m["digits"]))
    if m["scale"]:
        value *= _MULTIPLIERS[m["scale"]]
        value += float(m["more"]) if m["more"] else 0.0
    elif m["more"]:
        return None
    unit = _UNITS[m["before"]] if m["before"] else _UNITS.get(m["after"] or "", "")
    return Quantity(-value if m["sign"] else value, unit, m.start(), m.end())


def _date(m: re.Match[str]) -> Moment | None:
    parts = m.groupdict()
    month = int(parts["m"]) if parts.get("m") else _MONTH[parts["mn"]]
    day = int(parts["d"]) if parts.get("d") else None
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    year = int(parts["y"]) if parts.get("y") else None
    return Moment(year, month, day, None, m.start(), m.end())


def _time(m: re.Match[str]) -> Moment | None:
    hour = int(m["h"] or m["h2"] or m["h3"])
    minute = 30 if m["half"] else int(m["min"] or m["min3"] or 0)
    half = (m["ap"] or m["ap2"] or m["ap3"] or "").replace(".", "")
    if half in ("pm", "午後", "夜", "오후", "下午", "晚上") and hour < 12:
        hour += 12
    if half in ("am", "午前", "朝", "오전", "上午") and hour == 12:
        hour = 0
    if hour > 24 or minute > 59:
        return None
    return Moment(None, None, None, hour * 60 + minute, m.start(), m.end())
