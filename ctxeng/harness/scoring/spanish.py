"""Spanish numerals and fractions: ``treinta y tres``, ``dos horas y media``, ``medio millón``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS_WORDS = "cero un dos tres cuatro cinco seis siete ocho nueve"
_TEENS_WORDS = """
diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve
veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho
veintinueve
"""
_TENS_WORDS = "treinta cuarenta cincuenta sesenta setenta ochenta noventa"
_HUNDREDS_STEMS = "dosc tresc cuatroc quin seisc setec ochoc novec"
_ONES = {name: i for i, name in enumerate(_UNITS_WORDS.split())} | {"uno": 1, "una": 1}
_SMALL = _ONES | {name: i for i, name in enumerate(_TEENS_WORDS.split(), 10)}
_SMALL |= {"veintiún": 21, "veintiuna": 21, "dieciseis": 16, "veintidos": 22, "veintitres": 23,
           "veintiseis": 26}  # fmt: skip
_TENS = {name: 10 * i for i, name in enumerate(_TENS_WORDS.split(), 3)}
_HUNDREDS = {"cien": 100, "ciento": 100} | {
    f"{stem}ient{ending}s": 100 * i
    for i, stem in enumerate(_HUNDREDS_STEMS.split(), 2)
    for ending in "oa"
}
_VALUES = _SMALL | _TENS | _HUNDREDS
_SCALES = {"mil": 1000, "millón": 10**6, "millon": 10**6, "millones": 10**6}


def _any_of(names: dict[str, int]) -> str:
    return rf"(?:{'|'.join(sorted(names, key=len, reverse=True))})"


_UNDER_100 = rf"(?:{_any_of(_TENS)}(?: y {_any_of(_ONES)})?|{_any_of(_SMALL)})\b"
_UNDER_1000 = rf"(?:{_any_of(_HUNDREDS)}\b(?: {_UNDER_100})?|{_UNDER_100})"
_UNDER_MILLION = rf"(?:(?:{_UNDER_1000} )?mil\b(?: {_UNDER_1000})?|{_UNDER_1000})"
SPANISH = rf"(?:{_UNDER_MILLION}(?: mill[oó]n(?:es)?\b(?: {_UNDER_MILLION})?)?)"
UNITS = (
    "horas?|minutos?|segundos?|d[ií]as?|semanas?|mes(?:es)?|años?|personas?|euros?|d[oó]lar(?:es)?"
    "|pesos|libras|kilos?|gramos|metros|kil[oó]metros|litros?|veces|p[aá]ginas"
)
# Words of other languages too (DOS, once), or articles: numerals only before what they count.
_DOUBTFUL = ("un", "uno", "una", "dos", "once")
_PARTS = {"tercio": 1 / 3, "cuarto": 1 / 4, "quinto": 1 / 5}
NUMERAL = re.compile(
    rf"\b(?:(?P<count>{SPANISH}|\d+) )?(?P<unit>{UNITS}) y medi[oa]\b"
    rf"|\b(?P<many>una?|dos|tres|cuatro) (?P<part>tercio|cuarto|quinto)s?\b"
    rf"(?P<of> de (?=(?:{UNITS})\b))?"
    rf"|\bmedi[oa] (?P<scale>docena|mill[oó]n|centenar)\b|\bmedi[oa](?= (?:{UNITS})\b)|\bla mitad\b"
    rf"|\b(?P<whole>{SPANISH})(?P<and_half> y medi[oa]\b)?(?P<counted>(?= (?:{UNITS})\b))?"
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A numeral in digits, and whether it is a share of something, which counts nothing."""

    digits: str
    is_share: bool = False


def numeral_in_digits(m: re.Match[str]) -> Numeral | None:
    """Return a match of :data:`NUMERAL` in digits, None where it is another word."""
    if m["unit"]:
        return Numeral(f"{_number(m['count'] or '1') + 0.5:.10g} {m['unit']}")
    if m["part"]:
        share = spanish_value(m["many"]) * _PARTS[m["part"]]
        return Numeral(f"{share:.10g}{' ' if m['of'] else ''}", is_share=not m["of"])
    if m["scale"]:
        return Numeral({"docena": "6", "centenar": "50"}.get(m["scale"], "500000"))
    if not m["whole"]:
        return Numeral("0.5", is_share=m.group() == "la mitad")
    if m["whole"] in _DOUBTFUL and m["counted"] is None and not m["and_half"]:
        return None
    return Numeral(f"{spanish_value(m['whole']) + (0.5 if m['and_half'] else 0):.10g}")


def spanish_value(written: str) -> float:
    """Return the value of a Spanish numeral: ``dos mil treinta y tres``."""
    total, section = 0, 0
    for word in written.split():
        scale = _SCALES.get(word)
        if scale == 1000:
            total, section = total + max(1, section) * scale, 0
        elif scale:
            total, section = (total + section) * scale, 0
        elif word != "y":
            section += _VALUES[word]
    return float(total + section)


def _number(written: str) -> float:
    return float(written) if written.isdigit() else spanish_value(written)
