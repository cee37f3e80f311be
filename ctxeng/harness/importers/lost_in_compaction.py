"""Lost in compaction: a long chat of which a part was really compacted, with located facts.

A context is a bare list of messages; the file of the same name with ``_meta`` says where each fact
is stated: messages ``message_start`` up to, and without, ``message_end``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

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

_KINDS: dict[str, ProbeKind] = {
    "knowledge-update": "update",
    "single-session-preference": "preference",
}
_SUMMARY = "[Summary of "
_RECORDINGS = ("answers_", "judgments_")


class LostInCompactionImporter(Importer):
    """Reads compacted contexts and the facts located in them."""

    name: ClassVar[str] = "lost-in-compaction"
    companions: ClassVar[tuple[str, ...]] = (ERRATA_NAME,)

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for a list of messages beside which located facts lie."""
        if not _meta_of(sample.source.path).is_file() or "content" not in sample.first:
            return 0.0
        return 0.95 if _facts(sample.source.path) else 0.0

    def is_companion(self, path: Path) -> bool:
        """Return whether a file tells about a context beside it: facts, answers, judgements."""
        stem = path.stem.removesuffix("_meta")
        if stem != path.stem:
            return path.with_name(f"{stem}.json").exists() and _is_meta(path)
        recorded = path.stem.partition("_")[2].rpartition("_bs")[0]
        is_recording = bool(recorded) and path.name.startswith(_RECORDINGS)
        known = is_recording and path.with_name(f"{recorded}_meta.json").exists()
        return known or super().is_companion(path)

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield the context as one session, and a probe for every fact."""
        session_id = source.path.stem
        turns, seqs = Turns(account), dict[int, int]()
        for position, raw in enumerate(listed(source.json)):
            message = mapped(raw)
            role, text = role_of(message.get("role")), text_of(message.get("content"))
            if role is None:
                account.skip("unknown speaker")
                continue
            seq = len(turns.messages)
            meta = {"compaction_summary": True} if text.startswith(_SUMMARY) else {}
            if turns.add(role, text, meta=meta):
                seqs[position] = seq
        yield turns.draft(session_id, origin="lost-in-compaction", language="en")
        questions = Questions(account, "lost-in-compaction", Errata.beside(source.path))
        for fact in _facts(source.path):
            yield from questions.ask(_question(session_id, fact, seqs))


def _question(session_id: str, fact: Mapping[str, Any], seqs: Mapping[int, int]) -> Question:
    start, end = fact.get("message_start"), fact.get("message_end")
    located = range(start, end) if isinstance(start, int) and isinstance(end, int) else range(0)
    category = text_of(fact.get("question_type"))
    return Question(
        probe_id=f"{session_id}/{text_of(fact.get('fact_id'))}",
        session_id=session_id,
        text=text_of(fact.get("question")),
        values=answer_values(fact.get("answer")),
        evidence=[] if len(located) > len(seqs) else [seqs[at] for at in located if at in seqs],
        kind=_KINDS.get(category, "other"),
        category=category,
        language="en",
        fault="its statement was compacted away in the recording" if fact.get("compacted") else "",
    )


def _meta_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}_meta.json")


def _is_meta(path: Path) -> bool:
    """Return whether a file holds located facts; cheap enough to ask of every ``_meta`` file."""
    with path.open("rb") as stream:
        return b'"fact_id"' in stream.read(1 << 16)


def _facts(path: Path) -> list[dict[str, Any]]:
    meta = _meta_of(path)
    facts = mapped(Source(meta).json).get("facts") if meta.is_file() else []
    return [fact for fact in listed(facts) if isinstance(fact, dict)]
