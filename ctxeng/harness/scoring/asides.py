"""What an answer says about a value beside naming it: taken back, changed, proposed, in what order.

None of these decides; each sends the answer to the judge. All work on the normal form of a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxeng.harness.scoring.matching import Found
from ctxeng.harness.scoring.text import normal

_CHANGE = re.compile(
    r"\b(?:chang|mov|switch|swap|replac|rais|lower|bump|roll|postpon|push|reschedul|renam"
    r"|(?<!the )(?<!an )updat|revis"
    r"|correct|overrul|cancel|abandon|supersed)(?:e[ds]?|ed|d|ing|led)?\b"
    r"|\b(?:instead|ended up|end up|in the end|later|eventually|finally|went with|go with"
    r"|going with|opted"
    r"|settled on|nowadays|these days|since then|afterwards|however|although|though|whereas"
    r"|yet|only to)\b|, ?now\b|\bnow (?:it|we|you|they|the|uses?|at|in|goes)\b|\b(?:is"
    r"|are) now\b|, (?:but|then)\b|\bbut\b|\bthe (?:rest|remaining)\b"
    r"|残り|変更|変わ|変え|代わ|替わ|替え|移行|延期|切り替|結局|その後|のちに|後に|最終的|今は|現在は|しかし"
    r"|나머지|바뀌|바꿨|바꾸|변경|옮|미뤄|미루|연기|결국|나중에(?! \S{1,6}면 )"
    r"|지금은|이제는|현재는|하지만|그러나"
    r"|剩下|其余|改到|改成|改为|改用|换成|换到|换了|推迟|后来|最后|最终|现在|如今|但是?|不过|然而|却"
)
# Words that concede no more than the clause they end.
_CONCEDED = re.compile(r"\buntil\b|けれど|けど|だが|ですが|でしたが|(?<!까)지만|는데|다가")
# The change ends in the value: "10月14日に変わりました", "5월 20일로 바뀌었어요".
_ARRIVES = re.compile(
    r"^の?(?:午前|午後|朝|昼|夜|夕方)?(?:に|へ)(?:変|替|代|移|改|延期|切り?替)\w*?(?=[、。]|$)"
    r"|^ ?(?:오전|오후)?(?:으)?로 ?(?:바뀌|바뀐|바꿨|바꾸|변경|옮|미뤄|미루|연기)\w*"
)
_FEELING = re.compile(r"\b(?:hat(?:e[ds]?|ing)|dislik(?:e[ds]?|ing))\b|嫌い|苦手|싫|讨厌")
_PROPOSED = re.compile(
    r"\b(?:propos|suggest|offer|consider|recommend|float|pitch|debat|tempt|wish|hop"
    r"|weigh)(?:e[ds]?|ed|ing)\b"
    r"|\b(?:discussed|wanted|leaning|candidate|alternative|brought up|argued|asked (?:for|about)"
    r"|thought (?:of|about)|first choice|runner-up|shortlist\w*|on the table"
    r"|like[ds]? the idea|toyed)\b"
    r"|提案|検討|候補|勧め|推し|案も|(?:どう|いかが)でしょう|話も|という話|意見|제안|고려|검토|후보|추천|얘기도|의견|논의"
    r"|建议|考虑|讨论|推荐|提议|候选|想过|提过|提到过"
)
_TAKEN_BACK = re.compile(
    r"\b(?:used to|no longer|any ?more|was the (?:plan|original|old|first|initial))\b"
    r"|\b(?:nope|nah|wrong|incorrect|false|mistaken)\b|(?:^|[.,;:!?-]\s?)(?:no"
    r"|not)\b(?=\s*(?:[.,!;]|$)|\s(?:that|this|it|the|one)\b)"
    r"|(?<!so )\b(?:it|that|this|them|one|those|these)\b[^.;!?]{0,40}?(?:n't|\bnot\b|\bnever|\bno\b"
    r"|\bout\b|reject|declin|refus"
    r"|turn(?:ed)? down|rul(?:ed|ing) out|drop|veto|discard|scrap)"
    r"|\b(?:turned|turn|shot|voted) (?:it|that|this|them|that one|this one|those)?\s?down\b"
    r"|\b(?:ruled?|ruling) (?:it |that |them |this )?out\b|\b(?:veto|discard|scrap|reject"
    r"|declin|refus)(?:ed|es|ing)?\b"
    r"|いいえ|いや、|違い|違う|ちがい|間違|誤り|却下|断(?:り|っ|わ)|中止|取りやめ|取り消|撤回|見送"
    r"|아니[요에다]|아닙|아닌|틀렸|틀린|취소|거절|거부|기각|철회|제외|무산"
    r"|不对|不是|不行|错了|否决|放弃|取消|拒绝|作废|撤回|排除|没有采用|没采用|没选|未采用"
)
_EASTERN_DENIAL = re.compile(
    r"ません|ない(?!と|で?し?ょ)|なかった|以外|嫌い|苦手|なし(?:で|に|$)|抜き|除(?:い|き|く|外)|やめ"
    r"|(?:^|[\s은는을를도이가])안 |못 ?하|않"
    r"|없(?:이|습|어|다|었)|빼고|빼기|빼는|뺐|싫|제외|말고|외에"
    r"|(?<![a-z])ng(?![a-z])|だめ|ダメ|駄目|禁止|厳禁|論外|無理(?!な|せ|し)|避け"
    r"|외면|피하|피해|피했|만 아니"
    r"|避免|禁用|弃用|被否|以外|之外|除外|不(?!错|仅|但|过|只|同|久|论|管)|没(?!问题)"
)
_BEFORE_DENIAL = re.compile(
    r"\b(?:avoid|skip|ban|forbid|exclud|omit|prohibit|dislik|hat|refus|declin|lack)(?:e[ds]?|s"
    r"|ned|ped|ed|ing|ning|ping)?\b"
    r"|\b(?:far from|hardly|nothing like|unlike|nowhere near|stay away|steer clear|other than"
    r"|all but"
    r"|tired of|fed up|stopped|quit|gave up|given up|left out|cannot stand|can't stand|used to)\b"
    r"|\b(?:cancel|abandon|reject|drop|scrap|remov|delet|ditch|veto|discard)(?:s|e[ds]?|led|ped|l?ing"
    r"|ping)?\b"
    r"|(?:不|没|没有|未|避免|别|除了|除|放弃了?|拒绝了?|取消了?|否决了?|讨厌)[^，。；、]{0,4}$"
)
_TOO_MUCH = re.compile(
    r"^[ \w]{0,12}\b(?:is|was|are|were|looks?|looked|felt|feels?|seems?|seemed|would be) "
    r"(?:far |way |much |a bit |a little |just )?too [a-z]+"
)
_DENIED_AGAIN = re.compile(r"지 ?(?:말|마|않|못)|(?:な)?くはな|ないわけ|ないことは")
_PERMITTED = re.compile(
    r"\b(?:fine|ok|okay|allowed|permitted|welcome|acceptable|no problem|safe|loves?|enjoys?)\b"
    r"|大丈夫|構わ|かまわ|問題な|好き|괜찮|상관없|좋아|가능|可以|没问题|没关系|无妨|喜欢"
)
_INDIRECT = re.compile(r"\b(?:to|told|asked|with|at|against|for|informed|reminded|about)\s$")
_OPENING = r"first|begin\w*|start\w*|最初|まず|が先|먼저|首先|先"
_CLOSING = r"last|lastly|finally|at the (?:very )?end|end\w*|finish\w*|最後|마지막|最后"
_ORDERING = re.compile(rf"\b(?P<open>{_OPENING})|\b(?P<close>{_CLOSING})")
_CROSSWISE = re.compile(
    r"\bbefore\b|\bafter(?!\s(?:that|this|it|them)\b|wards)|\bpreced\w+|\bfollow(?:s|ing)\b"
    r"|\brevers\w+"
    r"|前に|の後|の前|まえに|전에|앞에|之前"
)
_CLAUSE_END = re.compile(
    r"[;!?。；！？\n、，]|[.,](?=\s|$)|(?<=[가-힣]고),? |\s(?:and|while|but)\s"
)
_PART = re.compile(rf"{_CLAUSE_END.pattern}|[()「」\"]")
_SENTENCE_END = re.compile(r"[!?。！？\n]|\.(?=\s|$)")


def is_denied_again(shown: str, place: Found) -> bool:
    """Return whether a value that is itself a denial is denied: 빼지 말라고, いらなくはない."""
    return bool(_DENIED_AGAIN.match(shown[place.end :]))


def is_taken_back(shown: str, place: Found, question: str) -> bool:
    """Return whether what stands around a value denies it, beyond the words right beside it.

    Where the question asks what is disliked, saying so takes nothing back.
    """
    before, after = shown[: place.start], shown[place.end :]
    clause = _CLAUSE_END.split(before)[-1]
    rest = _CLAUSE_END.split(after)[0]
    asked = {m.group()[:3] for m in _FEELING.finditer(normal(question))}

    def denied(m: re.Match[str]) -> bool:
        return not (_FEELING.match(m.group()) and m.group()[:3] in asked)

    return bool(
        _TAKEN_BACK.search(after)
        or _TOO_MUCH.search(rest)
        or any(map(denied, _EASTERN_DENIAL.finditer(rest)))
        or any(map(denied, _BEFORE_DENIAL.finditer(clause)))
        or re.search(r"\b(?:certainly|definitely|absolutely|surely|of course) not\b", before)
    )


def changes_after(shown: str, place: Found) -> bool:
    """Return whether a text tells of a change after a value, or of an older state."""
    after = shown[place.end :]
    if (arrival := _ARRIVES.match(after)) is not None:
        after = after[arrival.end() :]
    return bool(_CHANGE.search(after) or _CONCEDED.search(_CLAUSE_END.split(after)[0]))


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


def is_indirect(shown: str, place: Found) -> bool:
    """Return whether a name is what something is done to, not who does it."""
    return bool(_INDIRECT.search(shown[: place.start]))


def without_clauses(shown: str, denied: Sequence[Found], kept: Sequence[Found]) -> str:
    """Return a text with the clauses of denied values blanked, where no kept value stands in them.

    Places stay what they were. "KX-0014 (not KX-0041)" says nothing against KX-0014.
    """
    for place in denied:
        start = max((m.end() for m in _PART.finditer(shown, 0, place.start)), default=0)
        border = _PART.search(shown, place.end)
        end = border.start() if border else len(shown)
        if not any(p.start < end and start < p.end for p in kept):
            shown = shown[:start] + " " * (end - start) + shown[end:]
    return shown


def is_plain_list(shown: str, places: Sequence[Sequence[Found]]) -> bool:
    """Return whether values are listed once each, without a word about their order."""
    return all(len(group) == 1 for group in places) and not (
        _ORDERING.search(shown) or _CROSSWISE.search(shown)
    )


def is_reordered(shown: str, places: Sequence[Sequence[Found]]) -> bool:
    """Return whether words of order leave open in which order the values are meant."""
    if any(len(group) > 1 for group in places) or _CROSSWISE.search(shown):
        return True
    if len(places) < 2:
        return False
    starts = [group[0].start for group in places]
    taken = [(p.start, p.end) for group in places for p in group]
    return any(
        m.start() > starts[1] if m["open"] else m.start() < starts[-2]
        for m in _ORDERING.finditer(shown)
        if not any(start <= m.start() < end for start, end in taken)
    )
