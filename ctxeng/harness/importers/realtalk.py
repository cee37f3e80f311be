"""REALTALK: chats of two people over weeks, recorded as they were, with questions.

Source: the data files of the REALTALK paper (Lee et al., 2025, arXiv:2502.13270), folder ``data``
of its repository. Evidence is given as turn ids, or as the words of turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from ctxeng.core.messages import Message
from ctxeng.harness.importers.locomo import stretches, turn_pointers
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.questions import (
    ERRATA_NAME,
    Errata,
    Question,
    Questions,
    answer_values,
    label_of,
)
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import first_text, listed, mapped, placeholder, text_of
from ctxeng.harness.probes.model import Probe

_SHORTEST_QUOTE = 8
"""Characters below which the words of a turn found inside evidence prove nothing."""


class RealTalkImporter(Importer):
    """Reads REALTALK chats, one a file."""

    name: ClassVar[str] = "realtalk"
    companions: ClassVar[tuple[str, ...]] = (ERRATA_NAME,)

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for two named speakers beside numbered stretches of turns."""
        first = sample.first
        names = mapped(first.get("name"))
        return 0.95 if "speaker_1" in names and stretches(first) else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield the chat as one session, and its questions."""
        questions = Questions(account, "REALTALK", Errata.beside(source.path))
        chat = mapped(source.json)
        session_id = source.path.stem
        turns = _turns(chat, account)
        yield turns.draft(session_id, origin="REALTALK")
        for index, question in enumerate(listed(chat.get("qa"))):
            about = mapped(question)
            yield from questions.ask(
                Question(
                    probe_id=f"{session_id}/q{index:03d}",
                    session_id=session_id,
                    text=text_of(about.get("question")),
                    values=answer_values(about.get("answer")),
                    evidence=_evidence(listed(about.get("evidence")), turns.messages),
                    category=text_of(about.get("category")),
                    language="en",
                    label=label_of(about),
                )
            )


def _turns(chat: Mapping[str, Any], account: Account) -> Turns:
    turns = Turns(account)
    names = mapped(chat.get("name"))
    first = text_of(names.get("speaker_1")).casefold()
    spelled = {name.casefold(): name for name in map(text_of, names.values()) if name}
    for number, key in stretches(chat):
        for raw in listed(chat[key]):
            turn = mapped(raw)
            speaker = text_of(turn.get("speaker"))
            turns.add(
                "user" if speaker.casefold() == first else "assistant",
                first_text(turn, "clean_text", "text"),
                blocks=_images(turn),
                speaker=spelled.get(speaker.casefold(), speaker),
                timestamp=_moment(turn.get("date_time")),
                message_id=text_of(turn.get("dia_id")),
                meta={"stretch": number},
            )
    return turns


def _images(turn: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = turn.get("img_file") or turn.get("img_url")
    names = found if isinstance(found, list) else [found] if found else []
    return [placeholder("image", title=text_of(name)) for name in names]


def _moment(value: Any) -> datetime | None:
    """Read ``29.12.2023, 10:31:05``; the zone is not given, UTC stands in."""
    try:
        return datetime.strptime(str(value), "%d.%m.%Y, %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _evidence(given: Sequence[Any], messages: Sequence[Message]) -> Iterable[int]:
    """Return the seqs of turns that evidence names, or whose words it quotes."""
    pointers = set(turn_pointers(given))
    named = [message.seq for message in messages if message.message_id in pointers]
    if named:
        return named
    quotes = [_plain(text_of(quote)) for quote in given]
    return [
        message.seq
        for message in messages
        for words in [_plain(message.content)]
        if any(_quotes(quote, words) for quote in quotes)
    ]


def _quotes(quote: str, words: str) -> bool:
    shorter = min(quote, words, key=len)
    return quote == words or (
        len(shorter) >= _SHORTEST_QUOTE and (quote in words or words in quote)
    )


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
