"""MemDaily: what a person says to an assistant over some days, with multiple-choice questions.

Source: README of the MemSim repository (Zhang et al., 2024, arXiv:2409.20163). What kind
of questions a file holds stands in its name alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.questions import ERRATA_NAME, Errata, Question, Questions
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import listed, mapped, text_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.language import guess_language

_TIME = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日\s*\S*\s*(\d{1,2}):(\d{2})")

_NUMBER = re.compile(r"^\d+[_-]")


class MemDailyImporter(Importer):
    """Reads MemDaily files, a session for every trajectory."""

    name: ClassVar[str] = "memdaily"
    companions: ClassVar[tuple[str, ...]] = (ERRATA_NAME,)

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for a trajectory with messages and questions."""
        first = sample.first
        return 0.95 if {"message_list", "question_list"} <= first.keys() else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session and its questions for every trajectory."""
        questions = Questions(account, "MemDaily", Errata.beside(source.path))
        category = _NUMBER.sub("", source.path.stem)
        for place, record in json_records(source, account):
            number = text_of(record.get("tid")) or str(place - 1)
            session_id = f"{source.path.stem}-{number}"
            turns, seqs = _turns(record, account)
            yield turns.draft(session_id, origin="MemDaily")
            for index, question in enumerate(listed(record.get("question_list"))):
                yield from questions.ask(
                    _question(session_id, index, mapped(question), seqs, category)
                )


def _turns(record: Mapping[str, Any], account: Account) -> tuple[Turns, dict[int, int]]:
    turns, seqs = Turns(account), dict[int, int]()
    for raw in listed(record.get("message_list")):
        said = mapped(raw)
        number, place = said.get("mid"), text_of(said.get("place"))
        seq = len(turns.messages)
        taken = turns.add(
            "user",
            text_of(said.get("message")),
            timestamp=_moment(said.get("time")),
            message_id=text_of(number),
            meta={"place": place} if place else {},
        )
        if taken and isinstance(number, int):
            seqs[number] = seq
    return turns, seqs


def _question(
    session_id: str,
    index: int,
    question: Mapping[str, Any],
    seqs: Mapping[int, int],
    category: str,
) -> Question:
    text = text_of(question.get("question"))
    right = text_of(mapped(question.get("choices")).get(text_of(question.get("ground_truth"))))
    answer = text_of(question.get("answer"))
    steps = question.get("target_step_id")
    return Question(
        probe_id=f"{session_id}/q{text_of(question.get('qid')) or index}",
        session_id=session_id,
        text=text,
        values=[list(dict.fromkeys((answer, right)))],
        evidence=[
            seqs[step]
            for step in (steps if isinstance(steps, list) else [steps])
            if isinstance(step, int) and step in seqs
        ],
        category=category,
        language=guess_language([text]),
    )


def _moment(value: Any) -> datetime | None:
    """Read ``2024年04月01日 周一 08:42``; the zone is not given, UTC stands in."""
    found = _TIME.match(text_of(value))
    if not found:
        return None
    year, month, day, hour, minute = map(int, found.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None
