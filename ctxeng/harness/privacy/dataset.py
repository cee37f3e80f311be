"""Redact a dataset folder with its probes, or check that one holds nothing to redact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ctxeng.core.errors import DatasetError
from ctxeng.harness.privacy.found import Kind
from ctxeng.harness.privacy.redactor import Redactor, texts_of
from ctxeng.harness.probes.io import read_probes, write_probes
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.io import atomic_file, file_name, read_header, session_files
from ctxeng.harness.sessions.records import message_from
from ctxeng.harness.sessions.text import lines, open_utf8, parse_json

CARD = "card.md"
PROBES = "probes.jsonl"
BROKEN = "its value is part of something redacted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Something that must not be stored: where and what kind, never the value."""

    file: str
    line: int
    kind: Kind


@dataclass(slots=True, kw_only=True)
class RedactionReport:
    """What was replaced, in counts. ``broken`` are probes that cannot be asked any more."""

    sessions: int = 0
    messages: int = 0
    messages_changed: int = 0
    probes: int = 0
    probes_changed: int = 0
    broken: list[str] = field(default_factory=list)
    replaced: Counter[Kind] = field(default_factory=Counter)
    distinct: dict[Kind, int] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the report as the JSON object that ``--json`` prints."""
        return {
            "sessions": self.sessions,
            "messages": self.messages,
            "messages_changed": self.messages_changed,
            "probes": self.probes,
            "probes_changed": self.probes_changed,
            "probes_broken": self.broken,
            "replaced": dict(sorted(self.replaced.items())),
            "distinct": dict(self.distinct),
        }


def redact_dataset(
    dataset: Path, out: Path, redactor: Redactor, *, probe_files: Sequence[Path] = ()
) -> RedactionReport:
    """Write a dataset folder's sessions, card and probes to ``out`` with pseudonyms.

    Two passes: secrets that the first one learns from the words before them are found by the
    second wherever they stand. ``out`` may be the dataset itself.

    Args:
        probe_files: probe files besides the dataset's own; they keep their file names in ``out``.

    Raises:
        DatasetError: a file is damaged, or two probe files have one name.
    """
    sessions = session_files([dataset])
    sources = probe_sources(dataset, probe_files)
    asked = {source: read_probes(source) for source in sources}
    for path in sessions:
        for _, line in _lines(path):
            redactor.learn(line)
    report = RedactionReport()
    lost = _Lost(probe for probes in asked.values() for probe in probes)
    for path in sessions:
        _redact_session(path, out, redactor, report, lost)
    for source, probes in asked.items():
        _redact_probes(probes, out / source.name, redactor, report, lost)
    _redact_card(dataset, out, redactor)
    report.replaced = Counter(redactor.replaced)
    report.distinct = redactor.distinct
    return report


def leaks(dataset: Path, redactor: Redactor, *, probe_files: Sequence[Path] = ()) -> Iterator[Leak]:
    """Yield what a dataset folder, or a session file, still holds, in file order."""
    sessions = session_files([dataset])
    files = [*sessions, *probe_sources(dataset, probe_files)]
    for path in sessions:
        for _, line in _lines(path):
            redactor.learn(line)
    for path in files:
        for number, line in _lines(path):
            kinds = {one.kind for text in texts_of(line) for one in redactor.find(text)}
            yield from (Leak(file=str(path), line=number, kind=kind) for kind in sorted(kinds))


def probe_sources(dataset: Path, probe_files: Sequence[Path]) -> list[Path]:
    """Return the dataset's own probe file, where it has one, and the given ones.

    Raises:
        DatasetError: two of them have the same file name.
    """
    own = dataset / PROBES
    sources = list(dict.fromkeys([*([own] if own.is_file() else []), *probe_files]))
    twice = [name for name, n in Counter(source.name for source in sources).items() if n > 1]
    if twice:
        raise DatasetError(
            f"probe files must have names of their own, got {twice[0]!r} twice. Rename one."
        )
    return sources


class _Lost:
    """Probes whose value stood in their evidence and does not stand there any more.

    ``what are the last four digits of my card?`` has no answer once the card is a pseudonym.
    """

    def __init__(self, probes: Iterable[Probe]) -> None:
        self._asked: dict[str, list[Probe]] = {}
        for probe in probes:
            self._asked.setdefault(probe.session_id, []).append(probe)
        self._before: dict[str, str] = {}
        self._after: dict[str, str] = {}

    def note(self, session_id: str, seq: int, before: str, after: str) -> None:
        """Take an evidence message as it was and as it is."""
        for probe in self._asked.get(session_id, ()):
            if seq in probe.evidence_seqs:
                key = probe.probe_id
                self._before[key] = f"{self._before.get(key, '')}\n{before}".casefold()
                self._after[key] = f"{self._after.get(key, '')}\n{after}".casefold()

    def is_broken(self, old: Probe, new: Probe) -> bool:
        """Return whether some value was in the evidence and is there no more."""
        before, after = self._before.get(old.probe_id, ""), self._after.get(old.probe_id, "")
        return any(
            any(value.casefold() in before for value in was)
            and not any(value.casefold() in after for value in now)
            for was, now in zip(old.expect, new.expect, strict=True)
        )


def _redact_session(
    path: Path, out: Path, redactor: Redactor, report: RedactionReport, lost: _Lost
) -> None:
    session_id = read_header(path).session_id
    target = out / "sessions" / file_name(redactor.text(session_id))
    with atomic_file(target) as stream:
        for number, line in _lines(path):
            changed = redactor.record(line)
            stream.write(changed + b"\n")
            if number == 1:
                continue
            where = f"{path}:{number}"
            old, new = (message_from(parse_json(one), where=where) for one in (line, changed))
            lost.note(session_id, old.seq, old.text, new.text)
            report.messages += 1
            report.messages_changed += changed != line
    if target != path and path.parent == target.parent:
        path.unlink()
    report.sessions += 1


def _redact_probes(
    probes: Sequence[Probe],
    target: Path,
    redactor: Redactor,
    report: RedactionReport,
    lost: _Lost,
) -> None:
    written = []
    for old in probes:
        new = redactor.probe(old)
        if lost.is_broken(old, new):
            report.broken.append(new.probe_id)
            new = replace(new, status="excluded", note=BROKEN)
        report.probes += 1
        report.probes_changed += new != old
        written.append(new)
    write_probes(written, target)


def _redact_card(dataset: Path, out: Path, redactor: Redactor) -> None:
    card = dataset / CARD
    if card.is_file():
        text = redactor.text(card.read_text("utf-8"))
        with atomic_file(out / CARD) as stream:
            stream.write(text.encode("utf-8"))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with open_utf8(path) as stream:
            for number, line in lines(stream):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise DatasetError(
            f"a file to redact must be readable, got {path} ({error.strerror or error})."
        ) from None
