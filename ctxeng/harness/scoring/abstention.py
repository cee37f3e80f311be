"""Does an answer say nothing but that it does not know? English, Japanese, Korean; a few others.

Every sentence of the answer must be an abstention, and none may go on to say something all the
same ("I don't know why, but it is $500").
"""

from __future__ import annotations

import re
from functools import lru_cache

from ctxeng.harness.scoring.text import normal

LONGEST = 240

_SENTENCES = re.compile(r"(?<=[a-z][.!])\s+|(?<=[。！])\s*|;\s+")
_WRAPPING = " \t*_`\"'「」『』()[]<>.!。！,、…~-:"
_OPENING = re.compile(
    r"^(?:(?:final )?answer|reply|回答|答え|답변|답)\s?:\s?"
    r"|^(?:(?:i'm |i am )?sorry,? (?:but )?|申し訳ありませんが、?|すみませんが、?|죄송하지만,? ?|죄송합니다만,? ?)"
)
_POLITE = re.compile(r"(?:i'm |i am )?sorry|申し訳(?:あり|ござい)ません|すみません|죄송합니다")
_CONTRAST = re.compile(
    r"\b(?:but|however|though|although|except|unless|until|before|only|pero)\b"
    r"|(?:です|ます|せん|ない|った)が|けど|けれど|しかし|ただし|하지만|지만|다만|그러나|但是?|不过"
)
_UNKNOWN = re.compile(r"^unknown(?![a-z])\s?(?:です|だ|입니다|이에요|임)?[\s\-:,(.。]*")

_NOT = r"(?:\bnot\b|n't|\bnever\b|\bcannot\b|\bunable\b|\bno\b)"
_SOURCE = r"\b(?:context|conversation|chat|transcript|history|messages?|discussion|summar(?:y|ies)|memory)\b"
_SAID = (
    r"(?:mentioned|stated|specified|discussed|given|provided|recorded|known|available|disclosed|determined"
    rf"|clear|in (?:the|this|our|my|any) (?:\w+ )?{_SOURCE})"
)
_ASKED = (
    r"(?:that|this|it|what|which|who|whose|when|where|why|how|if|whether|for|from|in|based|the)\b"
)
_ENGLISH = (
    r"^you (?:never|didn't|did not|haven't) (?:ever )?(?:tell|told|mention|mentioned|share|shared) (?:me|your|it)\b",
    r"^(?:it's |that's |(?:it|that|this|(?:the|its|his|her|their) [^,]{1,40}) (?:is|was|remains) (?:currently |still )?)?"
    r"(?:unknown|unclear)$|^(?:n/?a|none|no answer|not applicable)$",
    rf"^no (?:idea|clue)(?:$| (?:about|{_ASKED}))",
    rf"\bi\b.{{0,12}}{_NOT}.{{0,25}}\b(?:know|recall|remember|find|tell|see|determine|answer|confirm|sure"
    rf"|certain|aware|information|access|say(?=$| {_ASKED}))",
    rf"{_SOURCE}.{{0,30}}{_NOT}.{{0,30}}\b(?:mention|stat|specif|contain|includ|provid|discuss|hold|giv|tell"
    r"|show|answer|indicat|say|cover|reveal|information)",
    rf"(?:\b(?:is|was|are|were|been|be)(?:n't| not| never)|\bn(?:o|ever) .{{0,20}}\bbeen|\b(?:not|never|n't) been"
    rf"|\bcannot be|\bcan't be|\b(?:can|could) not be|^not|^never)(?: \w+){{0,2}}? {_SAID}\b",
    r"(?:^|\bthere (?:is|was|are|were) |\bthere's |\bi (?:see|have|find|found) )no (?:\w+ ){0,2}?"
    r"(?:mention|information|info|record|indication|detail|data|evidence|answer|reference)s?"
    r"(?: (?:of|about|on|regarding|in|for|is|was|are|were|available|given|provided|found|that|as)\b|$)",
    rf"\bno .{{1,40}} (?:is|was|were|are) {_SAID}\b",
)
_WHY = re.compile(rf"(?:not |based on |from |according to |in |as ).{{0,20}}{_SOURCE}.{{0,40}}")
_JAPANESE = (
    r"(?:不明|(?:分|わ|解)か(?:りません|らない|りかねます)|知(?:りません|らない)|存じ(?:上げ)?ません"
    r"|覚えて(?:いません|いない|ません|ない)"
    r"|(?:お?答え|回答|判断|確認|特定|推測)(?:が|は|を)?(?:でき|し|いたし)(?:ません|ない|かねます)"
    r"|(?:記載|言及|情報|記録|記述|説明|発言|話)(?:は|が|も)?"
    r"(?:あり|ござい|見つかり|見当たり|され|されてい|含まれてい|出てき|出てい|残ってい)(?:ません|ない)"
    r"|(?:記載|情報|記録|言及)(?:は|が)?な(?:し|い)"
    r"|(?:述べ|話|触れ|書か|示さ|記さ|言わ|語ら)(?:られ|され|れ)?て(?:い)?(?:ません|ない)"
    r"|出てき(?:て(?:い)?)?(?:ません|ない)|見つかりません|見当たりません)(?:です|でした|ね|よ)*$"
)
_KOREAN = (
    r"(?:모르겠(?:습니다|어요|음|네요|다)|모릅니다|몰라요|모름|모른다"
    r"|(?:알|확인할|판단할|답변할|답변드릴|대답할|답할|특정할|파악할|찾을) ?수 ?(?:가 |는 )?없(?:습니다|음|어요|다|네요|었습니다)"
    r"|(?:언급|정보|기록|내용|기재|명시|설명|이야기|얘기)\S{0,2}(?: (?:적|바|것|내용)\S?)? ?"
    r"(?:없|되지 ?않|되어 ?있지 ?않|돼 ?있지 ?않|하지 ?않|안 ?됐|안 ?되었)(?:습니다|았습니다|었습니다|음|았음|어요|았어요|다|았다|네요)"
    r"|(?:말씀하신|말한|말하신|들은|나온) ?적[이은]? ?없(?:습니다|었습니다|어요|었어요|다|음|네요)"
    r"|나오지 ?않(?:습니다|았습니다|음|아요|았어요)|기억(?:이 ?)?(?:나지 ?않|안 ?나)\S*)$"
)
_OTHER = (
    r"^(?:(?:抱歉|对不起|不好意思),? ?)?我?也?(?:不记得|记不清楚?|记不得|想不起来)[^,。]{0,16}$"
    r"|^(?:没有,)?[^,。]{0,24}?[你您]?(?:没有?|从没|从未|未曾)(?:提|说|讲)(?:到|起)?过?$"
    r"|^(?:不知道|未知|未提及)$|^没有?(?:提到|提及|提过|说明|说过|信息)|(?:未|没有)(?:被)?(?:提及|提到|说明)$"
    r"|^(?:no (?:lo )?sé|desconocido)$|^no se (?:menciona|mencionó|indica|especifica)\b"
)
_ABSTAINS = re.compile("|".join((*_ENGLISH, _JAPANESE, _KOREAN, _OTHER)))
_SOMEWHERE = re.compile(
    r"\b(?:not|never|no|unknown|unclear|unable|cannot)\b|n't\b|ない|ません|不明|없|않|모르|모름|没|不|未|\bno sé\b"
)


@lru_cache(maxsize=20_000)
def is_abstention(answer: str) -> bool:
    """Return whether an answer says nothing but that it does not know.

    Example:
        ``is_abstention("UNKNOWN. 会話には記載がありません。")`` → ``True``
    """
    shown = normal(answer)
    if not shown or len(shown) >= LONGEST or _CONTRAST.search(_OPENING.sub("", shown)):
        return False
    sentences = [s for s in map(_bare, _SENTENCES.split(_bare(shown))) if s]
    return any(not _POLITE.fullmatch(s) for s in sentences) and all(map(_abstains, sentences))


def abstains_in_part(answer: str) -> bool:
    """Return whether an answer holds any word of denial or doubt: too much for a literal fail."""
    return bool(_SOMEWHERE.search(normal(answer)))


def _bare(text: str) -> str:
    return _OPENING.sub("", text.strip(_WRAPPING)).strip(_WRAPPING)


def _abstains(sentence: str) -> bool:
    rest, unknown = _UNKNOWN.subn("", sentence)
    if unknown and (not rest or _WHY.fullmatch(rest)):
        return True
    return bool(_POLITE.fullmatch(rest) or _ABSTAINS.search(rest))
