"""An answer of two clauses of one shape, one of them about what was asked.

"The metrics service listens on 9464, and the API on 8081": the clauses differ in whom or what they
are about and in the value. Asked for the metrics service, the first is the answer, and the second
says nothing about it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxeng.harness.scoring.matching import Found
from ctxeng.harness.scoring.text import content_words, is_spaceless, normal

_VALUE = "\ue001"
_BORDER = re.compile(
    r"[;.!。、\n]\s*|,\s*|\| \| |\s(?=and |but |while |whereas )|(?<=で)、?|(?<=고) "
)
_MARKS = re.compile(r"[*_`|\"'()「」『』]")
_LINK = re.compile(r"^(?:(?:and|but|while|whereas|그리고|반면|而|但是?|不过)[ ,]*)+")
_ENDING = re.compile(r"(?:です|でした|で|だ|ます|이에요|예요|이고|입니다|고|이다|요|了|的)$")
_PARTICLE = re.compile("[はがも은는이가도]$|[はがも](?=\ue001)|[은는이가도](?= ?\ue001)")
_OWN = re.compile(  # who is meant by these depends on who speaks
    r"\b(?:i|me|my|mine|you|your|yours|we|us|our|he|she|they|it|this|that|these|those|one|other)\b"
    r"|[我你您他她]|私|僕|俺|あなた|君|내|네|나|너|저|제|그"
)
_OPEN = re.compile(
    r"\b(?:not|no|never|if|or|maybe|perhaps|was|were|had|used to|instead|later|now)\b|n't\b"
    r"|ない|ません|でした|だった|않|안 |없|였|었|不|没|如果|或"
)


def about_asked(
    text: str, question: str, kept: Sequence[Found], aside: Sequence[Found]
) -> str | None:
    """Return the clause of a kept value, None where its subject is not plainly what was asked.

    Args:
        kept, aside: where the values stand in the normal form of ``text``, one place each.

    Example:
        asked for the daughter, with ``cello`` kept and ``viola`` set aside,
        ``"Your son plays the viola; your daughter plays the cello."`` → ``"your daughter plays the
        cello"``
    """
    shown = normal(text)
    if len(kept) != 1 or len(aside) != 1 or _OPEN.search(shown):
        return None
    clauses = [_clause(shown, place) for place in (*kept, *aside)]
    if clauses[0] == clauses[1]:
        return None
    mine, others = _subjects(
        _frame(shown, clauses[0], kept[0]), _frame(shown, clauses[1], aside[0])
    )
    if not (_names(mine, question) and others and not _names(others, question)):
        return None
    return shown[slice(*clauses[0])].strip()


def _clause(shown: str, place: Found) -> tuple[int, int]:
    """Return where the clause of a value begins and ends."""
    start, end = 0, len(shown)
    for border in _BORDER.finditer(shown):
        if border.end() <= place.start:
            start = border.end()
        elif border.start() >= place.end:
            end = border.start()
            break
    return start, end


def _frame(shown: str, clause: tuple[int, int], place: Found) -> str:
    """Return a clause with a sign for its value, without links, marks and endings."""
    masked = shown[clause[0] : place.start] + _VALUE + shown[place.end : clause[1]]
    bare = _LINK.sub("", _MARKS.sub("", masked).strip())
    return _PARTICLE.sub("", _ENDING.sub("", bare.strip(" :-")).strip())


def _subjects(mine: str, other: str) -> tuple[str, str]:
    """Return what two clauses differ in, empty where they differ in more than what they are about.

    The value stands in what they share: after its subject, with the same word before it, or beside
    it in a table.
    """
    before = _shared(mine, other)
    mine, shared, other = mine[before:], mine[:before], other[before:]
    after = _shared(mine[::-1], other[::-1])
    if _VALUE not in shared and _VALUE not in mine[len(mine) - after :]:
        return "", ""
    return mine[: len(mine) - after], other[: len(other) - after]


def _shared(a: str, b: str) -> int:
    """Return how many letters two texts begin with alike."""
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def _names(subject: str, question: str) -> bool:
    """Return whether a subject names what a question names; who is meant by "you" is open."""
    bare = _OWN.sub("", subject).strip()
    asked = normal(question)
    if is_spaceless(bare):
        return len(bare) <= 12 and bare in asked
    return bool(content_words(bare) & content_words(asked))
