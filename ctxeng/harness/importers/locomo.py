"""LoCoMo: very long conversations of two friends, with questions that point at their evidence.

Every ``session_N`` of an item is one stretch of a single conversation: here they are one session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, draft
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import listed, spans_of, text_of
from ctxeng.harness.probes.model import Probe

_STRETCH = re.compile(r"session_(\d+)")
_POINTER = re.compile(r"D:?(\d+):(\d+)")
_ADVERSARIAL = "5"
ERRATA_NAME = "label_errata.json"


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
        errata = load_errata(source.path.parent / ERRATA_NAME)
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
            wrong = {entry.key: entry.reason for entry in errata if entry.sample_id == session_id}
            for index, question in enumerate(listed(item.get("qa"))):
                yield from _probe(f"{session_id}/q{index:03d}", question, seqs, wrong, account)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelError:
    """A question of the published data whose answer or evidence is known to be wrong."""

    sample_id: str
    key: tuple[str, ...]
    reason: str


def load_errata(path: Path) -> tuple[LabelError, ...]:
    """Return the known label errors listed in a file; none where the file does not exist.

    Raises:
        DatasetError: the file is damaged.
    """
    if not path.exists():
        return ()
    entries = listed(Source(path).json)
    try:
        return tuple(
            LabelError(
                sample_id=str(entry["sample_id"]),
                key=_label(entry["original"]),
                reason=_reason(entry["original"], entry.get("corrected")),
            )
            for entry in entries
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise DatasetError(
            f"label errata must be a list of {{sample_id, original, corrected}}, got an entry "
            f"without {error} ({path}). Mend the file or move it away."
        ) from None


def _reason(original: Mapping[str, Any], corrected: Mapping[str, Any] | None) -> str:
    if not corrected:
        return "known label error: withdrawn"
    changed = [key for key in original if original[key] != corrected.get(key)]
    return f"known label error: {', '.join(changed) or 'label'} corrected"


def _label(question: Mapping[str, Any]) -> tuple[str, ...]:
    evidence = listed(question.get("evidence"))
    return (str(question.get("question")), str(question.get("answer")), *map(str, evidence))


def _messages(conversation: Mapping[str, Any], account: Account) -> list[Message]:
    found = [(int(m[1]), key) for key in conversation if (m := _STRETCH.fullmatch(key))]
    messages: list[Message] = []
    for number, key in sorted(found):
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


def _probe(
    probe_id: str,
    question: Any,
    seqs: Mapping[str, int],
    wrong: Mapping[tuple[str, ...], str],
    account: Account,
) -> Iterator[Probe]:
    asked = text_of(question.get("question")) if isinstance(question, dict) else ""
    if not asked:
        account.skip("not a question")
        account.note(f"{probe_id} is no question")
        return
    account.take()
    category = text_of(question.get("category"))
    absent = category == _ADVERSARIAL
    answer = "" if absent else text_of(question.get("answer"))
    pointers = _pointers(listed(question.get("evidence")))
    found = sorted({seqs[pointer] for pointer in pointers if pointer in seqs})
    note = _fault(answer, found, absent) or wrong.get(_label(question), "")
    lost = [pointer for pointer in pointers if pointer not in seqs]
    if lost:
        account.note(f"{probe_id}: evidence {', '.join(lost)} is not in the conversation")
    if note:
        account.note(f"{probe_id}: excluded, {note}")
    stale = text_of(question.get("adversarial_answer"))
    yield Probe(
        probe_id=probe_id,
        session_id=probe_id.rpartition("/")[0],
        question=asked,
        kind="absent" if absent else "other",
        evidence=() if absent else spans_of(found),
        expect=((answer,),) if answer else (),
        forbid=(stale,) if absent and stale else (),
        answerable=not absent,
        language="en",
        author="LoCoMo",
        status="excluded" if note else "accepted",
        category=category or None,
        note=note,
    )


def _fault(answer: str, evidence: Sequence[int], absent: bool) -> str:
    if absent:
        return ""
    if not answer:
        return "no answer is given"
    return "" if evidence else "no evidence is given"


def _pointers(evidence: Sequence[Any]) -> list[str]:
    """Return the turn ids that evidence strings name, however they are punctuated."""
    joined = " ".join(str(pointer) for pointer in evidence)
    return list(dict.fromkeys(f"D{int(a)}:{int(b)}" for a, b in _POINTER.findall(joined)))
