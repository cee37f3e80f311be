"""What stands in an answer beside the expected value and makes it more than a plain assertion.

Another value of the same type, another person, a change told after the value, a proposal that may
not have been taken, and a denial that refers back to the value. None of these decides; each sends
the answer to the judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ctxeng.harness.scoring.cues import is_negated
from ctxeng.harness.scoring.matching import Found, Value
from ctxeng.harness.scoring.moments import Moment, moments, same_moment
from ctxeng.harness.scoring.quantities import Quantity, quantities, same_quantity
from ctxeng.harness.scoring.text import cased, normal

# Told after a value, these say that it did not stay so.
_CHANGE = re.compile(
    r"\b(?:chang|mov|switch|swap|replac|rais|lower|bump|roll|postpon|push|reschedul|renam|updat|revis"
    r"|correct|overrul|cancel|abandon|supersed)(?:e[ds]?|ed|d|ing|led)?\b"
    r"|\b(?:instead|ended up|end up|in the end|later|eventually|finally|went with|go with|going with|opted"
    r"|settled on|nowadays|these days|since then|afterwards|however|although|though|whereas"
    r"|yet|until|only to)\b|, ?now\b|\bnow (?:it|we|you|they|the|uses?|at|in|goes)\b|\b(?:is|are) now\b|, (?:but|then)\b|\bbut\b"
    r"|変更|変わ|変え|代わ|替わ|替え|移行|延期|切り替|結局|その後|のちに|後に|最終的|今は|現在は|けれど|けど|しかし|だが|ですが|でしたが"
    r"|바뀌|바꿨|바꾸|변경|옮|미뤄|미루|연기|결국|나중에|지금은|이제는|현재는|하지만|그러나|지만|는데|다가"
    r"|改到|改成|改为|改用|换成|换到|换了|推迟|后来|最后|最终|现在|如今|但是?|不过|然而|却"
)
# Said before or after a value, these say that it was talked of, not that it was taken.
_PROPOSED = re.compile(
    r"\b(?:propos|suggest|offer|consider|recommend|float|pitch|debat|tempt|wish|hop|weigh)(?:e[ds]?|ed|ing)\b"
    r"|\b(?:discussed|wanted|leaning|candidate|alternative|brought up|argued|asked (?:for|about)"
    r"|thought (?:of|about)|first choice|runner-up|shortlist\w*|on the table|like[ds]? the idea|toyed)\b"
    r"|提案|検討|候補|勧め|推し|案も|話も|という話|意見|제안|고려|검토|후보|추천|얘기도|의견|논의"
    r"|建议|考虑|讨论|推荐|提议|候选|想过|提过|提到过"
)
# A clause that answers no, or takes back by a pronoun what the clause before it named.
_TAKEN_BACK = re.compile(
    r"\b(?:used to|no longer|any ?more|was the (?:plan|original|old|first|initial))\b|\b(?:nope|nah|wrong|incorrect|false|mistaken)\b|(?:^|[.,;:!?-]\s?)(?:no|not)\b"
    r"|\b(?:it|that|this|them|one|those|these)\b[^.;!?]{0,40}?(?:n't|\bnot|\bnever|\bno\b|\bout\b|reject|declin|refus"
    r"|turn(?:ed)? down|rul(?:ed|ing) out|drop|veto|discard|scrap)"
    r"|\b(?:turned|turn|shot|voted) (?:it|that|this|them|that one|this one|those)?\s?down\b"
    r"|\b(?:ruled?|ruling) (?:it |that |them |this )?out\b|\b(?:veto|discard|scrap|reject|declin|refus)(?:ed|es|ing)?\b"
    r"|いいえ|いや、|違い|違う|ちがい|間違|誤り|却下|断(?:り|っ|わ)|中止|取りやめ|取り消|撤回|見送"
    r"|아니[요에다]|아닙|아닌|틀렸|틀린|취소|거절|거부|기각|철회|제외|무산"
    r"|不对|不是|不行|错了|否决|放弃|取消|拒绝|作废|撤回|排除|没有采用|没采用|没选|未采用"
)
# Korean, Japanese and Chinese deny after the value, in its clause.
_EASTERN_DENIAL = re.compile(
    r"ません|ない(?!と|で?し?ょ)|なかった|以外|嫌い|苦手|なし(?:で|に|$)|抜き|除(?:い|き|く|外)|やめ"
    r"|(?:^|[\s은는을를도이가])안 |못 ?하|않|없(?:이|습|어|다|었)|빼고|빼기|빼는|뺐|싫|제외|말고|외에"
    r"|被否|以外|之外|除外|不(?!错|仅|但|过|只|同|久|论|管)|没(?!问题)"
)
_BEFORE_DENIAL = re.compile(
    r"\b(?:avoid|skip|ban|forbid|exclud|omit|prohibit|dislik|hat|refus|declin|lack)(?:e[ds]?|s|ned|ped|ed|ing|ning|ping)?\b"
    r"|\b(?:far from|hardly|nothing like|unlike|nowhere near|stay away|steer clear|other than|all but"
    r"|tired of|fed up|stopped|quit|gave up|given up|left out|cannot stand|can't stand|used to)\b"
    r"|(?:不|没|没有|别|除了|除|放弃了?|拒绝了?|取消了?|否决了?|讨厌)[^，。；、]{0,4}$"
)
_PERMITTED = re.compile(
    r"\b(?:fine|ok|okay|allowed|permitted|welcome|acceptable|no problem|safe|loves?|enjoys?)\b"
    r"|大丈夫|構わ|かまわ|問題な|好き|괜찮|상관없|좋아|가능|可以|没问题|没关系|无妨|喜欢"
)
_INDIRECT = re.compile(r"\b(?:to|told|asked|with|at|against|for|informed|reminded|about)\s$")
_ORDERING = re.compile(
    r"\b(?:before|after|last|lastly|finally|preced\w+|follow\w*|begin\w*|start\w*|end\w*|revers\w+|first)\b"
    r"|前に|後に|まえに|あとに|最後|最初|先に|が先|の後|の前|전에|다음에|나중|먼저|마지막|앞에|뒤에|之前|之后|最后|首先|先|再"
)
_CLAUSE_END = re.compile(
    r"[;!?。；！？\n、，]|[.,](?=\s|$)|(?<=[가-힣]고),? |\s(?:and|while|but)\s"
)
_SENTENCE_END = re.compile(r"[!?。！？\n]|\.(?=\s|$)")
_EASTERN_PERSON = re.compile(
    r"[一-龥々ァ-ヴー]{1,6}(?:さん|くん|君|ちゃん|氏|様|先生|部長|課長)|[가-힣]{2,4} ?(?:씨|님|과장|부장|대리|선생님)"
    r"|(?:(?<![一-龥])|(?<=[是和跟给让叫由]))[小老阿][一-龥](?![一-龥]?时)|(?<![一-龥])[王李张刘陈杨赵黄周吴徐孙胡朱郭林何罗][一-龥]{0,2}(?:先生|女士|老师|经理|总)"
)
_TOPIC = re.compile(
    r"(?:^|[\s、。，,])(?P<ja>[一-龥々ァ-ヴー]{2,8})[はが](?=[^\s])|(?:^|[\s,.])(?P<ko>[가-힣]{1,5}?)(?:이는|이가|[은는가이])(?= )"
)
_PLAIN_TOPIC = frozenset(
    "그것 이것 저것 그건 그 이 저 답 정답 답변 것 건 우리 저희 제 당신 회의 그거 이거 거".split()
) | {"回答", "答", "当初", "実際"}
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_OPENS_AS_SUBJECT = re.compile(
    r"^(?:'s|\s(?:is|was|has|had|likes?|lives?|wants?|said|says|told|owns?|prefers?|works?|does|did|will|can"
    r"|went|got|made|gave|took|chose|and|[a-z]+ed)\b)"
)
_NO_NAME = frozenset(
    """
    i it the you we they he she that this these those there a an in on at by for from to of and or but so
    as my your our his her their its yes no not part project team option plan because since both all
    only each with without after before when while if then first second third last next monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august
    september october november december what which who use using user assistant currently now
    """.split()
)
LONGEST_SMALL_WORD = 4
_SHAPES = ((re.compile(r"[^\W\d_]"), "A"), (re.compile(r"\d+"), "9"), (re.compile(r"A+"), "A"))
_CODE = re.compile(
    r"[a-z]{1,6}[-_#]?\d{2,}(?:-\w+)?|\bv?\d+\.\d+(?:\.\d+)*\b|\b[0-9a-f]{7,40}\b|/[\w./-]+|[\w.+-]+@[a-z0-9.-]+"
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
    return not wanted.unit or not found.unit or same_quantity(
        Quantity(1.0, wanted.unit, 0, 0), Quantity(1.0, found.unit, 0, 0)
    )  # fmt: skip


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


def other_person(text: str, known: Iterable[str], values: Sequence[Found]) -> bool:
    """Return whether a text names someone, or makes something its subject, that is not known.

    Args:
        known: the question and every value that the probe names.
        values: where the expected values stand; what overlaps one is the value itself.
    """
    told = normal(" ".join(known))
    shown = cased(text)

    def apart(m: re.Match[str]) -> bool:
        return not any(v.start < m.end() and m.start() < v.end for v in values)

    names = (m for m in _NAME.finditer(shown) if apart(m))
    eastern = (m.group() for m in _EASTERN_PERSON.finditer(shown) if apart(m))
    topics = list(_TOPIC.finditer(normal(text)))
    return (
        any(_unknown_name(shown, m, told) for m in names)
        or any(normal(name) not in told for name in eastern)
        or (len(topics) > 1 and any(_new_topic(m, told) for m in topics if apart(m)))
    )


def _unknown_name(shown: str, m: re.Match[str], told: str) -> bool:
    name = m.group().casefold()
    if name in _NO_NAME or re.search(rf"\b{name}", told):
        return False
    before = shown[: m.start()].rstrip(" \"'*`(-")
    opens = not before or before[-1] in ".!?:;\n" or before.endswith(("。", "！", "？"))
    return not opens or bool(_OPENS_AS_SUBJECT.match(shown[m.end() :]))


def _new_topic(m: re.Match[str], told: str) -> bool:
    topic = m["ja"] or m["ko"]
    return topic not in _PLAIN_TOPIC and topic not in told


def is_taken_back(shown: str, place: Found) -> bool:
    """Return whether what stands around a value denies it, beyond the words right beside it."""
    before, after = shown[: place.start], shown[place.end :]
    clause = _CLAUSE_END.split(before)[-1]
    rest = _CLAUSE_END.split(after)[0]
    return bool(
        _TAKEN_BACK.search(after)
        or _EASTERN_DENIAL.search(rest)
        or _BEFORE_DENIAL.search(clause)
        or re.search(r"\b(?:certainly|definitely|absolutely|surely|of course) not\b", before)
    )


def changes_after(shown: str, place: Found) -> bool:
    """Return whether a text tells of a change after a value, or of an older state."""
    return bool(_CHANGE.search(shown[place.end :]))


def is_proposed(shown: str, place: Found, question: str) -> bool:
    """Return whether a value is only said to have been talked of, where that was not asked."""
    if _PROPOSED.search(normal(question)):
        return False
    before = _SENTENCE_END.split(shown[: place.start])[-1]
    after = _SENTENCE_END.split(shown[place.end :])[0]
    return bool(_PROPOSED.search(before) or _PROPOSED.search(after))


def is_permitted(shown: str, place: Found) -> bool:
    """Return whether a value is said to be fine, right after it: for what must not be."""
    return bool(_PERMITTED.search(_SENTENCE_END.split(shown[place.end :])[0]))


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


def is_indirect(shown: str, place: Found) -> bool:
    """Return whether a name is what something is done to, not who does it."""
    return bool(_INDIRECT.search(shown[: place.start]))


def is_reordered(shown: str, places: Sequence[Sequence[Found]]) -> bool:
    """Return whether words of order leave open in which order the values are meant."""
    if any(len(group) > 1 for group in places):
        return True
    cue = _ORDERING.search(shown)
    if cue is None or len(places) < 2:
        return False
    starts = [group[0].start for group in places]
    opens = cue.group() in ("first", "start", "starting", "最初", "まず", "먼저", "首先", "先")
    return not (opens and cue.start() < starts[1]) or any(
        m.group() in ("before", "after", "前に", "後に", "전에", "之前", "之后")
        for m in _ORDERING.finditer(shown)
    )
