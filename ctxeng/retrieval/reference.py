"""What a question names, and which messages name the same: their speaker, or an identifier."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from ctxeng.core.messages import Message

# a word of Latin letters that holds a digit or a joining mark: PX-2291, app_id, v1.2, a@b.org
_IDENTIFIER = re.compile(
    r"(?<!\w)(?=[a-z0-9])(?=[\w.@/#:-]{0,99}[a-z])(?=[\w.@/#:-]{0,99}[\d_@/#])[\w.@/#:-]*\w"
)
_LATIN = re.compile(r"[a-z]", re.IGNORECASE)


def references(question: str, messages: Iterable[Message]) -> Mapping[int, float]:
    """Return 1 for each message that says what the question names; others are left out.

    A question names a speaker by a word of the name (“Ana” of “Ana Ruiz”), an identifier by its
    exact spelling, whatever the case.
    """
    asked = _folded(question)
    wanted = _identifiers(asked)
    named: dict[str, bool] = {}
    found: dict[int, float] = {}
    for message in messages:
        speaker = message.speaker or ""
        if speaker not in named:
            named[speaker] = _is_named(_folded(speaker), asked)
        if named[speaker] or (wanted and _holds(_folded(message.text), wanted)):
            found[message.seq] = 1.0
    return found


def _is_named(speaker: str, asked: str) -> bool:
    parts = [part for part in speaker.split() if len(part) > 1]
    return any(_holds(asked, [part]) for part in parts)


def _holds(text: str, names: Sequence[str]) -> bool:
    """Return whether a text holds one of the names, in spaced scripts as a word of its own."""
    return any(
        re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text)
        if _LATIN.search(name)
        else name in text
        for name in names
        if name in text
    )


def _identifiers(text: str) -> list[str]:
    return sorted({match.group() for match in _IDENTIFIER.finditer(text)})


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
