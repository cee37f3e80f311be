"""Numbers with their units, by value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import product

from ctxeng.harness.scoring.fractions import SHARE, fractions_in_digits
from ctxeng.harness.scoring.moments import moments
from ctxeng.harness.scoring.text import Taken, normal

_MULTIPLIERS = {"k": 10**3, "m": 10**6, "mn": 10**6, "million": 10**6, "bn": 10**9,
                "billion": 10**9, "hundred": 10**2, "thousand": 10**3}  # fmt: skip
_UNITS = {
    "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "us$": "usd", "ドル": "usd",
    "달러": "usd", "美元": "usd", "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur",
    "ユーロ": "eur", "유로": "eur", "欧元": "eur", "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp",
    "¥": "jpy", "円": "jpy", "yen": "jpy", "jpy": "jpy", "엔": "jpy", "₩": "krw", "원": "krw", "won": "krw",
    "krw": "krw", "元": "cny", "块": "cny", "rmb": "cny", "cny": "cny", "yuan": "cny",
    "%": "percent", "percent": "percent", "パーセント": "percent", "퍼센트": "percent",
    "kg": "kg", "kilo": "kilo", "kilos": "kilo", "キロ": "kilo", "g": "g", "gram": "g", "grams": "g",
    "グラム": "g", "그램": "g", "克": "g", "mg": "mg", "lb": "lb", "lbs": "lb", "oz": "oz",
    "km": "km", "キロメートル": "km", "킬로미터": "km", "公里": "km", "公斤": "kg", "キログラム": "kg", "킬로그램": "kg", "킬로": "kilo", "マイル": "mile", "마일": "mile", "英里": "mile", "평": "pyeong", "坪": "tsubo", "제곱미터": "m2", "平方米": "m2", "平方メートル": "m2", "mi": "mile", "m": "metre", "meter": "metre", "meters": "metre", "metre": "metre",
    "metres": "metre", "メートル": "metre", "미터": "metre", "米": "metre", "cm": "cm", "センチ": "cm", "mm": "mm", "ミリ": "mm", "밀리": "mm", "밀리미터": "mm", "毫米": "mm", "センチメートル": "cm", "센티": "cm", "센티미터": "cm", "厘米": "cm", "斤": "jin", "部": "部", "부": "部", "건": "件",
    "mile": "mile", "miles": "mile", "ft": "ft", "feet": "ft", "inch": "inch", "inches": "inch",
    "ms": "ms", "millisecond": "ms", "milliseconds": "ms", "s": "second", "sec": "second",
    "secs": "second", "second": "second", "seconds": "second", "秒": "second", "초": "second",
    "min": "minute", "mins": "minute", "minute": "minute", "minutes": "minute", "分": "minute",
    "分間": "minute", "分钟": "minute", "분": "minute", "h": "hour", "hr": "hour", "hrs": "hour",
    "hour": "hour", "hours": "hour", "時間": "hour", "시간": "hour", "小时": "hour", "个小时": "hour", "钟头": "hour", "个钟头": "hour", "day": "day",
    "days": "day", "日": "day", "日間": "day", "일": "day", "일간": "day", "天": "day", "week": "week", "weeks": "week",
    "週間": "week", "주": "week", "周": "week", "month": "month", "months": "month", "か月": "month",
    "ヶ月": "month", "ヵ月": "month", "개월": "month", "个月": "month", "year": "year", "years": "year",
    "年": "year", "년": "year", "kb": "kb", "mb": "mb", "gb": "gb", "tb": "tb", "mbps": "mbps",
    "gbps": "gbps", "°c": "celsius", "℃": "celsius", "c": "celsius", "度": "celsius", "도": "celsius",
    "°f": "fahrenheit", "ml": "ml", "l": "litre", "liter": "litre", "liters": "litre",
    "litre": "litre", "litres": "litre", "人": "people", "名": "people", "명": "people",
    "people": "people", "persons": "people", "個": "piece", "个": "piece", "개": "piece",
    "pieces": "piece", "times": "times", "回": "times", "번": "times", "次": "times", "㎡": "m2",
    "m2": "m2", "平米": "m2", "畳": "tatami", "階": "floor", "층": "floor", "楼": "floor", "歳": "age", "살": "age",
    "岁": "age", "px": "px", "pt": "pt", "w": "watt", "kw": "kw", "v": "volt", "달": "month",
    "つ": "piece", "本": "本", "枚": "枚", "台": "台", "冊": "冊", "匹": "匹", "杯": "杯", "件": "件",
    "ページ": "page", "章": "章", "泊": "泊", "倍": "倍", "pages": "page", "page": "page", "권": "冊",
    "mcg": "mcg", "μg": "mcg", "ug": "mcg", "‰": "permille", "percentage points": "points",
    "kib": "kib", "mib": "mib", "gib": "gib", "tib": "tib", "celsius": "celsius",
    "degrees celsius": "celsius", "degrees c": "celsius", "fahrenheit": "fahrenheit",
    "degrees fahrenheit": "fahrenheit", "degrees f": "fahrenheit", "us dollars": "usd",
    "dólares": "usd", "dolares": "usd", "dólar": "usd", "libras": "gbp", "cad": "cad", "c$": "cad",
    "ca$": "cad", "aud": "aud", "a$": "aud", "au$": "aud", "nzd": "nzd", "nz$": "nzd", "hkd": "hkd",
    "hk$": "hkd", "sgd": "sgd", "s$": "sgd", "chf": "chf", "inr": "inr", "₹": "inr", "mxn": "mxn",
    "brl": "brl", "r$": "brl", "sek": "sek", "nok": "nok", "dkk": "dkk", "pesos": "peso",
    "マイクログラム": "mcg", "마이크로그램": "mcg", "微克": "mcg", "毫克": "mg", "ミリグラム": "mg", "밀리그램": "mg",
    "horas": "hour", "hora": "hour", "minutos": "minute", "días": "day", "dias": "day", "semanas": "week",
    "meses": "month", "mes": "month", "años": "year", "año": "year", "semana": "week", "día": "day", "dia": "day",
    "segundo": "second", "segundos": "second", "minuto": "minute", "personas": "people", "gramos": "g",
    "metros": "metre", "kilómetros": "km", "litros": "litre", "litro": "litre", "veces": "times", "páginas": "page", "마리": "匹", "잔": "杯", "장": "枚", "대": "台", "페이지": "page", "배": "倍",
    "毫升": "ml", "ミリリットル": "ml", "밀리리터": "ml", "milliliter": "ml", "milliliters": "ml",
    "millilitre": "ml", "millilitres": "ml", "cc": "ml", "mililitros": "ml", "升": "litre",
    "公升": "litre", "リットル": "litre", "리터": "litre", "毫秒": "ms", "ミリ秒": "ms", "밀리초": "ms",
    "milisegundos": "ms", "千克": "kg", "kilogram": "kg", "kilograms": "kg", "kilogramos": "kg",
    "千米": "km", "kilometer": "km", "kilometers": "km", "kilometre": "km", "kilometres": "km",
    "centimeter": "cm", "centimeters": "cm", "centimetre": "cm", "centimetres": "cm",
    "centímetros": "cm", "公分": "cm", "millimeter": "mm", "millimeters": "mm",
    "millimetre": "mm", "millimetres": "mm", "milímetros": "mm", "milligram": "mg",
    "milligrams": "mg", "miligramos": "mg", "吨": "tonne", "トン": "tonne", "톤": "tonne",
    "tonne": "tonne", "tonnes": "tonne", "toneladas": "tonne", "瓦": "watt", "ワット": "watt",
    "와트": "watt", "watt": "watt", "watts": "watt", "vatios": "watt", "千瓦": "kw", "キロワット": "kw",
    "킬로와트": "kw", "kilowatt": "kw", "kilowatts": "kw", "cup": "cup", "cups": "cup",
    "カップ": "cup", "컵": "cup", "tazas": "cup", "teaspoon": "teaspoon", "teaspoons": "teaspoon",
    "tsp": "teaspoon", "tablespoon": "tablespoon", "tablespoons": "tablespoon",
    "tbsp": "tablespoon", "gallon": "gallon", "gallons": "gallon", "ガロン": "gallon",
    "갤런": "gallon", "加仑": "gallon", "pint": "pint", "pints": "pint",
}  # fmt: skip
# Units that measure the same thing, as whole multiples of the smallest of them.
_SCALED = {
    "second": ("ms", 1000), "minute": ("ms", 60_000), "hour": ("ms", 3_600_000),
    "day": ("ms", 86_400_000), "week": ("ms", 604_800_000), "year": ("month", 12),
    "cm": ("mm", 10), "metre": ("mm", 1000), "km": ("mm", 1_000_000), "ft": ("inch", 12),
    "mg": ("mcg", 1000), "g": ("mcg", 10**6), "jin": ("mcg", 500 * 10**6), "kg": ("mcg", 10**9),
    "tonne": ("mcg", 10**12), "litre": ("ml", 1000), "kw": ("watt", 1000), "lb": ("oz", 16), "percent": ("hundredth", 1),
    "share": ("hundredth", 100),
}  # fmt: skip
_PARTS_OF = {
    "day": "hour", "hour": "minute", "minute": "second", "week": "day", "year": "month", "kg": "g"
}  # fmt: skip
_BEFORE = (
    r"(?<![a-z])(?:us|ca?|au?|nz|hk|s|r)\$|[$€£¥₩₹]"
    r"|(?<![a-z])(?:usd|eur|gbp|jpy|krw|cny|rmb|cad|aud|nzd|hkd|sgd|chf|inr|mxn|brl|sek|nok|dkk)"
)
_SIGN = r"(?<![a-z0-9_)])-|(?<!\d )\b(?:minus|menos)\s(?=\d)|(?:マイナス|氷点下|零下|영하|마이너스)\s?(?=\d)"
_AFTER = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_SCALES = "|".join(sorted(map(re.escape, _MULTIPLIERS), key=len, reverse=True))
# Thousands: 1,850 and 1'850; 1,00,000 as written in India.
_DIGITS = (
    r"\d{1,3}(?: \d{3})+(?! ?\d)|\d{1,3}(?:(?:,\d{2,3})*,\d{3}|(?:'\d{3})+)(?:\.\d+)?"
    r"|\d+(?:\.\d+)?"
)
# Not a number: a piece of a version (2.3.1), of a hash (4f9c2e), a month (3月) or a quarter (3분기).
_NOT_WITHIN = r"(?!\d|[.]\d|(?!x\d|m[23](?![a-z0-9]))[a-z]+\d|\s?(?:[月월]|분기))"
_HALF = r"半|\s?반(?:(?![가-힣]{2})|(?=이에|이예|입니|이었|이고|정도))"
_QUANTITY = re.compile(
    rf"(?:(?P<debt>(?<![a-z0-9_)])-)?(?P<before>{_BEFORE})\s?)?(?<![a-z0-9_.])(?P<sign>{_SIGN})?(?P<digits>{_DIGITS}){_NOT_WITHIN}"
    rf"(?:\s?(?P<scale>{_SCALES})(?![a-z]))?"
    rf"(?P<share>{SHARE})?(?:\s?-?(?P<after>{_AFTER})(?![a-z])(?P<half>{_HALF})?)?"
)
_ABOUT = re.compile(r"^(?:(?:about|around|roughly|approximately|approx\.?)\s|[~約约]|약\s?)\s?")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit ("" where none is named).

    Args:
        others: further readings of the same text, as (value, unit): ``5m`` is five million, five
            metres or five minutes, ``17日`` is seventeen days or the seventeenth.
    """

    value: Decimal
    unit: str
    start: int
    end: int
    others: tuple[tuple[Decimal, str], ...] = ()


@lru_cache(maxsize=20_000)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text (places in its normal form), in digits or in words.

    The digits of a date are its year and, beside a month's name, its day; a clock time has none.
    """
    shown = normal(text)
    written = fractions_in_digits(shown)
    dated = [t for t in moments(text) if t.is_numeric or t.month is not None]
    found = [Quantity(Decimal(t.year), "year", t.start, t.end) for t in dated if t.year is not None]
    days = (t for t in dated if t.day is not None and not t.is_numeric)
    found += [Quantity(Decimal(t.day or 0), "day of month", t.start, t.end) for t in days]
    taken = Taken(shown)
    for t in dated:
        taken.take(t.start, t.end)
    for m in _QUANTITY.finditer(written.text):
        read = _quantity(m)
        start, end = written.span(m.start(), m.end())
        if not taken.meets(start, end):
            found.append(Quantity(read.value, read.unit, start, end, read.others))
    return tuple(_in_parts(found, shown))


def only_quantity(text: str) -> Quantity | None:
    """Return the number a value consists of, None when it says anything more."""
    shown = _ABOUT.sub("", normal(text)).removesuffix(".")
    whole = _QUANTITY.fullmatch(fractions_in_digits(shown).text)
    if whole:
        return _quantity(whole)
    found = quantities(shown)
    is_all = len(found) == 1 and (found[0].start, found[0].end) == (0, len(shown))
    return found[0] if is_all else None


def _in_parts(found: Sequence[Quantity], shown: str) -> list[Quantity]:
    """Return amounts told in parts as one: 2 hours 30 minutes."""
    merged: list[Quantity] = []
    for part in found:
        adds = bool(merged) and _adds_to(merged[-1], part, shown)
        merged.append(_sum(merged.pop(), part) if adds else part)
    return merged


def _sum(whole: Quantity, part: Quantity) -> Quantity:
    (value, base), (rest, _) = (_scaled(q.value, q.unit) for q in (whole, part))
    return Quantity(value + rest, base, whole.start, part.end)


def _adds_to(whole: Quantity, part: Quantity, shown: str) -> bool:
    """Return whether a part of a unit follows whole ones, and is less than another one."""
    if _PARTS_OF.get(whole.unit) != part.unit or whole.value % 1 or whole.end > part.start:
        return False
    is_less = _scaled(part.value, part.unit)[0] < _scaled(Decimal(1), whole.unit)[0]
    return is_less and shown[whole.end : part.start] in ("", " ", " and ", " y ")


def same_quantity(a: Quantity, b: Quantity) -> bool:
    """Return whether two numbers agree in value, and in unit where both name one.

    Values agree as they are written: 4155550123 is not 4155550124. Units of one kind are converted:
    90 minutes are 1.5 hours.
    """
    ours = ((a.value, a.unit), *a.others)
    theirs = ((b.value, b.unit), *b.others)
    return any(_agree(mine, yours) for mine, yours in product(ours, theirs))


def value_keys(number: Quantity) -> frozenset[Decimal]:
    """Return keys of a number's readings: two numbers that agree have one in common."""
    read = ((number.value, number.unit), *number.others)
    return frozenset(key for value, unit in read for key in (value, _scaled(value, unit)[0]))


def _agree(a: tuple[Decimal, str], b: tuple[Decimal, str]) -> bool:
    (x, unit), (y, other) = a, b
    if unit and other and unit != other:
        (x, unit), (y, other) = _scaled(x, unit), _scaled(y, other)
    return x == y and (unit == other or not unit or not other)


def are_of_one_sort(unit: str, other: str) -> bool:
    """Return whether two different units measure the same thing: hours and minutes."""
    sorts = {_SCALED.get(one, (one, 1))[0] for one in (unit, other)}
    return unit != other and len(sorts) == 1


def names_unit(word: str) -> bool:
    """Return whether a word in normal form is a unit's name or sign."""
    return word in _UNITS


def _scaled(value: Decimal, unit: str) -> tuple[Decimal, str]:
    """Return an amount in the smallest unit of its sort."""
    if unit not in _SCALED:
        return value, unit
    base, factor = _SCALED[unit]
    return value * factor, base


def _quantity(m: re.Match[str]) -> Quantity:
    number = Decimal(re.sub("[,' ]", "", m["digits"]))
    if m["half"]:
        number += Decimal("0.5")
    if m["sign"] or m["debt"]:
        number = number.copy_negate()
    before = m["before"] or ""
    unit = _UNITS[before or m["after"]] if before or m["after"] else "share" if m["share"] else ""
    value = number * _MULTIPLIERS[m["scale"]] if m["scale"] else number
    others: tuple[tuple[Decimal, str], ...] = ()
    if m["scale"] == "m" and not unit:
        others = ((number, "metre"), (number, "minute"))
    elif m["after"] in ("キロ", "킬로", "kilo", "kilos"):
        others = ((number, "km"), (number, "kg"))
    elif m["after"] == "个":
        others = ((number, "people"),)
    elif m["after"] in ("日", "일"):
        others = ((number, "day of month"),)
    return Quantity(value, unit, m.start(), m.end(), others)
