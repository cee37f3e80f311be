"""What stands beside a value and takes it back, changes it, or makes it another.

None of these decides; each sends the answer to the judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxeng.harness.scoring.cue import ASKED, CLAUSE_END, CUES, Around, found_in, stands_in
from ctxeng.harness.scoring.matching import Found, Value
from ctxeng.harness.scoring.text import cased, normal

_KATAKANA = re.compile("[ァ-ヺー]+")
_HIRAGANA, _LONGEST_HIRAGANA = re.compile("[ぁ-ゖー]+"), 4
_PARTICLE_BEFORE = re.compile("[^ぁ-ゖー]?|[がはをにのともで]")
_PARTICLE_AFTER = re.compile(
    r"(?:さん|ちゃん|くん|さま)?(?:です|でした|だった|など|より|から|まで|だけ|しか|という|ではな|じゃな"
    r"|[がはをにのともで](?![ぁ-ゖー])|(?![ぁ-ゖー一-龥々ァ-ヺ]))"
)
_KANA, _HAN = re.compile("[ぁ-ゖァ-ヺ]"), re.compile("[一-龥々]+")
_HAN_BEFORE = frozenset("約全各第毎同今昨計是在用选選为為了的叫去到给和住")
_HAN_AFTER = frozenset(
    "色駅市県府側案製人氏様君産行方系用型風時年月日中内外前後間円枚個名件"
    "回本台匹部課会社号版店支的是吗了吧呢和与但因在有之比最"
)
_PART_END = re.compile(rf"{CLAUSE_END.pattern}|[()「」\"]")


def is_taken_back(around: Around, question: str) -> bool:
    """Return whether what stands around a value denies it, beyond the words right beside it.

    Where the question asks what is disliked, saying so takes nothing back.
    """
    words = around.words(CUES["taken_back"])
    return any(
        not (stands_in(ASKED["disliked"], word) and word[:3] in _disliked(question))
        for word in words
    )


def _disliked(question: str) -> set[str]:
    return {word[:3] for word in found_in(ASKED["disliked"], normal(question))}


def is_denied_in_spanish(around: Around, own: str) -> bool:
    """Return whether a value is denied, given up, left out or told to be of the past.

    Args:
        own: the expected values; where they hold a denial (``sin azúcar``), nothing is.
    """
    return around.says(CUES["denied_in_spanish"]) and not stands_in(ASKED["denial"], own)


def changes_after(around: Around) -> bool:
    """Return whether a text tells of a change after a value, or of an older state."""
    arrival = next(around.words(CUES["changed_into"]), "")
    if arrival:
        place = around.place
        around = Around(around.shown, Found(place.start, place.end + len(arrival)))
    return around.says(CUES["changed"])


def is_proposed(around: Around, question: str) -> bool:
    """Return whether a value is only said to have been talked of, where that was not asked."""
    return around.says(CUES["proposed"]) and not stands_in(
        CUES["proposed"][0].words, normal(question)
    )


def is_limited(around: Around, own: str) -> bool:
    """Return whether a bound or an offset stands at a number or a date: over 12, the day before.

    Args:
        own: the expected values; a word of theirs limits nothing further.
    """
    return any(word.strip() not in own for word in around.words(CUES["limited"]))


def is_part_of_longer(around: Around, text: str, value: Value, question: str) -> bool:
    """Return whether a value of words stands within a longer name or a word made from it."""
    if value.type != "text":
        return False
    asked = normal(question)
    if any(word.strip() not in asked for word in around.words(CUES["made_another"])):
        return True
    if stands_in(ASKED["parts"], value.shown) and around.says(CUES["part_of"]):
        return True
    if value.text[:1].isupper():
        longer = Around(cased(text), around.place).words(CUES["longer_name"])
        if any(word.casefold() not in asked for word in longer):
            return True
    return (
        _is_in_katakana(around, value)
        or _is_in_hiragana(around, value)
        or _is_in_han_compound(around, value)
    )


def _is_in_katakana(around: Around, value: Value) -> bool:
    """Return whether a word in katakana is a part of a longer one: パン in フライパン."""
    return _KATAKANA.fullmatch(value.shown) is not None and any(
        _KATAKANA.fullmatch(around.part(side, 1)) for side in ("before", "after")
    )


def _is_in_hiragana(around: Around, value: Value) -> bool:
    """Return whether a short word in hiragana is a part of a longer one: かば in かばん."""
    if len(value.shown) > _LONGEST_HIRAGANA or not _HIRAGANA.fullmatch(value.shown):
        return False
    before, after = around.part("before", 1), around.part("after", 8)
    return not (_PARTICLE_BEFORE.fullmatch(before) and _PARTICLE_AFTER.match(after))


def _is_in_han_compound(around: Around, value: Value) -> bool:
    """Return whether a Han word of one or two letters is a part of a longer one."""
    if len(value.shown) > 2 or not _HAN.fullmatch(value.shown):
        return False
    if not _KANA.search(around.shown) and len(around.shown) > len(value.shown) + 2:
        return False
    return any(
        _HAN.fullmatch(letter) is not None and letter not in plain
        for letter, plain in (
            (around.part("before", 1), _HAN_BEFORE),
            (around.part("after", 1), _HAN_AFTER),
        )
    )


def is_someone_elses(around: Around, kind: str, question: str) -> bool:
    """Return whether a name asked for by "who" stands for someone of theirs: Anna's brother."""
    if kind != "speaker" and not stands_in(ASKED["who"], normal(question)):
        return False
    possessed = around.shown[: around.place.end].endswith("'s")
    if possessed and re.match(r" \w", around.part("after", 12)):
        return True
    return around.says(CUES["of_someone_else"])


def without_clauses(shown: str, denied: Sequence[Found], kept: Sequence[Found]) -> str:
    """Return a text with the clauses of denied values blanked, where no kept value stands in them.

    Places stay what they were. "KX-0014 (not KX-0041)" says nothing against KX-0014.
    """
    for place in denied:
        start = max((m.end() for m in _PART_END.finditer(shown, 0, place.start)), default=0)
        border = _PART_END.search(shown, place.end)
        end = border.start() if border else len(shown)
        if not any(p.start < end and start < p.end for p in kept):
            shown = shown[:start] + " " * (end - start) + shown[end:]
    return shown
