"""Probe candidates from extractive cues, offline: what people say when they state a fact.

A candidate is a draft. Its question names the cue and quotes what stood around the value, with the
value left out; a person rewords it in review. Only candidates that lint finds no fault with are
kept, so that a value said twice or a question that gives the answer away is not proposed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe, ProbeKind, Span
from ctxeng.harness.scoring.lint import lint
from ctxeng.harness.scoring.moments import moments
from ctxeng.harness.scoring.quantities import quantities
from ctxeng.harness.scoring.text import cased, is_spaceless, normal

AUTHOR = "draft: extractive cues"
SHORTEST, LONGEST = 8, 240
FEWEST = 10  # "three times" is said everywhere
CURRENCIES = ("usd", "eur", "gbp", "jpy", "krw", "cny")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_IDENTIFIER = re.compile(
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://[^\s)>\]、。]+|(?<![\w/])/[\w.-]+(?:/[\w.-]+)+"
    r"|(?<![\w-])[A-Z]{1,6}[-_]?\d{2,}(?:-\w+)*|(?<![\w])[a-z]+(?:_[a-z0-9]+)+|\bv?\d+\.\d+\.\d+\b",
    re.ASCII,
)
_NAMED = r"[\"“「『']?(?P<value>[^,.;:!?。、！？，；\n\"”」』']{2,40}?)[\"”」』']?"
_STOP = r"(?=[,.;!]|$| because)"
_CUE_WORDS: tuple[tuple[ProbeKind, str], ...] = (
    (
        "update",
        r"\b(?:changed|moved|switched|updated|renamed) (?:\w+ ){0,4}?"
        r"from (?P<old>[^,.;]{2,40}?) to "
        rf"{_NAMED}{_STOP}",
    ),
    ("update", rf"(?P<old>[^、。はを\s]{{1,16}})から{_NAMED}に(?:変更|変え|変わ|移)"),
    ("update", rf"(?P<old>[^\s,.]{{1,16}})에서 {_NAMED}(?:으로|로) (?:변경|바꾸|바꿨|바뀌|옮)"),
    ("update", rf"从(?P<old>[^，。]{{1,16}}?)(?:改成|改为|换成|改到){_NAMED}(?=[，。了]|$)"),
    (
        "decision",
        r"\b(?:let's go with|(?:we|i)(?:'ll| will) (?:use|go with)"
        rf"|(?:we|i)(?:'ve| have)? (?:decided on|chose|settled on|agreed on)) {_NAMED}{_STOP}",
    ),
    ("decision", rf"{_NAMED}に(?:しましょう|決め|決まり|します)"),
    ("decision", rf"{_NAMED}(?:으로|로) (?:결정|정했|하기로|합시다|할게요)"),
    ("decision", rf"(?:决定用|决定选|就用|选定了?|定为){_NAMED}(?=[，。吧]|$)"),
    (
        "rejection",
        r"\b(?:i (?:don't want|do not want|won't use|hate|dislike|can't stand)"
        r"|we (?:ruled out|rejected|won't use)|(?:please )?(?:no more|never use|avoid)) "
        rf"(?:any )?{_NAMED}{_STOP}",
    ),
    ("rejection", rf"{_NAMED}は(?:使わない|避けて|苦手|嫌い|却下|やめ|いりません)"),
    ("rejection", rf"{_NAMED}(?:은|는) (?:싫|빼고|빼 ?주|안 |쓰지 ?마)"),
    ("rejection", rf"(?:不要|别用|不想要|讨厌){_NAMED}(?=[，。了]|$)"),
    (
        "preference",
        rf"\bi(?:'d| would)? (?:prefer|rather have|love) {_NAMED}(?:{_STOP}| to | over )",
    ),
    ("preference", rf"{_NAMED}(?:が好き|の方がいい|のほうがいい|派です)"),
    ("preference", rf"{_NAMED}(?:을|를|이|가) (?:좋아|선호)"),
    ("preference", rf"(?:我喜欢|更喜欢|偏好){_NAMED}(?=[，。]|$)"),
)
_CUES = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _CUE_WORDS)
_ASK = {
    "preference": "What is preferred here|ここで好まれるものは|여기서 선호하는 것은|这里偏好什么",
    "rejection": "What is turned down here|ここで断られたものは|여기서 거절한 것은|这里拒绝了什么",
    "decision": "What was decided here|ここで決まったことは|여기서 결정된 것은|这里决定了什么",
    "update": "What is the value now|今の値は|지금 값은|现在的值是什么",
    "identifier": "Which code belongs here|ここに入る識別子は|여기 들어갈 번호는|这里的编号是什么",
    "number": "Which number belongs here|ここに入る数は|여기 들어갈 숫자는|这里的数字是多少",
    "date": "Which date or time belongs here|ここに入る日時は|여기 들어갈 날짜는|这里的日期是什么",
}
_LANGUAGES = ("en", "ja", "ko", "zh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A value in a sentence, and what kind of fact it is.

    Args:
        old: the value it replaces, for updates.
    """

    kind: ProbeKind
    value: str
    sentence: str
    old: str | None = None


def draft_probes(session: Session, *, limit: int | None = None) -> list[Probe]:
    """Return draft probes of a session in its order, none of which lint finds fault with."""
    drafts: list[Probe] = []
    asked: set[str] = set()
    for message in session.messages:
        for cue in cues_in(message):
            probe = _draft(session, message, cue, number=len(drafts) + 1)
            if normal(probe.question) not in asked and not lint([probe], [session]):
                asked.add(normal(probe.question))
                drafts.append(probe)
            if len(drafts) == limit:
                return drafts
    return drafts


def cues_in(message: Message) -> Iterator[Cue]:
    """Return the facts a message seems to state; each value of a sentence once.

    What tools were called with and what they returned states nothing that anybody said.
    """
    said = "" if message.role == "tool" else message.content
    for sentence in _SENTENCES.split(cased(said)):
        shown = sentence.strip()
        weight = len(shown) * (3 if is_spaceless(shown) else 1)
        if weight >= SHORTEST and len(shown) <= LONGEST:
            yield from _in_sentence(shown)


def _in_sentence(sentence: str) -> Iterator[Cue]:
    taken: set[str] = set()
    for cue in (*_worded(sentence), *_typed(sentence)):
        if not any(cue.value in other or other in cue.value for other in taken):
            taken.add(cue.value)
            yield cue


def _worded(sentence: str) -> Iterator[Cue]:
    for kind, pattern in _CUES:
        for m in pattern.finditer(sentence):
            old = m.groupdict().get("old")
            yield Cue(kind=kind, value=m["value"].strip(), sentence=sentence, old=old)


def _typed(sentence: str) -> Iterator[Cue]:
    for m in _IDENTIFIER.finditer(sentence):
        yield Cue(kind="identifier", value=m.group().rstrip(".,"), sentence=sentence)
    for when in moments(sentence):
        yield Cue(kind="date", value=sentence[when.start : when.end], sentence=sentence)
    for number in quantities(sentence):
        told = number.value >= FEWEST or number.unit in CURRENCIES
        if told and number.unit not in ("", "year", "day of month"):
            yield Cue(kind="number", value=sentence[number.start : number.end], sentence=sentence)


def _draft(session: Session, message: Message, cue: Cue, *, number: int) -> Probe:
    return Probe(
        probe_id=f"{session.session_id}-draft-{number:03}",
        session_id=session.session_id,
        question=_question(session.language, cue),
        kind=cue.kind,
        evidence=(Span(from_seq=message.seq, to_seq=message.seq),),
        expect=((cue.value,),) if cue.value.strip() else (),
        forbid=(cue.old,) if cue.old else (),
        language=session.language,
        author=AUTHOR,
        status="draft",
    )


def _question(language: str, cue: Cue) -> str:
    """Return the cue's question with the words around the value, which is left out.

    About half of the sentence is quoted, so that the question is no copy of its evidence.
    """
    at = cue.sentence.find(cue.value)
    until = at + len(cue.value)
    first = _border(cue.sentence, max(0, at - len(cue.sentence) // 3), step=-1)
    last = _border(cue.sentence, until + len(cue.sentence) // 5, step=1)
    around = f"{cue.sentence[first:at]}___{cue.sentence[until:last]}"
    if cue.old:
        around = around.replace(cue.old, "…")
    index = _LANGUAGES.index(language) if language in _LANGUAGES else 0
    return f"{_ASK[cue.kind].split('|')[index]}: “{around.strip()}”?"


def _border(sentence: str, at: int, *, step: int) -> int:
    """Return the next place at which no word is cut in two, in scripts that space words."""
    while 0 < at < len(sentence) and all(map(_is_joined, sentence[at - 1 : at + 1])):
        at += step
    return at


def _is_joined(character: str) -> bool:
    """Return whether a character is part of a word with spaces around it; Korean has spaces."""
    is_hangul = "가" <= character <= "힣"
    return is_hangul or not (character.isspace() or is_spaceless(character))
