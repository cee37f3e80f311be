"""Another value of the expected one's sort, another person, or a small word that looks like it.

None of these decides; each sends the answer to the judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from ctxeng.harness.scoring.cues import is_negated
from ctxeng.harness.scoring.matching import Found, Value
from ctxeng.harness.scoring.moments import Moment, moments, same_moment
from ctxeng.harness.scoring.quantities import Quantity, are_of_one_sort, quantities, same_quantity
from ctxeng.harness.scoring.text import cased, is_spaceless, normal

_EASTERN_PERSON = re.compile(
    r"[一-龥々ァ-ヴー]{1,6}(?:さん|くん|君|ちゃん|氏|様|先生|部長|課長)"
    r"|[가-힣]{2,4} ?(?:씨|님|과장|부장|대리|선생님)"
    r"|(?:(?<![一-龥])|(?<=[是和跟给让叫由]))[小老阿][一-龥](?![一-龥]?时)"
    r"|(?<![一-龥])[王李张刘陈杨赵黄周吴徐孙胡朱郭林何罗][一-龥]{0,2}(?:先生|女士|老师|经理|总)"
)
_TOPIC = re.compile(
    r"(?:^|[\s、。，,])(?P<ja>[一-龥々ァ-ヴー]{2,8})[はが](?=[^\s])|(?:^|[\s,.])(?P<ko>[가-힣]{1,5}?)(?:이는"
    r"|이가|[은는가이])(?= (?!건 |것|곳|거|게 |때|날|데))(?<![라다자냐]는)"
    r"|(?:건|것은|사람은) (?P<cleft>[가-힣]{2,4}?)이?(?:예요|에요|입니다|야|다)(?=[.!,\s]|$)"
)
_PLAIN_TOPICS = """
그것 이것 저것 그건 그 이 저 답 정답 답변 것 건 우리 저희 제 당신 회의
그거 이거 거 回答 答 当初 実際
"""
_PLAIN_TOPIC = frozenset(_PLAIN_TOPICS.split())
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_OPENS_AS_SUBJECT = re.compile(
    r"^(?:'s|\s(?:is|was|has|had|likes?|lives?|wants?|said|says|told|owns?|prefers?|works?"
    r"|does|did|will|can"
    r"|went|got|made|gave|took|chose|and|[a-z]+ed)\b)"
)
# Beside a question about someone: "Dana: tea", "Tom drinks tea".
_OPENS_AS_SOMEONE = re.compile(r"^(?:\s?:\s|\s[a-z]+s\b)")
_NO_NAMES = """
i it the you we they he she that this these those there a an in on at by for from to of
and or but so as my your our his her their its yes no not part project team option plan
because since both all
only each with without after before when while if then first second third last next monday tuesday
wednesday thursday friday saturday sunday january february march april may june july august
september october november december what which who use using user assistant currently now
answer final reply response result note summary
"""
_NO_NAME = frozenset(_NO_NAMES.split())
# Who speaks, before what is said: "- [anchor] Omar: ".
_LABEL = re.compile(r"^(?:[-*•]\s+)?(?:\[[a-z]+\]\s+)?[^\W\d_][\w.'-]*(?: [A-Z][\w'-]*)?\s?:\s")
_SOMEONE = re.compile(
    r"\b(?:i|me|my|mine|you|your|yours|we|us|our|he|she|his|him|her|hers|they|their|them|who|whom|whose"
    r"|someone|anyone|everyone|person|people|man|woman|guy|customer|user|client|owner|colleague)\b"
)
LONGEST_SMALL_WORD = 4
# A number before a plural counts that: "27 runs" is no rival of "six days".
_COUNTS = re.compile(
    r"^\s(?!(?:is|was|has|this|plus|as|us|its|thus|less|always|perhaps|minus|times|bucks)\b)[a-z]{2,}s\b"
)
_SHAPES = ((re.compile(r"[^\W\d_]"), "A"), (re.compile(r"\d+"), "9"), (re.compile(r"A+"), "A"))
_CODE = re.compile(
    r"[a-z]{1,6}[-_#]?\d{2,}(?:-[a-z0-9]+)?|\b\d+[a-z]\b|\bv?\d+\.\d+(?:\.\d+)*\b"
    r"|\b[0-9a-f]{7,40}\b|/[\w./-]+|(?<![\w.+-])[\w.+-]+@[a-z0-9.-]+"
)


def other_value(values: Sequence[Value], text: str, known: Iterable[str]) -> bool:
    """Return whether a text names another number, date or identifier of an expected one's sort.

    Args:
        known: texts whose values are no rivals: the question, the other expected values.
    """
    told = [*known, *(value.text for value in values)]
    return any(_rivalled(value, text, told) for value in values)


def _rivalled(value: Value, text: str, told: Sequence[str]) -> bool:
    if (wanted := value.quantity) is not None:
        numbers = [q for known in told for q in quantities(known)]
        return any(
            _comparable(wanted, q)
            and not _counts_another(wanted, q, text)
            and not any(same_quantity(q, known) for known in numbers)
            and not is_negated(normal(text), q.start, q.end)
            for q in quantities(text)
        )
    if (when := value.moment) is not None:
        dates = [t for known in told for t in moments(known)]
        return any(
            _same_parts(when, t)
            and not _half_a_day_apart(when, t)
            and not any(same_moment(t, known) for known in dates)
            and not is_negated(normal(text), t.start, t.end)
            for t in moments(text)
        )
    return value.type == "identifier" and _other_code(value, text, told)


def _comparable(wanted: Quantity, found: Quantity) -> bool:
    if found.unit in ("year", "day of month") and wanted.unit != found.unit:
        return False
    if found.unit == "share" and wanted.unit != found.unit:
        return are_of_one_sort(wanted.unit, found.unit)
    return not wanted.unit or not found.unit or same_quantity(
        Quantity(Decimal(1), wanted.unit, 0, 0), Quantity(Decimal(1), found.unit, 0, 0)
    )  # fmt: skip


def _counts_another(wanted: Quantity, found: Quantity, text: str) -> bool:
    """Return whether a number without a unit counts things, where one with a unit is expected."""
    return bool(wanted.unit) and not found.unit and bool(_COUNTS.match(normal(text)[found.end :]))


def _same_parts(wanted: Moment, found: Moment) -> bool:
    return any(
        getattr(wanted, part) is not None and getattr(found, part) is not None
        for part in ("day", "minutes", "weekday")
    )


def _half_a_day_apart(a: Moment, b: Moment) -> bool:
    """Return whether two times may be one: "10時" does not say which half of the day it means."""
    return a.minutes is not None and b.minutes is not None and abs(a.minutes - b.minutes) == 12 * 60


def _other_code(value: Value, text: str, told: Sequence[str]) -> bool:
    known, shown = normal(" ".join(told)), normal(text)
    wanted = _shape(value.shown)
    return any(
        _shape(code := m.group().rstrip(".,")) == wanted
        and code not in known
        and not is_negated(shown, m.start(), m.end())
        for m in _CODE.finditer(shown)
    )


def _shape(code: str) -> str:
    """Return the sort of an identifier: kx-0014 and px-2291 are of one, 4f9c2e1 is a hash."""
    if re.fullmatch(r"[0-9a-f]{7,40}", code) and not code.isalpha():
        return "hash"
    shape = code.removeprefix("v") if re.match(r"v\d", code) else code
    for pattern, letter in _SHAPES:
        shape = pattern.sub(letter, shape)
    return "9.9" if re.fullmatch(r"9(?:\.9)+", shape) else shape


def other_person(text: str, question: str, known: Iterable[str], values: Sequence[Found]) -> bool:
    """Return whether a text names someone, or makes something its subject, that is not known.

    Who speaks, and where something is from, are no rivals in an answer to a question about no one.

    Args:
        known: the question and every value that the probe names.
        values: where the expected values stand; what overlaps one is the value itself.
    """
    told = normal(" ".join(known))
    shown = cased(text)
    asks_of_someone = _names_someone(question)
    label = _LABEL.match(shown)
    spoken = label.end() if label and not asks_of_someone else 0

    def apart(m: re.Match[str]) -> bool:
        return not any(v.start < m.end() and m.start() < v.end for v in values)

    names = (m for m in _NAME.finditer(shown, spoken) if apart(m))
    eastern = (m.group() for m in _EASTERN_PERSON.finditer(shown) if apart(m))
    topics = list(_TOPIC.finditer(normal(text)))
    return (
        any(
            _unknown_name(shown, m, told, asks_of_someone)
            and not _is_place(shown, m, asks_of_someone)
            for m in names
        )
        or any(normal(name) not in told for name in eastern)
        or (len(topics) > 1 and any(_new_topic(m, told) for m in topics if apart(m)))
    )


def _unknown_name(shown: str, m: re.Match[str], told: str, asks_of_someone: bool) -> bool:
    name = m.group().casefold()
    if name in _NO_NAME or re.search(rf"\b{name}", told):
        return False
    before = shown[: m.start()].rstrip(" \"'*`(-")
    opens = not before or before[-1] in ".!?:;\n" or before.endswith(("。", "！", "？"))
    rest = shown[m.end() :]
    acts = asks_of_someone and _OPENS_AS_SOMEONE.match(rest)
    return not opens or bool(acts or _OPENS_AS_SUBJECT.match(rest))


def _names_someone(question: str) -> bool:
    """Return whether a question is about someone; a script without capitals does not tell."""
    shown = cased(question)
    if is_spaceless(shown) or _SOMEONE.search(shown.casefold()):
        return True
    first = _NAME.match(shown)
    names = _NAME.finditer(shown, first.end() if first else 0)
    return any(m.group().casefold() not in _NO_NAME for m in names)


def _is_place(shown: str, m: re.Match[str], asks_of_someone: bool) -> bool:
    """Return whether a name stands as where something is: "in Oslo", "they come from Tartu"."""
    if shown[m.end() :].startswith("'"):
        return False
    before = shown[: m.start()].casefold()
    return before.endswith(" in ") or (not asks_of_someone and before.endswith(" from "))


def _new_topic(m: re.Match[str], told: str) -> bool:
    topic = m["ja"] or m["ko"] or m["cleft"]
    return topic not in _PLAIN_TOPIC and topic not in told


def is_other_word(text: str, value: Value, place: Found) -> bool:
    """Return whether a short capitalised name stands as a small word: ``Go`` in "go ahead"."""
    shown, name = cased(text), value.text.strip()
    return (
        value.type == "text"
        and len(name) <= LONGEST_SMALL_WORD
        and name[:1].isupper()
        and shown[place.start : place.start + 1].islower()
        and shown != normal(text)
    )
