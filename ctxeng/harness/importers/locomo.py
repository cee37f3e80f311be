"""LoCoMo: very long conversations of two friends, with questions that point at their evidence.

Every ``session_N`` of an item is one stretch of a single conversation: here they are one session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from ctxeng.core.messages import Message
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, draft
from ctxeng.harness.importers.questions import (
    ERRATA_NAME,
    Errata,
    Question,
    Questions,
    answer_values,
    label_of,
)
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import listed, mapped, text_of
from ctxeng.harness.probes.model import Probe

_STRETCH = re.compile(r"session_(\d+)")
_POINTER = re.compile(r"D:?(\d+):(\d+)")
_ADVERSARIAL = "5"


class LocomoImporter(Importer):
    """Reads LoCoMo items, sessions and probes."""

    name: ClassVar[str] = "locomo"
    companions: ClassVar[tuple[str, ...]] = (ERRATA_NAME,)

    def detect(self, sample: Sample) -> float:
        """Return 1 for an item with a conversation of two named speakers."""
        conversation = sample.first.get("conversation")
        return float(isinstance(conversation, dict) and "speaker_a" in conversation)

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session and its probes for every item."""
        questions = Questions(account, "LoCoMo", Errata.beside(source.path))
        for position, item in enumerate(listed(source.json)):
            if not isinstance(item, dict) or not isinstance(item.get("conversation"), dict):
                account.skip("not a LoCoMo item")
                account.note(f"item {position} is no LoCoMo item")
                continue
            session_id = text_of(item.get("sample_id")) or f"{source.path.stem}-{position}"
            messages = _messages(item["conversation"], account)
            yield draft(
                session_id, messages, origin="LoCoMo", language="en", licence="CC BY-NC 4.0"
            )
            seqs = {str(message.message_id): message.seq for message in messages}
            for index, question in enumerate(listed(item.get("qa"))):
                yield from questions.ask(
                    _question(f"{session_id}/q{index:03d}", question, seqs, account)
                )


def stretches(conversation: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return number and key of every ``session_N``, in the order of the numbers."""
    found = ((_STRETCH.fullmatch(key), key) for key in conversation)
    return sorted((int(match[1]), key) for match, key in found if match)


def _messages(conversation: Mapping[str, Any], account: Account) -> list[Message]:
    messages: list[Message] = []
    for number, key in stretches(conversation):
        at = _moment(conversation.get(f"{key}_date_time"))
        for turn in listed(conversation[key]):
            if not isinstance(turn, dict) or not isinstance(turn.get("text"), str):
                account.skip("not a turn")
                account.note(f"{key} holds something that is no turn")
                continue
            account.take()
            is_first = turn.get("speaker") == conversation.get("speaker_a")
            messages.append(
                Message(
                    seq=len(messages),
                    role="user" if is_first else "assistant",
                    content=turn["text"],
                    speaker=text_of(turn.get("speaker")) or None,
                    timestamp=at,
                    message_id=text_of(turn.get("dia_id")) or None,
                    blocks=_image(turn),
                    meta={"stretch": number},
                )
            )
    return messages


def _image(turn: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    caption = text_of(turn.get("blip_caption"))
    if not caption and not turn.get("img_url"):
        return ()
    return ({"type": "image", "title": caption or "no caption"},)


def _moment(value: Any) -> datetime | None:
    """Read ``1:56 pm on 8 May, 2023``; the zone is not given, UTC stands in."""
    try:
        return datetime.strptime(str(value), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _question(probe_id: str, question: Any, seqs: Mapping[str, int], account: Account) -> Question:
    about = mapped(question)
    category = text_of(about.get("category"))
    is_absent = category == _ADVERSARIAL
    pointers = turn_pointers(listed(about.get("evidence")))
    lost = [pointer for pointer in pointers if pointer not in seqs]
    if lost:
        account.note(f"{probe_id}: evidence {', '.join(lost)} is not in the conversation")
    stale = text_of(about.get("adversarial_answer"))
    return Question(
        probe_id=probe_id,
        session_id=probe_id.rpartition("/")[0],
        text=text_of(about.get("question")),
        values=answer_values(about.get("answer")),
        evidence=[seqs[pointer] for pointer in pointers if pointer in seqs],
        is_absent=is_absent,
        forbid=(stale,) if is_absent else (),
        category=category,
        language="en",
        label=label_of(about),
    )


def turn_pointers(evidence: Sequence[Any]) -> list[str]:
    """Return the turn ids that evidence strings name, however they are punctuated."""
    joined = " ".join(str(pointer) for pointer in evidence)
    return list(dict.fromkeys(f"D{int(a)}:{int(b)}" for a, b in _POINTER.findall(joined)))
