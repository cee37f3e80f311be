"""Words joined to a value that make it another: New York, 東京都, Anna's brother, non-blue.

None of these decides; each sends the answer to the judge.
"""

from __future__ import annotations

import re

from ctxeng.harness.scoring import spanish
from ctxeng.harness.scoring.matching import Found, Value
from ctxeng.harness.scoring.text import cased, normal

_PREFIX = re.compile(r"\b(?:non|anti|un|ex|pre|post|not|pseudo|semi|no)-$")
_SUFFIX = re.compile(r"^-(?:less|free|like|ish|averse|based)\b")
_LONGER_NAME = re.compile(
    r"\b(?:New|North|South|East|West|San|Santa|Saint|St\.?|Los|Las|El|La|Port|Fort|Mount|Lake|Cape"
    r"|Great|Upper|Lower|Old|Little|Nueva|Nuevo|Northern|Southern|Eastern|Western)[ -]$"
)
_WHO = re.compile(r"\b(?:who|whom|qui[eé]n(?:es)?)\b|誰|だれ|どなた|谁|누구|누가")
_RELATION_AFTER = re.compile(
    r"^(?:さん|氏|様|先生|くん|君|ちゃん)?の(?=\w)|^(?:先生|女士|老师)?的(?=\w)"
    r"|^ ?(?:씨|님)?의 ?(?=\w)"
    r"|^(?:씨|님|이|이네|네)? ?(?:동생|형|누나|언니|오빠|엄마|아빠|상사"
    r"|친구|아내|남편|어머니|아버지|선배|후배)"
)
_KANA, _HAN = re.compile("[ぁ-ゖァ-ヺ]"), re.compile("[一-龥々]+")
_HAN_BEFORE = frozenset("約全各第毎同今昨計是在用选選为为了的叫去到给和住")
_HAN_AFTER = frozenset(
    "色駅市県府側案製人氏様君産行方系用型風時年月日中内外前後間円枚個名件"
    "回本台匹部課会社号版店支的是吗了吧呢和与但因在有之比最"
)


def is_part_of_longer(text: str, value: Value, place: Found, question: str) -> bool:
    """Return whether a value of words stands within a longer name or a word made from it."""
    if value.type != "text":
        return False
    shown, spelled = normal(text), cased(text)
    before, after = shown[: place.start], shown[place.end :]
    if _PREFIX.search(before) or _SUFFIX.match(after):
        return True
    longer = _LONGER_NAME.search(spelled[: place.start]) if value.text[:1].isupper() else None
    if longer and longer.group().casefold() not in normal(question):
        return True
    return _is_in_han_compound(shown, value, place)


def _is_in_han_compound(shown: str, value: Value, place: Found) -> bool:
    """Return whether a Han word of one or two letters is a part of a longer one."""
    if len(value.shown) > 2 or not _HAN.fullmatch(value.shown):
        return False
    before, after = shown[: place.start][-1:], shown[place.end :][:1]
    if not _KANA.search(shown) and len(shown) > len(value.shown) + 2:
        return False
    return any(
        _HAN.fullmatch(beside) is not None and beside not in plain
        for beside, plain in ((before, _HAN_BEFORE), (after, _HAN_AFTER))
    )


def is_someone_elses(text: str, kind: str, place: Found, question: str) -> bool:
    """Return whether a name asked for by "who" stands for someone of theirs: Anna's brother."""
    if kind != "speaker" and not _WHO.search(normal(question)):
        return False
    shown = normal(text)
    after = shown[place.end :]
    if shown[: place.end].endswith("'s") and re.match(r" \w", after):
        return True
    if _RELATION_AFTER.match(after):
        return True
    return spanish.is_of_someone_else(shown, place)
