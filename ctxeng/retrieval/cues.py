"""Cues of the gate, as patterns: English, Japanese, Korean, and a few of Chinese.

Lists made by hand, from how the languages refer to what was said (docs/retrieval.md has what they
reach): ``PAST`` points back in the conversation, ``OWN`` at something handed over in it, ``EXACT`` and
``ASKS`` want a fact, ``ASIDE`` looks like a cue and is none, ``NEAR`` points at the last
messages, ``GENERAL`` wants to know about the world.
"""

from __future__ import annotations

import re

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
    r"(?:言|話し|教え|伝え|頼ん|渡し|書い|決め|選ん|送っ|出し)(?:って|て)?(?:い)?(?:くれ)?(?:た|だ)"
    r"(?!い|ら|く|け)|だった(?:かな|の)?[?？]?$|"
    r"(?:っけ|んだろ|たよね|たはず)|覚えて|ましたか|でしたか|言いました|述べ|ことに(?:した|なって)|今までに|結局|"
    r"出てこない|に戻(?:したい|ろう)"
    r"|아까|지난번|저번|지난주|이전에|예전에|전에|전이랑|어제|처음에|말했|얘기(?:했|한)|이야기(?:했|한)|"
    r"정(?:했|한)|결정(?:했|한)|고른|알려(?:준|줬)|(?:하|오|가|안 하)기로|지금까지|결국|"
    r"기억(?:나|해\?|하)|했었|[였었았했됐갔왔냈줬]지|[었았했였]나|더라|했지|했나요|"
    r"랬(?:지|어|더|나)|[다라자냐]고 (?:했|한|적)|댔지|대\?|하던"
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
    r"\b(?:exact(?:ly)?|precise(?:ly)?|verbatim|word for word|wording|quote|"
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
    r"准确|具体|多少|几点|几号|哪|什么|怎么|为何|谁|原话|编号|名字|告诉我",
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
    r"how (?:do|does|can|should|could) (?:i|you|one)|what (?:other|more|else)|"
    r"(?:what|how) about)"
    r"|普通|ふつう|一般|(?:くらい|ぐらい)(?:が|の|取|い|漬|で|に|かか|ある|高|する)|って(?:何|なに|どう|意味)|とは[?？]?|"
    r"(?:の|と)?違い|意味|英語|方法|見分け|もう少し|もっと|^(?:じゃあ|それだと|その中|それだったら|では)"
    r"|보통|일반적|차이|영어로|일본어로|뜻|어때|뭐가 (?:좋|무난|들)|몇 도가|"
    r"^(?:그럼|그러면|그중|셋 중|둘 중)|어떻게 (?:해|하|지|빼)|는 거야|기준이",
    re.IGNORECASE,
)
