"""MemoryBank: ten days of chats of one person with a companion, and questions without answers.

Source: README of the MemoryBank-SiliconFriend repository (Zhong et al., 2023, arXiv:2305.10250).
The questions lie beside the chats, in ``probing_questions*.jsonl``; neither answers nor evidence
are published, so they are kept for somebody to complete, and not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.questions import ERRATA_NAME, Errata, Question, Questions
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import listed, mapped, moment, text_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.language import guess_language

_QUESTIONS = "probing_questions*.jsonl"


class MemoryBankImporter(Importer):
    """Reads MemoryBank files, a session for every person."""

    name: ClassVar[str] = "memorybank"
    companions: ClassVar[tuple[str, ...]] = (ERRATA_NAME, _QUESTIONS)

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for persons with a history of days of queries and responses."""
        for person in list(sample.first.values())[:3]:
            for day in list(mapped(mapped(person).get("history")).values())[:3]:
                exchange = mapped(next(iter(listed(day)), None))
                if {"query", "response"} <= exchange.keys():
                    return 0.95
        return 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every person, and the questions about it."""
        sessions: dict[str, str] = {}
        for name, person in mapped(source.json).items():
            session_id = f"{source.path.stem}-{name.strip()}"
            turns = _turns(name.strip(), mapped(person), account)
            sessions[name.strip()] = session_id
            yield turns.draft(session_id, origin="MemoryBank", licence="MIT")
        questions = Questions(account, "MemoryBank", Errata.beside(source.path))
        for path in sorted(source.path.parent.glob(_QUESTIONS)):
            for question in _questions(path, sessions, account):
                yield from questions.ask(question)


def _turns(name: str, person: Mapping[str, Any], account: Account) -> Turns:
    turns = Turns(account)
    for day, exchanges in mapped(person.get("history")).items():
        for raw in listed(exchanges):
            exchange = mapped(raw)
            at = moment(day)
            turns.add("user", text_of(exchange.get("query")), speaker=name, timestamp=at)
            turns.add("assistant", text_of(exchange.get("response")), timestamp=at)
    return turns


def _questions(path: Path, sessions: Mapping[str, str], account: Account) -> Iterator[Question]:
    for _, record in json_records(Source(path), account):
        for name, asked in record.items():
            session_id = sessions.get(name.strip())
            for index, text in enumerate(listed(asked)):
                if session_id is None:
                    account.skip("question about a person of another file")
                    continue
                yield Question(
                    probe_id=f"{session_id}/q{index:02d}",
                    session_id=session_id,
                    text=text_of(text),
                    language=guess_language([text_of(text)]),
                )
