"""Words beside a number or a date that make it another: a bound, an offset, a rate, a further unit.

None of these decides; each sends the answer to the judge. All work on the normal form of a text.
"""

from __future__ import annotations

import re

from ctxeng.harness.scoring.matching import Found, Value
from ctxeng.harness.scoring.quantities import are_of_one_sort, names_unit, quantities
from ctxeng.harness.scoring.text import cased, normal

_LIMIT_BEFORE = re.compile(
    r"(?:\b(?:(?:fewer|less|more|greater|higher|lower|bigger|larger|smaller|older|younger"
    r"|longer|shorter|earlier|later|sooner) than|at (?:the )?(?:least|most|minimum|maximum"
    r"|earliest|latest)|no (?:more|less|fewer|later|earlier)|up to|upwards of|over|under"
    r"|above|below"
    r"|beyond|exceed(?:s|ed|ing)?|almost|nearly|close to|short of|shy of|(?:min|max)imum(?: of)?"
    r"|before|after|since|prior to|ahead of|following|preceding|past|eve of"
    r"|(?:days?|weeks?|months?|years?|hours?|minutes?) (?:from|to)|(?:half|quarter) to"
    r"|(?:m[aá]s|menos|mayor|menor|antes|despu[eé]s|m[ií]nimo|m[aá]ximo|v[ií]spera|cerca) del?"
    r"|al menos|como (?:m[ií]nimo|m[aá]ximo)|por lo menos|hasta|casi|tras|desde|superior(?:es)? a"
    r"|inferior(?:es)? a)\s(?:the |an? |el |los |las )?"
    r"|(?<![^\s])[<>≥≤]=?\s?"
    r"|(?:少なくとも|多くとも|多くても|最低|最大|最小|最長|最短"
    r"|最多|最少|至少|至多|不到|不足|不满|超过|超過|不少于|不多于|低于|高于|少于|多于|大于"
    r"|小于|将近|接近|早于|晚于"
    r"|최소|최대|적어도|많아야|기껏해야|거의)\s?(?:でも?)?\s?)$"
)
_LIMIT_AFTER = re.compile(
    r"^(?:\+(?!\w)|-?(?:ish|odd|fold)\b|,? (?:or|and) (?:more|less|fewer|over|under|above|below|up"
    r"|later|earlier|older|younger|upwards)\b|,? (?:at (?:the )?(?:least|most|minimum|maximum"
    r"|earliest|latest)|minimum|maximum|max|o (?:m[aá]s|menos)|como (?:m[ií]nimo|m[aá]ximo))\b"
    r"|\s?の?(?:未満|以上|以下|を?超|を?上回|を?下回|弱(?!い)|強(?!い)|足らず|余り"
    r"|より(?:多|少|高|低|前|後|早|遅|上|下)"
    r"|前日|翌日|前週|翌週|前月|翌月|前の|次の|以降"
    r"|以前|以後|前(?!半|後|期|者|提)|後(?!半|期|者)|直前|直後|過ぎ|すぎ|あと|\d+日[前後])"
    r"|\s?的?(?:之前|之后|以前|以后|以上|以下|前一|后一|前夕|前(?!后)|后(?!来|面)|次日|第二天|多(?!少))"
    r"|\s?(?:[이가을를도] )?(?:미만|이상(?!한|하)|이하|초과|넘[는게어었은]|보다|안 ?[되돼]"
    r"|남짓|조금 못)"
    r"|\s?의? ?(?:전날|다음 ?날|이튿날|이후|이전|전에|후에|뒤에|전까지|전주|다음 ?주|하루 ?[전뒤]"
    r"|직전|직후|지나|전(?=[,.\s]|$)|후(?=[,.\s]|$)))"
)
_ORDINAL = re.compile(
    r"^(?:st|nd|rd|th)\b|^[^\W\d_]?(?:番目|回目|日目|個目|人目|번째|일째)|^\.?[ºª]"
)
_ORDINAL_BEFORE = re.compile(r"(?:第|제)$")
_RATE = re.compile(r"^\s?/\s?[^\W\d_]|^ per [a-z]|^ ?(?:あたり|当たり|につき|당(?![가-힣]))")
_OTHER_DAYS = re.compile(r"^\s?(?:個|个)?(?:営業日|영업일|工作日|営業時間|平日)")
_WORD_AND_UNIT = re.compile(r"^[\s-](?:([^\W\d_]+)[\s-])([^\W\d_]+)(?:[\s-]([^\W\d_]+))?")
_SIGN_OF_MONEY = re.compile(r"\s?([A-Z]{3})\b")
_ATTACHED = re.compile(r"[a-zμ]{1,4}\b")
_JOINED = re.compile(r",?\s?(?:and |y |と|と、)?")
_BITS = re.compile(r"[KMGT]b\b")
_BYTES = re.compile(r"[KMGTkmgt][Bb]\b")
_SHARES = ("percent", "permille", "points")
_REACH = 40


def is_limited(shown: str, place: Found, own: str) -> bool:
    """Return whether a bound or an offset stands at a number or a date: over 12, the day before.

    Args:
        own: the expected values; a word of theirs limits nothing further.
    """
    before = _LIMIT_BEFORE.search(shown[max(0, place.start - _REACH) : place.start])
    after = _LIMIT_AFTER.search(shown[place.end : place.end + _REACH])
    return any(m is not None and m.group().strip() not in own for m in (before, after))


def is_other_amount(text: str, value: Value, place: Found, question: str) -> bool:
    """Return whether a number's neighbours make it an amount of something else than expected."""
    wanted = value.quantity
    if wanted is None:
        return False
    shown = normal(text)
    before, after = shown[: place.start], shown[place.end : place.end + _REACH]
    if re.match(r",\d", after) or re.search(r"\d,$", before):  # a decimal comma, or a list
        return True
    if not wanted.unit:
        return _is_share(text, place, question) or _is_ordinal(before, after, question)
    return bool(
        _is_further_unit(text, value, place)
        or _RATE.match(after)
        or _is_other_unit(cased(text), shown, place)
        or _is_bits(value.text) != _is_bits(cased(text)[place.start : place.end])
    )


def _is_share(text: str, place: Found, question: str) -> bool:
    own = [q for q in quantities(text) if (q.start, q.end) == (place.start, place.end)]
    asked = normal(question)
    return any(q.unit in _SHARES for q in own) and not re.search(
        r"%|percent|share|rate|割合|率|パーセント|퍼센트|비율|比例|百分|porcentaje", asked
    )


def _is_ordinal(before: str, after: str, question: str) -> bool:
    if re.search(
        r"\b(?:day|date|when|which|birthday)\b|日|날|día|cuándo|何番|몇", normal(question)
    ):
        return False
    return bool(_ORDINAL.match(after) or _ORDINAL_BEFORE.search(before))


def _is_further_unit(text: str, value: Value, place: Found) -> bool:
    """Return whether a part in another unit adds to an amount: 5 h 30 min."""
    shown, unit = normal(text), value.quantity.unit if value.quantity else ""

    def adjoins(start: int, end: int) -> bool:
        if start < place.end and place.start < end:
            return False
        gap = shown[place.end : start] if start >= place.end else shown[end : place.start]
        return len(gap) <= 5 and _JOINED.fullmatch(gap) is not None

    return any(are_of_one_sort(unit, q.unit) and adjoins(q.start, q.end) for q in quantities(text))


def _is_other_unit(spelled: str, shown: str, place: Found) -> bool:
    """Return whether what follows a number that was read without a unit is a unit all the same."""
    if not shown[place.end - 1].isdigit():
        return False
    after = shown[place.end : place.end + _REACH]
    if _OTHER_DAYS.match(after) or _ATTACHED.match(after):
        return True
    if _SIGN_OF_MONEY.match(spelled[place.end :]):
        return True
    words = _WORD_AND_UNIT.match(after)
    return words is not None and any(names_unit(w) for w in words.groups()[1:] if w)


def _is_bits(spelled: str) -> bool | None:
    """Return whether an amount of data is in bits (Gb), None where it is no such amount."""
    return bool(_BITS.search(spelled)) if _BYTES.search(spelled) else None
