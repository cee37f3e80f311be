"""BEAM: long chats in batches, with ten kinds of questions in a file beside them.

Source: README of the BEAM repository (Tavakoli et al., 2025, "Beyond a Million Tokens").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.questions import ERRATA_NAME, Errata, Question, Questions
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import first_text, listed, mapped, text_of
from ctxeng.harness.probes.model import Probe, ProbeKind

_PLACE_MARK = re.compile(r"(?<!\s)\s*->->\s*[\w/]+(?:\s*,\s*[\w/]+)*\s*$")
_STATED = re.compile(r"LLM response should (?:state|mention):\s*(.+)", re.DOTALL)
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")
_QUESTIONS = ("probing_questions/probing_questions.json", "probing_questions.json")
_KINDS: dict[str, ProbeKind] = {
    "event_ordering": "order",
    "knowledge_update": "update",
    "preference_following": "preference",
    "instruction_following": "constraint",
}
_ABSENT = "abstention"
_BY_RUBRIC = ("instruction_following", "preference_following", "summarization")
_STATING = ("information_extraction", "knowledge_update", "multi_session_reasoning",
            "temporal_reasoning")  # fmt: skip


class BeamImporter(Importer):
    """Reads BEAM chats, one a folder."""

    name: ClassVar[str] = "beam"
    companions: ClassVar[tuple[str, ...]] = (ERRATA_NAME,)

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for batches of turns."""
        return 0.95 if {"batch_number", "turns"} <= sample.first.keys() else 0.0

    def is_companion(self, path: Path) -> bool:
        """Return whether a file holds the questions or the topic of a chat beside it."""
        if path.name == "probing_questions.json":
            return any((folder / "chat.json").exists() for folder in path.parents[:2])
        is_topic = path.name == "topic.json" and (path.parent / "chat.json").exists()
        return is_topic or super().is_companion(path)

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield the chat as one session, and its questions."""
        folder = source.path.parent
        session_id = f"beam-{folder.name}" if source.path.stem == "chat" else source.path.stem
        turns, seqs = Turns(account), dict[int, int]()
        for batch in listed(source.json):
            _take_batch(mapped(batch), turns, seqs)
        topic = folder / "topic.json"
        title = text_of(mapped(Source(topic).json).get("title")) if topic.exists() else ""
        yield turns.draft(session_id, origin="BEAM", title=title)
        beside = [folder / name for name in _QUESTIONS if (folder / name).exists()]
        if not beside:
            account.note("no probing_questions.json beside the chat: it has no probes")
            return
        questions = Questions(account, "BEAM", Errata.beside(source.path))
        for kind, asked in mapped(Source(beside[0]).json).items():
            for index, question in enumerate(listed(asked)):
                name = f"{session_id}/{kind}/{index}"
                yield from questions.ask(_question(name, session_id, kind, mapped(question), seqs))


def _take_batch(batch: Mapping[str, Any], turns: Turns, seqs: dict[int, int]) -> None:
    at = _moment(batch.get("time_anchor"))
    for group in listed(batch.get("turns")):
        for raw in listed(group):
            turn = mapped(raw)
            role = role_of(turn.get("role"))
            if role is None:
                turns.account.skip("unknown speaker")
                continue
            at = _moment(turn.get("time_anchor")) or at
            number = turn.get("id")
            seq = len(turns.messages)
            taken = turns.add(
                role,
                _PLACE_MARK.sub("", text_of(turn.get("content"))),
                timestamp=at,
                message_id=text_of(number),
                meta={"stretch": text_of(batch.get("batch_number"))},
            )
            if taken and isinstance(number, int):
                seqs[number] = seq


def _question(
    name: str, session_id: str, kind: str, question: Mapping[str, Any], seqs: Mapping[int, int]
) -> Question:
    numbers = _numbers(question.get("source_chat_ids"))
    text = text_of(question.get("question"))
    return Question(
        probe_id=name,
        session_id=session_id,
        text=text,
        values=_values(kind, question),
        evidence=[seqs[number] for number in numbers if number in seqs],
        is_absent=kind == _ABSENT,
        kind=_KINDS.get(kind, "other"),
        category=kind,
        language="en",
        fault="judged by a rubric, not by a value" if kind in _BY_RUBRIC else "",
    )


def _values(kind: str, question: Mapping[str, Any]) -> list[list[str]]:
    """Return what the rubric wants stated, for kinds that ask for facts; else the answer."""
    rubric = [text_of(point) for point in listed(question.get("rubric"))]
    if kind == "event_ordering" and rubric:
        return [[point] for point in rubric]
    stated = [match[1].strip() for point in rubric if (match := _STATED.fullmatch(point))]
    if kind in _STATING and stated and len(stated) == len(rubric):
        return [[value] for value in stated]
    return [[first_text(question, *_ANSWERS)]]


def _numbers(value: Any) -> list[int]:
    """Return message ids, which stand in a list or in lists by name."""
    lists = value.values() if isinstance(value, dict) else [value]
    return [
        number
        for one in lists
        for number in (one if isinstance(one, list) else [one])
        if isinstance(number, int)
    ]


def _moment(value: Any) -> datetime | None:
    """Read ``March-15-2024``; the time of day is not given."""
    try:
        return datetime.strptime(text_of(value), "%B-%d-%Y").replace(tzinfo=UTC)
    except ValueError:
        return None
