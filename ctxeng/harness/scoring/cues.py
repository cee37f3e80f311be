"""Words near a value that make it more, or less, than a plain assertion.

Denial and supersession ("not", "no longer", "ではなく", "말고"), doubt ("maybe"), and values offered
side by side ("A or B"). All work on the normal form of a text.
"""

from __future__ import annotations

import re

_DENIAL = re.compile(
    r"\b(?:not|no|never|isn't|wasn't|aren't|weren't|don't|doesn't|didn't|won't|can't|cannot"
    r"|without|"
    r"neither|nor|instead of|rather than|ruled out|rejected|refused|against|except|other than"
    r"|turned down|declined|vetoed|replaced|replaces|confused with|"
    r"used to be|formerly|previously|originally|was going to be|initially|anything but|"
    r"away from|dropped|scrapped|changed from|moved from|switched from|up from|down from)\b"
    r"|ではな|じゃな|なく|ません|以前|元々|もともと|最初は|当初|従来|やめ|却下|から変"
    r"|아니|아닌|아닙|않|말고|대신|원래|처음에는|이전|기존|당초|예전|더 이상|不是|没有|不再|原来|之前|本来|而不|别用",
)
# Denials that are over before the value begins: "not A but B", "from A to B", "AではなくB".
_CONTRASTED = re.compile(
    r"\bnot\b.{1,40}?,? but\b|\bno\b.{1,40}?,? sino\b|\b(?:changed|moved|switched|went|up|down) from\b.{1,40}? to\b"
    r"|\b(?:used to be|was|were|originally|previously|formerly"
    r"|initially)\b.{1,40}?,? (?:but )?(?:it(?:'s| is) |is )?now\b"
    r"|^no,|[^、。]{1,24}(?:では|じゃ)なく(?:て)?、?|[^,.]{1,24}(?:이|가) 아니[라고],?|[^,.]{1,24} ?(?:말고"
    r"|대신),?|(?:已经|也)?不是[^,。]{1,24}, ?(?:而)?是|从[^,。]{1,24}(?:换|改|变|搬|移|调|升|降)(?:到|成|为|至)了?"
)
_NO_NOUN = re.compile(r"\bno [a-z]+, (?!(?:no|not|nor|or)\b)(?=[a-z]+ )")
_DENIED_AFTER = re.compile(
    r"^\W{0,3}(?:(?:(?:is|was|are|were|has been|have been|had been|got)(?:n't"
    r"| not)?\s(?:later |then |since |now )?)"
    r"?(?:ruled out|rejected|dropped|scrapped|replaced|superseded|changed|cancell?ed|the old"
    r"|the original|outdated"
    r"|obsolete|no longer)|(?:is|was|are|were)(?:n't| not)|not |any ?more|(?:is|was) (?:wrong"
    r"|incorrect|out)"
    r"|instead\b.*not|before\b|at first|initially|originally|until|but (?:changed|later|then"
    r"|now|that)"
    r"|and (?:then )?(?:changed|later))"
    r"|^(?:では(?:な|あり)|じゃ(?:な|あり)|でもな|でした?が|だったが|は却下|はやめ|をやめ|から.{0,16}(?:変|代|替|移|切り?替|引き継|更新|修正"
    r"|上げ|下げ|増|減)|で考えて|は.{0,16}(?:見送|却下|やめ|使わ)|はもう|で始め"
    r"|(?:은|는|이|가|도)? ?아[니닌닙]|(?:은|는|을|를|이|가)? ?(?:말고|대신)|에서 .{0,16}(?:변경|바뀌|바꾸|옮|이동|전환|수정|교체|조정)"
    r"|(?:이|여)?였(?:지만|는데|고)|(?:으)?로 시작|(?:은|는) (?:안 |보류|폐기|취소)|(?:이)?였다가|이?었지만|不是|但)"
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|might be|could be|may be|probably|either|i think|i guess"
    r"|not sure|i (?:don't|do not|can't) (?:recall|remember)|"
    r"unclear|or possibly|something like|one of|i believe|if i (?:recall|remember)|as far as i"
    r"|seems?|apparently|"
    r"presumably|likely|supposedly|i assume|my guess|not certain|not entirely|can't be sure"
    r"|hard to say|"
    r"might have been|may have been|could have been|may be"
    r"|quiz[aá]s?|tal vez|a lo mejor|puede (?:que|ser)|podr[ií]a ser|posiblemente|probablemente|creo"
    r"|supongo|me parece|parece que|seguramente|no estoy segur[oa]|si (?:mal )?no recuerdo)\b"
    r"|たぶん|おそらく|恐らく|多分|かもしれ|か、?または|と思い|と思う|はずです|(?<!どう)(?<!いかが)でしょう|だろう|気がし|らしい|ようです|確か、?"
    r"|아마(?!존|추어|씨)|일지도|인지(?!도)|것 같|듯(?:합|해|하)|[일할] 거예요|[일할] ?걸요|추측|생각(?:해|합|됩)"
    r"|可能|也许|大概|或者|或许|好像|似乎|应该是|我猜|估计|大约|说不定|不确定",
)
# The value is offered beside another: "A or B", "AかB", "A 또는 B".
_OR_AFTER = re.compile(
    r"^\W{0,3}or\b|^,? [ou] (?!sea\b)|^か(?![らつ])、?(?=\w)|^、?(?:または|もしくは|あるいは)|^(?:이나|나|거나) |^ ?(?:또는|혹은|아니면)"
)
_OR_BEFORE = re.compile(
    r"\bor\W{1,3}$|\b[ou] (?:el |la |un |una )?$|(?:か、?|または|もしくは|あるいは)$|(?:이나|나|또는|혹은|아니면) $"
)

_BEFORE, _AFTER = 48, 40
_SENTENCE = re.compile(r"[;!?。；！？\n]|\.(?=\s|$)")
_CLAUSE = re.compile(rf"{_SENTENCE.pattern}|, (?:but|and) ")


def denies(text: str) -> bool:
    """Return whether a text holds a word of denial or of the past."""
    return bool(_DENIAL.search(text))


def is_negated(shown: str, start: int, end: int) -> bool:
    """Return whether a denial or a word of the past stands close to a value, in its clause.

    A denial that is over before the value begins does not count: "not A but B" asserts B.
    """
    before, after = _around(shown, start, end)
    if shown[
        start : start + 1
    ].isdigit():  # "no retries, slowest answer 412": one "no" for one noun
        before = _NO_NOUN.sub(" ", before)
    if before.endswith("~~") and after.startswith("~~"):  # struck out in Markdown
        return True
    return bool(_DENIAL.search(_CONTRASTED.sub(" ", before)) or _DENIED_AFTER.search(after))


def hedges(text: str, asked: str = "") -> bool:
    """Return whether a text says that it is guessing, in words that the question does not quote."""
    return any(m.group() not in asked for m in _HEDGE.finditer(text))


def is_offered(shown: str, start: int, end: int) -> bool:
    """Return whether a value is offered as one of several: "A or B"."""
    before, after = _around(shown, start, end)
    return bool(_OR_BEFORE.search(before) or _OR_AFTER.search(after))


def _around(shown: str, start: int, end: int) -> tuple[str, str]:
    before = _CLAUSE.split(shown[max(0, start - _BEFORE) : start])[-1]
    after = _SENTENCE.split(shown[end : end + _AFTER])[0]
    return before.lstrip(), after
