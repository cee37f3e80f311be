"""Units and figures beside a number that make it an amount of something else.

None of these decides; each sends the answer to the judge.
"""

from __future__ import annotations

import re

from ctxeng.harness.scoring.cue import ASKED, CUES, Around, stands_in
from ctxeng.harness.scoring.matching import Found, Value
from ctxeng.harness.scoring.quantities import are_of_one_sort, names_unit, quantities
from ctxeng.harness.scoring.text import cased, normal

_DECIMALS, _DIGIT_COMMA = re.compile(r",\d"), re.compile(r"\d,$")
_OTHER_DAYS = re.compile(r"^\s?(?:個|个)?(?:営業日|영업일|工作日|営業時間|平日)")
_WORD_AND_UNIT = re.compile(r"^[\s-](?:([^\W\d_]+)[\s-])([^\W\d_]+)(?:[\s-]([^\W\d_]+))?")
_SIGN_OF_MONEY = re.compile(r"\s?([A-Z]{3})\b")
_ATTACHED = re.compile(r"[a-zμ]{1,4}\b")
_JOINED = re.compile(r",?\s?(?:and |y |と|と、)?")
_BITS = re.compile(r"[KMGT]b\b")
_BYTES = re.compile(r"[KMGTkmgt][Bb]\b")
_SHARES = ("percent", "permille", "points")
_DAY_OF_MONTH, _LASTING = "day of month", re.compile("(?:日間|일간)$")
_REACH = 40


def is_other_amount(around: Around, text: str, value: Value, question: str) -> bool:
    """Return whether a number's neighbours make it an amount of something else than expected.

    Args:
        around: the number in the normal form of ``text``.
    """
    wanted, place = value.quantity, around.place
    if wanted is None:
        return False
    after = around.part("after", _REACH)
    if _DECIMALS.match(after) or _DIGIT_COMMA.search(around.part("before", 2)):  # 2,5, or a list
        return True
    if not wanted.unit:
        return _is_share(text, place, question) or (
            around.says(CUES["ordinal"]) and not stands_in(ASKED["of_ordinal"], normal(question))
        )
    return bool(
        _is_change(around, value, question)
        or _is_length(around, value, question)
        or _is_further_unit(text, value, place)
        or around.says(CUES["rate"])
        or _is_other_unit(cased(text), around)
        or _is_bits(value.text) != _is_bits(cased(text)[place.start : place.end])
    )


def _is_change(around: Around, value: Value, question: str) -> bool:
    """Return whether a share is one taken off or put on, where neither was asked nor expected."""
    if value.quantity is None or value.quantity.unit not in _SHARES:
        return False
    return around.says(CUES["discounted"]) and not stands_in(
        ASKED["of_discount"], normal(question) + " " + value.shown
    )


def _is_length(around: Around, value: Value, question: str) -> bool:
    """Return whether days last that may be a day of the month: 二日間 for 二日."""
    wanted, place = value.quantity, around.place
    if wanted is None or all(unit != _DAY_OF_MONTH for _, unit in wanted.others):
        return False
    lasts = _LASTING.search(around.shown[: place.end]) or around.says(CUES["lasting"])
    return bool(lasts) and not stands_in(ASKED["of_length"], normal(question))


def _is_share(text: str, place: Found, question: str) -> bool:
    own = [q for q in quantities(text) if (q.start, q.end) == (place.start, place.end)]
    return any(q.unit in _SHARES for q in own) and not stands_in(
        ASKED["of_share"], normal(question)
    )


def _is_further_unit(text: str, value: Value, place: Found) -> bool:
    """Return whether a part in another unit adds to an amount: 5 h 30 min."""
    shown, unit = normal(text), value.quantity.unit if value.quantity else ""

    def adjoins(start: int, end: int) -> bool:
        if start < place.end and place.start < end:
            return False
        gap = shown[place.end : start] if start >= place.end else shown[end : place.start]
        return len(gap) <= 5 and _JOINED.fullmatch(gap) is not None

    return any(are_of_one_sort(unit, q.unit) and adjoins(q.start, q.end) for q in quantities(text))


def _is_other_unit(spelled: str, around: Around) -> bool:
    """Return whether what follows a number that was read without a unit is a unit all the same."""
    place = around.place
    if not around.shown[place.end - 1].isdigit():
        return False
    after = around.part("after", _REACH)
    if _OTHER_DAYS.match(after) or _ATTACHED.match(after):
        return True
    if _SIGN_OF_MONEY.match(spelled, place.end):
        return True
    words = _WORD_AND_UNIT.match(after)
    return words is not None and any(names_unit(w) for w in words.groups()[1:] if w)


def _is_bits(spelled: str) -> bool | None:
    """Return whether an amount of data is in bits (Gb), None where it is no such amount."""
    return bool(_BITS.search(spelled)) if _BYTES.search(spelled) else None
