"""Fractions in words and figures, rewritten as decimals beside the numbers of :mod:`numerals`.

``an hour and a half`` becomes ``1.5 hour``, ``half an hour`` ``0.5 hour``, ``3割`` ``30%``,
``三分之一`` and ``1/3`` a share of 0.3333333333, which :data:`SHARE` marks: it is no count.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ctxeng.harness.scoring.numerals import (
    ENGLISH,
    HAN,
    HANGUL,
    NUMBERS,
    InDigits,
    Reader,
    eastern_value,
    english_value,
    rewritten,
)
from ctxeng.harness.scoring.spanish import NUMERAL, numeral_in_digits

SHARE = "\ue000"  # for private use: in no text

_PARTS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fourth": 1 / 4, "fifth": 1 / 5}
_PART = rf"(?P<part>{'|'.join(_PARTS)})"
_MANY = r"(?P<many>two|three|four)[- ](?P<parts>thirds|quarters|fourths|fifths)"
_TIMED = "hour|day|week|month|year|minute|second|mile|kilo|pound|dollar|litre|liter|metre|meter|cup"
_NO_SHARE = (
    r"(?![-a-z\d]|\s(?:past|way|time|price|marathon|term|board|an?|brother|sister|sibling)\b)"
)
_ENGLISH = re.compile(
    r"\b(?:an? )?half(?: of)?(?: an?)?[- ](?P<scale>dozen|hundred|thousand|million|billion)\b"
    rf"|\b(?P<count>an?|\d+|{ENGLISH}) (?P<unit>(?:{_TIMED})s?) and (?:a|one)[- ]"
    r"(?P<part1>half|quarter)\b"
    rf"|\b(?P<whole>\d+|{ENGLISH}) and (?:(?:a|one)[- ](?P<part2>half|quarter)|three quarters)\b"
    r"|(?<![a-z\d_/.,-])(?:(?P<mixed>\d+) )?(?P<num>[1-9])/(?P<den>[2-9]|10)(?![a-z\d_/-]|[.,]\d)"
    r"|(?<![\d.,])(?P<mixed4>\d*)(?P<num4>\d)\u2044(?P<den4>\d{1,2})"  # a sign: ½ is 1⁄2
    rf"|\b(?P<many>two|three|four)[- ](?P<parts>thirds|quarters|fourths|fifths)\b(?: of an?\b)?"
    rf"|\b(?:an? |one )?(?P<part3>half|quarter)(?: of)? an?(?= (?:{_TIMED})s?\b)"
    rf"|(?<!and )\b(?:an?|one)[- ]{_PART}(?= of\b|\s?[.,;:!?)]|\s?[^\x00-\x7f]|$)"
    r"|(?<!and a )(?<!and one )(?<!first )(?<!second )(?<!other )(?<!latter )(?<!last )(?<!the )"
    rf"(?<![-a-z\d])(?P<alone>half){_NO_SHARE}"
    rf"|^(?P<one>an?)(?= (?:{_TIMED})\W*$)"
)
_N = rf"(?:{HAN}+|\d+)"
_EASTERN = re.compile(
    rf"百分之(?P<percent>{HAN}+(?:点{HAN}+)?|\d+(?:\.\d+)?)"
    rf"|(?P<den>{_N})分[之の](?P<num>{_N})(?!時|度)"
    rf"|(?P<den2>{HANGUL}|\d+)\s?분의\s?(?P<num2>(?:{HANGUL}|\d+)(?![가-힣])|\d+"
    rf"|{HANGUL}(?=이에|입니|이다|정도|만 |로))"
    rf"|(?<![\d.第])(?P<tenths>{_N})割(?![り当])(?:(?P<hundredths>{_N})分)?"
    r"|(?<![\d.])(?P<tenths2>\d)할(?![가-힣]{2})|(?P<tenths3>[3-9삼사오육칠팔구])할(?=이에|입니)"
    r"|(?<![\d.一-龥])(?P<tenths4>\d|[一二三四五六七八九])成(?:(?![一-龥])|(?=以|左右|多|的|是))"
    r"|(?P<wholes>[一二三四五六七八九十两]|\d+)个半(?=小时|月|钟头)"
    r"|(?<![一-龥\d])半(?=年(?![生级級]))|(?<![가-힣])반(?=년(?!생))|(?<![一-龥\d])半(?=時間)|(?<![前后後上下大小多夜\d])半个?(?=小时|钟头)"
    r"|(?<![가-힣\d])반 ?(?=시간(?!표))"
    r"|(?P<half>(?<![前後])半分|절반|(?<![一-龥])一半)"
)
_ENGLISH_HINT = re.compile(r"half|quarter|third|fifth|fourths|\d[/\u2044]\d|^an? ")
_SPANISH_HINT = re.compile(
    r"\b(?:medi[oa]|mitad|terci|cuart|quint|tres|cuatr|cinc|siete|seis|ocho|nueve|diez|doce|trec|"
    r"cator|quinc|diecis|dieci|veint|treint|cuarent|cincuent|sesent|setent|ochent|novent|cien|"
    r"dosc|quin|setec|novec|mil|una?|dos|once)"
)
_EASTERN_HINT = re.compile("[割할成半반]|分[之の]|분의")


@lru_cache(maxsize=20_000)
def fractions_in_digits(shown: str) -> InDigits:
    """Return a text (normal form) with every word numeral and every fraction in digits.

    Example:
        ``fractions_in_digits("two and a half hours").text`` → ``"2.5 hours"``
    """
    readers: list[tuple[re.Pattern[str], Reader]] = []
    if _ENGLISH_HINT.search(shown):
        readers.append((_ENGLISH, _english))
    if _SPANISH_HINT.search(shown):
        readers.append((NUMERAL, _spanish))
    if _EASTERN_HINT.search(shown):
        readers.append((_EASTERN, _eastern))
    return rewritten(shown, [*readers, *NUMBERS])


def _spanish(m: re.Match[str]) -> str | None:
    read = numeral_in_digits(m)
    return None if read is None else read.digits + (SHARE if read.is_share else "")


def _english(m: re.Match[str]) -> str:
    if m["scale"]:
        return f"{english_value(m['scale']) / 2:.10g}"
    if m["unit"]:
        return f"{_number(m['count']) + _PARTS[m['part1']]:.10g} {m['unit']}"
    if m["whole"]:
        part = _PARTS[m["part2"]] if m["part2"] else 3 / 4
        return f"{_number(m['whole']) + part:.10g}"
    if m["num"] or m["num4"]:
        return _in_figures(m)
    if m["many"]:
        return _share(english_value(m["many"]) * _PARTS[m["parts"][:-1]])
    return "1" if m["one"] else _share(_PARTS[m["part3"] or m["part"] or m["alone"]])


def _in_figures(m: re.Match[str]) -> str:
    num, den = int(m["num"] or m["num4"]), int(m["den"] or m["den4"])
    if num >= den:
        return m.group()
    whole = m["mixed"] or m["mixed4"]
    return f"{int(whole) + num / den:.10g}" if whole else _share(num / den)


def _eastern(m: re.Match[str]) -> str | None:
    if m["percent"]:
        whole, _, decimals = m["percent"].partition("点")
        return (
            f"{_number(whole):.0f}.{_number(decimals):.0f}%"
            if decimals
            else f"{_number(whole):.10g}%"
        )
    tenths = m["tenths"] or m["tenths2"] or m["tenths3"] or m["tenths4"]
    if tenths:
        return f"{10 * _number(tenths) + _number(m['hundredths'] or '0'):.10g}%"
    num, den = m["num"] or m["num2"], m["den"] or m["den2"]
    if num:
        parts = _number(den)
        return _share(_number(num) / parts) if parts else None
    if m["wholes"]:
        month = m.string.startswith("月", m.end())
        return f"{_number(m['wholes']) + 0.5:.10g}" + "个" * month
    return _share(0.5) if m["half"] else "0.5"


def _share(value: float) -> str:
    return f"{value:.10g}{SHARE}"


def _number(written: str) -> float:
    """Return a number in digits or in words."""
    if re.fullmatch(r"[\d.]+", written):
        return float(written)
    if written in ("a", "an"):
        return 1.0
    return english_value(written) if written.isascii() else eastern_value(written) or 0.0
