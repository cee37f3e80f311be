"""Cues of the gate, as patterns: English, Japanese, Korean, and a few of Chinese.

Lists made by hand, from how the languages refer to what was said (docs/retrieval.md has what they
reach): ``PAST`` points back in the conversation, ``OWN`` at something handed over in it, ``EXACT`` and
``ASKS`` want a fact, ``ASIDE`` looks like a cue and is none, ``NEAR`` points at the last
messages, ``GENERAL`` wants to know about the world.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PAST = re.compile(
    r"\b(?:earlier|previous(?:ly)?|(?:as|like|than|from) before|before(?=\s*(?:[?.!,]|$))|"
    r"last (?:time|week|month|session|night|year|monday|"
    r"tuesday|wednesday|thursday|friday|saturday|sunday)|yesterday|"
    r"(?:hours?|days?|weeks?|months?|while|years?) (?:ago|back)|originally|"
    r"at the (?:very )?(?:start|beginning)|back when|again\b.{0,200}\bwhat was|again(?=\s*\?)|"
    r"we (?:discussed|decided|agreed|chose|picked|settled|talked|said|used|had|went|ruled|began|"
    r"stopped|left)|"
    r"(?:i|you|he|she|they|we)(?:['’]ve| had| have)? (?:mentioned|told|said|gave|given|suggested|"
    r"proposed|asked|wanted|rejected|named|promised|wrote|drafted|called|picked|chose|sent|came up|"
    r"settled|booked|listed|showed|shared|helped)|(?:did|was|were|had|have) (?:i|we)|"
    r"did (?:you|he|she|they)|my last|"
    r"remind me|remember|recall|so far|until now|first (?:time|mentioned|version))\b"
    r"|前回|以前|さっき|先ほど|先日|先週|昨日|この前|最初に|初めに|はじめに|前に|前と(?:同|一緒)|"
    r"(?:言|話し|教え|伝え|頼ん|渡し|書い|決め|選ん|送っ|出し)(?:って|て)?(?:い)?(?:くれ)?(?:まし)?(?:た|だ)"
    r"(?!い|ら|く|け)|だった(?:かな|の)?[?？]?$|"
    r"(?:っけ|んだろ|たよね|たはず)|覚えて|ましたか|でしたか|言いました|述べ|ことに(?:した|なって)|今までに|結局|"
    r"出てこない|に戻(?:したい|ろう)"
    r"|아까|지난번|저번|지난주|이전에|예전에|전에|전이랑|어제|처음에|말했|얘기(?:했|한)|이야기(?:했|한)|"
    r"정(?:했|한)|결정(?:했|한)|고른|알려(?:준|줬)|(?:하|오|가|안 하)기로|지금까지|결국|"
    r"기억(?:나|해\?|하)|했었|[였었았했됐갔왔냈줬]지|[었았했였]나|더라|했지|했나요|"
    r"랬(?:지|어|더|나)|[다라자냐]고 (?:했|한|적)|댔지|대\?|하던|[라다자]던"
    r"|之前|上次|刚才|昨天|上周|最初|说过|提到|决定过|记得",
    re.IGNORECASE,
)
OWN = re.compile(
    r"\b(?:(?:my|our|the|your|his|her) (?:usual|old|same|other)\b|"
    r"(?:i|we) (?:always|usually)|where (?:we|i) (?:stopped|were|left)|"
    r"(?:back|going back|return(?:ing)?) to (?:the|our|my)|pick up|"
    r"(?:add|use|fill in|paste|put|include|insert|attach|give|show|list|sign)\b"
    r"[^.?!]{0,60}\b(?:my|our|from the)|"
    r"(?:everything|all|every \w+)\b[^.?!]{0,40}\b(?:i|we|from our)|"
    r"the [^.?!]{0,60}\bfrom the [^.?!]{0,40}(?:,? please|$)|rules? i|still)\b"
    r"|例の|いつもの|続き(?:を|から|やろ)|(?:正式)?名称(?:で|を)|に合わせて|(?:やつ|もの)(?:を)?出して|"
    r"の件|守れて|被って|(?:誰|どこ|何)(?:が|に|を)?.{0,12}なって"
    r"|늘 쓰는|쓰던|(?:이어|마저) ?(?:가|하|서)|거 (?:다시|전부|다)|그대로 적|전부 뽑|내 거|우리 회사|"
    r"(?:그|같은) 양식|마지막(?:에|으로) |그거 맞춰",
    re.IGNORECASE,
)
EXACT = re.compile(
    r"\b(?:exact(?:ly)?|precise(?:ly)?|verbatim|to the letter|word (?:for|by) word|wording|quote|"
    r"which (?:of|file|function|port|version|ticket|branch|table|endpoint|address|date|"
    r"day|number|name|colou?r|model)|"
    r"what (?:was|were|is|are|s|did|time|date|day|number|port|version|name|kind|type|colou?r|size)|"
    r"(?:what|who|when|where|whose name)['’]s|"
    r"how (?:much|many|long|old|far|often)|when (?:was|is|did|does|do|are|were)|who (?:said|is|was|"
    r"asked|suggested|proposed|did|wanted)|where (?:is|was|did|does|do|are)|whose|id of|number of|"
    r"name of|address|serial|order number|deadline|tell me (?:my|our|his|her|their))\b"
    r"|正確|具体的に|いくら|いくつ|いつ|どこ|誰|だれ|どの|どんな|どちら|どっち|どれ|何(?![かも])|なに(?![かも])|"
    r"なぜ|なんで|どうして|どう(?:なっ|なり|でし|だっ|し(?:まし)?た)|教えて|"
    r"(?:名前|番号|型番)(?:[はがをって]|[?？])|原文|そのまま|一字一句|並べて|挙げて|は[?？]|"
    r"정확|얼마|몇|며칠|언제|어디|누가|누구|어느|어떤|어떻게|무슨|무엇|뭐|뭘|왜|이름|번호|그대로|원문|알려|[은는][?？]|"
    r"准确|具体|多[少大久长]|几[点号天个]|哪|什么|怎么|为何|谁|原话|编号|名字|告诉我",
    re.IGNORECASE,
)
# A sentence that asks for a fact: "Why was Redis rejected?", "Does Anna have a sister?"; not one
# that asks for advice or work: "How can I …?", "What do you think?", "Could you …?".
ASKS = re.compile(
    r"(?:^|[.!?:;,]\s+|\b(?:and|so|but|then)\s+)"
    r"(?!(?:what|how|why) (?:if|about|to|not|don['’]t|do you|do i|are you|"
    r"(?:can|could|should|would) (?:i|we|you))\b)"
    r"(?:(?:(?:in|on|at|to|for|from|with|of|by|between|under|after|before|during|since|until|about) )?"
    r"(?:what|which|whom?|when|where|why|how)\b"
    r"|(?:do|does|did|is|are|am|was|were|has|have|had|will|would) "
    r"(?!(?:you|that|this|it|there|these|those)\b)"
    r"|(?:can|could|should) (?!(?:you|that|this|it|there|these|those|i|we)\b))"
    r"[^.!?]{0,300}[?？]",
    re.IGNORECASE,
)
ASIDE = re.compile(
    r"\b(?:remember (?:to|that)|don['’]t forget|before i forget|once again|"
    r"(?:never|ever) [^.?!]{0,40}\bbefore)\b"
    r"|(?:食事|寝る|出かける|帰る)前に|覚えて(?:おいて|て(?:ね)?[、。]?$)|前置"
    r"|기억해(?: ?[둬줘])?(?:[.!]|$)|(?:가|자|먹)기 전에",
    re.IGNORECASE,
)
NEAR = re.compile(
    r"\bjust (?:now|said|told|gave|sent|wrote|mentioned|did)\b|"
    r"\b(?:a|one|two) (?:sec(?:ond)?|min(?:ute)?|moment)s? ago\b|"
    r"\b(?:that|it|this) (?:again|once more)\b|\bwhich of (?:them|these|those)\b"
    r"|今(?:言|書|教え|送)|たった今|(?:前|先)(?:に)?も?(?:言った|申し上げた)(?:通り|とおり)|(?:これ|今)から(?:は)?"
    r"|방금|말했다시피|이제부터|앞으로는",
    re.IGNORECASE,
)
GENERAL = re.compile(
    r"\b(?:in general|generally|usual(?:ly)? for|normal(?:ly)?|typical(?:ly)?|a person|one should|"
    r"(?:do|did|can|should) people|what(?:['’]s| is| are| does) (?:an?|the (?:difference|history|plural|meaning))\b|"
    r"mean\?|is it (?:normal|ok|okay|safe|true|possible|wrong|correct|legal)|"
    r"(?:can|could|do|does|should|would|will|must) an? |"
    r"how (?:do|does|can|should|could) (?:i|you|one)|what (?:other|more|else|makes)|"
    r"how far is|where does [^?]{1,30} come from|behind (?:it|that|this)\b|is \w+ wrong|"
    r"(?:what|how) about)"
    r"|普通|ふつう|一般|(?:くらい|ぐらい)(?:が|の|取|い|漬|で|に|かか|ある|高|する)|って(?:何|なに|どう|意味)|とは[?？]?|"
    r"(?:の|と)?違い|意味|英語|方法|見分け|もう少し|もっと|^(?:じゃあ|それだと|その中|それだったら|では)"
    r"|보통|일반적|차이|영어로|일본어로|뜻|어때|뭐가 (?:좋|무난|들)|몇 도가|"
    r"^(?:그럼|그러면|그중|셋 중|둘 중)|어떻게 (?:해|하|지|빼)|는 거야|기준이",
    re.IGNORECASE,
)
# What is no content of a question: words that ask, point, and hold a sentence together.
FILLER = re.compile(
    r"\b(?:(?:what|which|who|whom|whose|when|where|why|how)(?:['’]s)?|much|many|long|far|old|often|"
    r"thing|things|one|ones|ok|okay|please|say|said|tell|told|again|mention(?:ed)?|get|got|"
    r"first|second|third|fourth|last|name|number|exact(?:ly)?|option|idea|cost|price|arrive|come|"
    r"happen(?:ed)?)\b"
    r"|何[時日月年人枚個本円番歳回曜つ]?|誰|全部|一番|[一二三四五六七八九]番目|名前|番号|言|話|時間|案|方$"
    r"|언제|어디\S*|누가|누구\S*|무슨|뭐\S*|무엇\S*|왜|어떤|어느|어떻게|얼마\S*|몇|며칠\S*|그거|그런|거야|"
    r"첫|두|세|번째|이름\S*|했\S*|마지막|안은|안이|\S{1,4}뭐야",
    re.IGNORECASE,
)
# It points at something: without words of its own the question is about the last messages.
DEICTIC = re.compile(
    r"\b(?:that|it|this|those|these|them|she|he)\b|その|それ|これ|この|그 |그거|그건|이거",
    re.IGNORECASE,
)
# A distance in time that the last messages do not have.
FAR = re.compile(
    r"\b(?:weeks?|days?|months?|years?|yesterday|originally|beginning|very start)\b"
    r"|最初|初め|前回|昨日|先週|先日|처음|지난|저번|어제|예전",
    re.IGNORECASE,
)
# The last message turns away from what the messages before it are about.
TURNING = re.compile(
    r"\b(?:back to|now (?:the|that|for|about)|enough|then the|make the .{0,40}like|other|"
    r"good to know|anyway|on to|moving on|by the way|speaking of)\b|ところで|さて|次は|に移|戻|話の?続き|のことだけど|の話|돌아가|다시 .{0,12}(?:얘기|이야기)|말이야|처럼|그건 그렇고|넘어가",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d")
_HOUR = r"\d{1,2}[:.]\d\d|\b\d{1,2} ?[ap]\.?m\b|\d ?[時시]"
_CLOCK = re.compile(_HOUR, re.IGNORECASE)
_TIME = re.compile(
    rf"{_HOUR}|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|"
    r"\d ?[日月일월]|[月火水木金土日]曜|[월화수목금토일]요일|\b\d{4}-\d\d",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"(?:[^,、，\n]{1,40}[,、，・] ?){2}|\b1[.)].{1,80}\b2[.)]|:.{1,60}\band\b", re.DOTALL
)
_CHOICE = re.compile(r"[^,、，\n]{1,60}(?:[,、，・]| and | or |が)[^,、，\n]{1,60}")


class Shape(NamedTuple):
    """What a question asks for, what has that shape, and how much of the question must be named."""

    asked: re.Pattern[str]
    held: re.Pattern[str]
    least_share: float


SHAPES: tuple[Shape, ...] = (
    Shape(
        re.compile(
            r"\bhow (?:much|many)\b|\bwhich (?:port|number)\b|\b(?:price|cost)\b"
            r"|いくら|いくつ|何[人枚個本円番歳回]|ポート|얼마|몇 ?(?:개|명|원|번|장|살)|포트",
            re.IGNORECASE,
        ),
        _NUMBER,
        0.5,
    ),
    Shape(re.compile(r"\bwhat time\b|何時|몇 ?시", re.IGNORECASE), _CLOCK, 0.5),
    Shape(re.compile(r"\b(?:when|what day)\b|何[日曜]|いつ|언제|며칠", re.IGNORECASE), _TIME, 0.5),
    Shape(
        re.compile(
            r"\b(?:second|third|fourth|last|step (?:one|two|three|four|\d)) ?"
            r"(?:option|one|step|item|idea|ingredient)?\b"
            r"|[二三四]番目|最後の|[두세네] ?번째|마지막 (?:재료|거|것|안)",
            re.IGNORECASE,
        ),
        _LIST,
        1.0,
    ),
    Shape(
        re.compile(
            r"\bwhich of (?:them|these|those)\b|\bwhich one\b|どっち|どちら|どれ|어느 ?(?:거|게|쪽)",
            re.IGNORECASE,
        ),
        _CHOICE,
        0.0,
    ),
)
# Public things with a past of their own: nobody's messages are needed for them.
WORLD = re.compile(
    r"\b(?:olympics?|world cup|news|the fed|treaty|century|dynasty|empire|election|"
    r"(?:previous|former|last) (?:owner|tenant|president|king|pope)s?)\b"
    r"|五輪|オリンピック|ワールドカップ|ニュース|時代|世紀|選挙"
    r"|올림픽|월드컵|뉴스|시대|세기|선거|옛날|한글 이전",
    re.IGNORECASE,
)
# Somebody said or settled it here: then it is this conversation's past, not the world's.
SAID_HERE = re.compile(
    r"\b(?:i|you|we)(?:['’]ve| had| have| did)? (?:said?|told|mention(?:ed)?|gave|given|sent|wrote|"
    r"decided?|agreed?|discussed|talked|settled|picked|chose)\b|\b(?:did|had|have) (?:i|we|you) "
    r"(?:say|tell|mention|decide|agree|pick|choose|settle)\b|\bremind me\b"
    r"|言|話し|教え|伝え|決め|書い|渡し|送っ|말|얘기|이야기|알려|정[했한하]|기로|랬|라고|다고",
    re.IGNORECASE,
)
# The question wants advice or an explanation; a past in it is the asker's own day.
ADVICE = re.compile(
    r"\b(?:what should i|should i|any (?:tricks?|tips?|advice|ideas?)|why do|how do i|what can i)\b"
    r"|何から|意味ある|どうし(?:たら|よう)|って何(?:で|[?？]|$)|なんで.{0,12}の[?？]?$"
    r"|어떻게 ?(?:해|하)|가야 ?(?:돼|해)|왜 (?:생겨|그래)|괜찮아|그대로야",
    re.IGNORECASE,
)
# Scripts of the languages above that no other language is written in, and Chinese.
KNOWN_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
