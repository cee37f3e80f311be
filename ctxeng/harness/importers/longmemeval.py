"""LongMemEval: one question, or several, over a haystack of dated chats.

Source: README of the LongMemEval repository (Wu et al., 2024, arXiv:2410.10813). The variant with
plural keys (``questions``, ``answers``) asks several questions of one haystack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.questions import (
    ERRATA_NAME,
    Errata,
    Question,
    Questions,
    answer_values,
)
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import listed, mapped, text_of
from ctxeng.harness.probes.model import Probe, ProbeKind

_DATE = re.compile(r"(\d{4})/(\d{2})/(\d{2})(?: \(\w+\))?(?: (\d{2}):(\d{2}))?")
_KINDS: dict[str, ProbeKind] = {
    "knowledge-update": "update",
    "single-session-preference": "preference",
}
_DATED = "temporal-reasoning"
_UNANSWERABLE = "_abs"


class LongMemEvalImporter(Importer):
    """Reads LongMemEval instances: every haystack is one session."""

    name: ClassVar[str] = "longmemeval"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl")
    companions: ClassVar[tuple[str, ...]] = (ERRATA_NAME,)

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for an instance with a haystack."""
        first = sample.first or next(iter(sample.objects), {})
        return 0.95 if "haystack_sessions" in first else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session and its questions for every instance."""
        questions = Questions(account, "LongMemEval", Errata.beside(source.path))
        for place, instance in json_records(source, account):
            session_id = text_of(instance.get("question_id")) or f"{source.path.stem}-{place:05d}"
            haystack = _Haystack.of(instance, account)
            yield haystack.turns.draft(session_id, origin="LongMemEval", language="en")
            for question in _questions(instance, session_id, haystack):
                yield from questions.ask(question)


@dataclass(slots=True)
class _Haystack:
    """The chats as one session; the seqs of each, and those marked to hold an answer."""

    turns: Turns
    seqs: dict[str, list[int]] = field(default_factory=dict)
    marked: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, instance: Mapping[str, Any], account: Account) -> _Haystack:
        """Return the haystack of an instance, its chats in the order of their dates."""
        haystack = cls(Turns(account))
        chats = instance.get("haystack_sessions")
        names = listed(instance.get("haystack_session_ids"))
        dates = listed(instance.get("haystack_dates"))
        dated = [
            (_moment(dates[at]) if at < len(dates) else None, at, chat)
            for at, chat in enumerate(listed(chats))
        ]
        for date, at, chat in sorted(dated, key=lambda entry: _rank(entry[0])):
            name = text_of(names[at]) if at < len(names) else str(at)
            haystack.add(name, date, listed(chat))
        return haystack

    def add(self, name: str, date: datetime | None, chat: list[Any]) -> None:
        """Add one chat."""
        seqs = self.seqs.setdefault(name, [])
        for raw in chat:
            turn = mapped(raw)
            role = role_of(turn.get("role"))
            if role is None:
                self.turns.account.skip("unknown speaker")
                continue
            seq = len(self.turns.messages)
            text = text_of(turn.get("content"))
            if self.turns.add(role, text, timestamp=date, meta={"stretch": name}):
                seqs.append(seq)
                if turn.get("has_answer") is True:
                    self.marked.add(seq)

    def evidence(self, names: list[Any]) -> list[int]:
        """Return the marked messages of chats; all of a chat in which none is marked."""
        found: list[int] = []
        for name in map(text_of, names):
            seqs = self.seqs.get(name, [])
            found += [seq for seq in seqs if seq in self.marked] or seqs
        return found


def _questions(
    instance: Mapping[str, Any], session_id: str, haystack: _Haystack
) -> Iterator[Question]:
    category = text_of(instance.get("question_type"))
    sources = listed(instance.get("answer_session_ids"))
    if "questions" in instance:
        answers = listed(instance.get("answers"))
        asked = [
            (
                f"{session_id}/q{at:03d}",
                text_of(text),
                answers[at] if at < len(answers) else None,
                listed(sources[at]) if at < len(sources) else [],
            )
            for at, text in enumerate(listed(instance["questions"]))
        ]
    else:
        text = text_of(instance.get("question"))
        asked = [(f"{session_id}/q000", text, instance.get("answer"), sources)]
    date = text_of(instance.get("question_date"))
    for probe_id, text, answer, names in asked:
        evidence = haystack.evidence(names)
        is_own = "questions" not in instance or not haystack.marked.isdisjoint(evidence)
        is_dated = is_own and category == _DATED and date and text
        yield Question(
            probe_id=probe_id,
            session_id=session_id,
            text=f"Today is {date}. {text}" if is_dated else text,
            values=answer_values(answer),
            evidence=evidence,
            is_absent=session_id.endswith(_UNANSWERABLE),
            kind=_KINDS.get(category, "other") if is_own else "other",
            category=category,
            language="en",
        )


def _moment(value: Any) -> datetime | None:
    """Read ``2023/05/30 (Tue) 23:40``; the zone is not given, UTC stands in."""
    found = _DATE.match(text_of(value))
    if not found:
        return None
    try:
        year, month, day, hour, minute = (int(part or 0) for part in found.groups())
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None


def _rank(date: datetime | None) -> float:
    return date.timestamp() if date else 0.0
