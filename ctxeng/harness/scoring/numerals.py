"""Numbers written in words, rewritten in digits: English, Han, and Korean numerals.

``five hundred``, ``三千``, ``二〇二四``, ``3万5千``, ``삼만``, ``세 번`` become ``500``, ``3000``, ``2024``,
``35000``, ``30000``, ``3 번``. A numeral character inside an ordinary word (``一緒``, ``이것``) is left
alone: a lone numeral counts only before a unit or as the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from ctxeng.harness.scoring.text import Taken

_SMALL_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen
"""
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {name: value for value, name in enumerate(_SMALL_WORDS.split())}
_TENS = {name: 10 * value for value, name in enumerate(_TENS_WORDS.split(), 2)}
_HUNDREDS = {"dozen": 12, "hundred": 100}
_THOUSANDS = {"thousand": 10**3, "million": 10**6, "billion": 10**9}

_ONES = "|".join(list(_SMALL)[1:10])
_UNDER_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{_ONES}))?|{'|'.join(sorted(_SMALL, key=len, reverse=True))})"
_UNDER_1000 = (
    rf"(?:(?:(?:an?|{_UNDER_100})[- ])?(?:hundred|dozen)(?: (?:and )?{_UNDER_100})?|{_UNDER_100})"
)
ENGLISH = (
    rf"(?:{_UNDER_1000}|an?(?= (?:thousand|million|billion)\b))"
    rf"(?:[- ](?:thousand|million|billion)(?: (?:and )?{_UNDER_1000})?)*"
)
_ENGLISH = re.compile(rf"\b{ENGLISH}\b")
_OCLOCK = re.compile(rf"\b(?:{'|'.join(list(_SMALL)[1:13])})(?=\s?(?:[ap]\.?m\b|o'clock))")

_HAN_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HANGUL_DIGITS = {c: i for i, c in enumerate("영일이삼사오육칠팔구")}
_UNDER_MYRIAD = {"十": 10, "百": 100, "千": 1000, "십": 10, "백": 100, "천": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12,
            "만": 10**4, "억": 10**8, "조": 10**12}  # fmt: skip
_HAN_COUNTED = (
    "円|部|ミリ|センチ|ドル|ユーロ|ウォン|元|块|人|名|個|个|回|次|つ|本|枚|台|冊|匹|杯|件|ページ|章|歳|岁|階|楼|畳|度|泊|倍|秒"
    "|分(?:間|钟)|日|天|週間?|周|か月|ヶ月|ヵ月|个月|月|年(?!筆)|時(?!的)|时|小时|点|キロ|グラム|メートル|パーセント|%|号"
)
_HANGUL_COUNTED = (
    r"\s?(?:원|엔|달러|유로|명|건|부(?![가-힣]{2})|퍼센트|킬로|미터|그램|%"
    r"|(?:개|번|회|권|잔|장(?!자)|년|월|일|주|분|초|층|살|도)"
    r"(?!(?!예요|이요|이에|입니|이고|이었|였어|정도|까지|부터|밖에)[가-힣]{2}))"
)
HAN = "[零〇一二三四五六七八九十百千万萬億亿兆两]"
HANGUL = "[일이삼사오육칠팔구십백천만억]"
_DIGITS_SCALED = (  # 3万5千, 1.5億, 3만 5천
    r"(?<![\d.,])\d+(?:\.\d+|(?:,\d{3})+)?\s?[十百千万萬億亿兆천만억조백]"
    r"(?:\s?\d+[十百千万萬億亿천만억백])*(?:\d+(?!\d|[.,]\d))?"
)
_EAST = re.compile(
    "|".join(
        (
            _DIGITS_SCALED,
            rf"(?<!{HAN})(?<![第\d]){HAN}+(?={_HAN_COUNTED})",  # 三千円, 二〇二四年
            rf"(?<!{HAN})(?<!\d){HAN}{{3,}}(?!{HAN})",
            rf"(?<![가-힣\d])(?={HANGUL}*[십백천만억]){HANGUL}{{2,}}(?={_HANGUL_COUNTED})",  # 삼만원
            r"(?<![가-힣\d])[십백천만억](?=\s?(?:원|엔|달러|명))",  # 만원, but not 만일 (if)
            rf"^{HAN}+$",
        )
    )
)
_CLOCK = re.compile(
    rf"(?!一点十分[重清明关必确奇困难好有遗可满肯赞同])(?P<hour>{HAN}{{1,3}}|\d{{1,2}})(?P<sign>[点點時时])"
    rf"(?P<part>[一三]刻|{HAN}{{1,3}}分|0\d分)"
)
_NATIVE_ONES = {"한": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8,
                "아홉": 9}  # fmt: skip
_NATIVE = re.compile(
    rf"(?<![가-힣])(?:(?P<ten>열|스물)(?P<one>{'|'.join(_NATIVE_ONES)})?"
    rf"|(?P<alone>{'|'.join(_NATIVE_ONES)}|스무))"
    r"(?=\s?(?:번|개월|개|명|시간|시(?![가-힣]{2})|살|달|가지|잔|권|마리|층)(?![가-힣]{3}))"
)


@dataclass(frozen=True, slots=True)
class InDigits:
    """A text with its word numerals in digits.

    Args:
        starts: for every character of ``text`` and its end, the place in the original it begins at.
        ends: for every place in ``text``, the place in the original where what is before it ends.
    """

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original text that a span of ``text`` stands for."""
        return self.starts[start], self.ends[end]


Reader = Callable[[re.Match[str]], float | str | None]


@lru_cache(maxsize=20_000)
def in_digits(shown: str) -> InDigits:
    """Return a text (normal form) with every word numeral in digits.

    Example:
        ``in_digits("三千円").text`` → ``"3000円"``
    """
    return rewritten(shown, NUMBERS)


def rewritten(shown: str, readers: Iterable[tuple[re.Pattern[str], Reader]]) -> InDigits:
    found: list[tuple[int, int, str]] = []
    taken = Taken(shown)
    for pattern, read in readers:
        for m in pattern.finditer(shown):
            value = read(m)
            if value is not None and not taken.meets(*m.span()):
                taken.take(*m.span())
                found.append(
                    (m.start(), m.end(), value if isinstance(value, str) else _digits(value))
                )
    text, starts, ends, at = [], [], [0], 0
    for start, end, digits in [*sorted(found), (len(shown), len(shown), "")]:
        text.append(shown[at:start] + digits)
        starts += [*range(at, start), *[start] * len(digits)]
        ends += [*range(at + 1, start + 1), *[end] * len(digits)]
        at = end
    return InDigits("".join(text), (*starts, len(shown)), tuple(ends))


def _digits(value: float) -> str:
    return f"{value:.10g}" if value % 1 else f"{value:.0f}"


def english_value(written: str) -> float:
    """Return the value of an English numeral: ``two hundred and five``."""
    total, section = 0, 0
    for word in re.split(r"[- ]", written):
        if word in _THOUSANDS:
            total, section = total + max(1, section) * _THOUSANDS[word], 0
        elif word in _HUNDREDS:
            section = max(1, section) * _HUNDREDS[word]
        elif word not in ("a", "an", "and"):
            section += _SMALL[word] if word in _SMALL else _TENS[word]
    return total + section


def _oclock(m: re.Match[str]) -> float:
    return _SMALL[m.group()]


def _english(m: re.Match[str]) -> float:
    return english_value(m.group())


def _east(m: re.Match[str]) -> float | None:
    return eastern_value(m.group())


def _clock(m: re.Match[str]) -> str | None:
    """Return a time of day with its minutes in digits: 三点一刻 is 3点15分."""
    hour, minutes = (
        int(part) if part.isdigit() else eastern_value(part)
        for part in (m["hour"], {"一刻": "15", "三刻": "45"}.get(m["part"], m["part"].rstrip("分")))
    )
    return None if hour is None or minutes is None else f"{hour:.0f}{m['sign']}{minutes:.0f}分"


def _native(m: re.Match[str]) -> float:
    if m["ten"]:
        return {"열": 10, "스물": 20}[m["ten"]] + _NATIVE_ONES.get(m["one"] or "", 0)
    return _NATIVE_ONES.get(m["alone"], 20)


def eastern_value(written: str) -> float | None:
    """Return the value of an eastern numeral, None where the characters make no number."""
    written = re.sub(r"[\s,]", "", written)
    if all(c in _HAN_DIGITS for c in written):
        return float("".join(str(_HAN_DIGITS[c]) for c in written))
    digits = _HAN_DIGITS | _HANGUL_DIGITS
    total, section, current = 0.0, 0.0, None
    for token in re.findall(r"\d+(?:\.\d+)?|.", written):
        if token in _MYRIADS:
            pending = section + (current or 0.0)
            total, section, current = total + (pending or 1.0) * _MYRIADS[token], 0.0, None
        elif token in _UNDER_MYRIAD:
            section += (1.0 if current is None else current) * _UNDER_MYRIAD[token]
            current = None
        elif current is not None:
            return None
        else:
            current = float(digits[token]) if token in digits else float(token)
    return total + section + (current or 0.0)


HOURS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_CLOCK, _clock),
    (_EAST, _east),
    (_NATIVE, _native),
    (_OCLOCK, _oclock),
)
_DAYS = {"하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "엿새": 6, "이레": 7, "여드레": 8, "아흐레": 9,
         "열흘": 10, "보름": 15}  # fmt: skip
_DAYS_WORD = re.compile(
    rf"(?<![가-힣])(?:{'|'.join(_DAYS)})(?!달|날|[가-힣]{{4}})"
    r"(?<!하루(?! 동안| 걸|이에요|예요|입니다|만에|[.,]|$))"
)


def _days(m: re.Match[str]) -> str:
    return f"{_DAYS[m.group()]}일간"  # days long, never the day of the month


NUMBERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_CLOCK, _clock),
    (_EAST, _east),
    (_NATIVE, _native),
    (_DAYS_WORD, _days),
    (_ENGLISH, _english),
)
