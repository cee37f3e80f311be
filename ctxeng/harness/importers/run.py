"""Import files, folders and archives into a dataset folder, and account for every record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.card import write_card
from ctxeng.harness.importers.folders import Walk
from ctxeng.harness.importers.model import Account, Finding, Importer, Options, SessionDraft, View
from ctxeng.harness.importers.registry import (
    AUTO,
    IMPORTERS,
    detect,
    format_names,
    importer_named,
)
from ctxeng.harness.importers.source import Source, sample_of
from ctxeng.harness.importers.writing import (
    DatasetWriter,
    Redactor,
    Written,
    check_writable,
    merge_probes,
)
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.text import likely_encoding


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What an import did. ``read = imported + merged + skipped`` holds over all files.

    ``outcomes`` counts session files by what became of them: written, updated, unchanged, copy.
    ``failures`` are the files that gave nothing although they hold something.
    """

    format: str
    files: int = 0
    read: int = 0
    imported: int = 0
    merged: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    session_ids: list[str] = field(default_factory=list)
    probes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    failures: list[Finding] = field(default_factory=list)

    @property
    def sessions(self) -> int:
        """Return the number of sessions the sources hold, copies not counted."""
        return len(self.session_ids)

    @property
    def balanced(self) -> bool:
        """Return whether every record read is accounted for."""
        return self.read == self.imported + self.merged + sum(self.skipped.values())

    def record(self) -> dict[str, Any]:
        """Return the report as the JSON object that ``--json`` prints."""
        return {
            "format": self.format,
            "files": self.files,
            "read": self.read,
            "imported": self.imported,
            "merged": self.merged,
            "skipped": dict(sorted(self.skipped.items())),
            "sessions": self.sessions,
            "messages": self.messages,
            "probes": self.probes,
            "findings": [
                {"file": f.file, "line": f.line, "what": f.what}
                for f in (*self.failures, *self.findings)
            ],
        }


class NothingImported(DatasetError):
    """No source gave a session or a probe; ``report`` says what was seen instead."""

    def __init__(self, message: str, report: ImportReport) -> None:
        super().__init__(message)
        self.report = report


def import_paths(
    format: str,
    paths: Sequence[Path],
    out: Path,
    *,
    view: View = "raw",
    encoding: str | None = None,
    redactor: Redactor | None = None,
) -> ImportReport:
    """Import ``paths`` into the dataset folder ``out`` and return the report.

    Args:
        format: a format's name, or ``auto`` to have it told from each file's content.
        view: ``raw`` drops summaries that a product injected, ``recorded`` keeps them, marked.
        encoding: of files that are not UTF-8.
        redactor: replaces personal data before anything is written.

    Raises:
        DatasetError: a path is missing, or ``out`` cannot be written to.
        NothingImported: no source gave a session or a probe.
    """
    run = _Run(
        chosen=None if format == AUTO else importer_named(format),
        options=Options(view=view, encoding=encoding),
        writer=DatasetWriter(out=out, redactor=redactor),
        redactor=redactor,
        report=ImportReport(format=format),
    )
    importers = (run.chosen,) if run.chosen else IMPORTERS
    walks = [Walk.below(path, importers) for path in paths]
    check_writable(out)
    for walk in walks:
        run.report.findings += walk.findings
        for found in walk.found:
            run.file(found.path, is_named=found.is_named)
    return run.finish(out)


@dataclass(slots=True, kw_only=True)
class _Run:
    """One import under way."""

    chosen: Importer | None
    options: Options
    writer: DatasetWriter
    redactor: Redactor | None
    report: ImportReport
    formats: Counter[str] = field(default_factory=Counter)
    probes: dict[str, Probe] = field(default_factory=dict)
    origins: Counter[tuple[str, str]] = field(default_factory=Counter)

    def file(self, path: Path, *, is_named: bool) -> None:
        """Import one source; a fault of one never stops the others."""
        source = Source(path, encoding=self.options.encoding)
        try:
            importer = self._importer(source, is_named=is_named)
        except DatasetError as error:
            self._fail(path, str(error))
            return
        if importer is None:
            what = f"not recognised as any format: {_beginning(source)}"
            self.report.findings.append(Finding(file=str(path), line=0, what=what))
            return
        self.report.files += 1
        self.formats[importer.name] += 1
        account = Account(file=str(path))
        try:
            self._take(importer.read(source, account, self.options), account)
        except DatasetError as error:
            self._fail(path, f"{error}{self._likelier(source)}")
        self._close(source, account)

    def finish(self, out: Path) -> ImportReport:
        """Write probes and card, and return the report."""
        report = self.report
        redact = self.redactor.text if self.redactor else str
        report.findings = [replace(f, what=redact(f.what)) for f in report.findings]
        report.failures = [replace(f, what=redact(f.what)) for f in report.failures]
        if not report.session_ids and not self.probes:
            raise NothingImported(_nothing(report), report)
        if len(self.formats) == 1:
            report.format = next(iter(self.formats))
        if self.probes:
            merge_probes(out / "probes.jsonl", self.probes, session_ids=report.session_ids)
        report.probes = len(self.probes)
        write_card(out, report.record(), origins=self.origins, redact=redact)
        return report

    def _importer(self, source: Source, *, is_named: bool) -> Importer | None:
        sample = sample_of(source)
        if self.chosen is not None:
            return self.chosen
        found = detect(sample)
        if found is None and is_named:
            raise DatasetError(
                f"a file to import must be in a known format, got one that none recognises "
                f"({source.name}: {_beginning(source)}). "
                f"Name the format: {', '.join(format_names())}."
            )
        return found

    def _likelier(self, source: Source) -> str:
        """Return a hint where a format was named and the content speaks for another."""
        if self.chosen is None:
            return ""
        try:
            found = detect(sample_of(source))
        except DatasetError:
            return ""
        if found is None or found is self.chosen:
            return ""
        return f" It looks like {found.name}: name that, or no format."

    def _take(self, found: Iterator[SessionDraft | Probe], account: Account) -> None:
        for item in found:
            if isinstance(item, Probe):
                self._take_probe(item, account)
                continue
            written = self.writer.add(item)
            self.report.outcomes[written.outcome] += 1
            self._take_session(item, written, account)

    def _take_session(self, item: SessionDraft, written: Written, account: Account) -> None:
        wanted = item.header.session_id
        if self.redactor:
            wanted = self.redactor.text(wanted)
        if written.outcome == "empty":
            account.note(f"session {wanted} holds no message")
            return
        if written.outcome == "copy":
            account.note(f"session {wanted} is a copy of one already imported")
            imported, merged = item.source_records()
            account.retract("copy of a session", imported=imported, merged=merged)
            return
        if written.session_id != wanted:
            account.note(f"session {wanted} differs from one of the same id: {written.session_id}")
        self.report.session_ids.append(written.session_id)
        self.report.messages += written.messages
        self.origins[item.header.origin, item.header.licence] += 1

    def _take_probe(self, probe: Probe, account: Account) -> None:
        kept = self.redactor.probe(probe) if self.redactor else probe
        if kept.probe_id not in self.probes:
            self.probes[kept.probe_id] = kept
            return
        account.retract("copy of a probe", imported=1)
        earlier = self.probes[kept.probe_id]
        if earlier.status == "excluded" and kept.status == "accepted":
            self.probes[kept.probe_id] = kept
            account.note(f"probe {kept.probe_id} takes the place of one that was excluded")
        elif earlier != kept:
            account.note(f"probe {kept.probe_id} differs from one of the same id, which is kept")

    def _close(self, source: Source, account: Account) -> None:
        path, report = source.path, self.report
        report.read += account.read
        report.imported += account.imported
        report.merged += account.merged
        report.skipped.update(account.skipped)
        report.findings += account.findings
        if account.silenced:
            what = f"{account.silenced} more findings"
            report.findings.append(Finding(file=str(path), line=0, what=what))
        copies = sum(n for reason, n in account.skipped.items() if reason.startswith("copy of"))
        failed = any(failure.file == str(path) for failure in report.failures)
        if not account.imported and not copies and not failed:
            self._fail(path, f"{_seen(account)}{self._likelier(source)}")

    def _fail(self, path: Path, what: str) -> None:
        self.report.failures.append(Finding(file=str(path), line=0, what=what))


def _beginning(source: Source) -> str:
    """Return what a source that no format claims begins with, and its likely encoding."""
    if source.members:
        return f"holds {', '.join(source.members[:3])}{' …' if len(source.members) > 3 else ''}"
    if source.is_archive:
        return "holds nothing"
    sample = sample_of(source)
    encoding = likely_encoding(sample.head)
    advice = f", looks like {encoding}: pass --encoding {encoding}" if encoding else ""
    fault = f"; {sample.fault}" if sample.fault and not encoding else ""
    return f"begins with {sample.head[:40]!r}{advice}{fault}"


def _nothing(report: ImportReport) -> str:
    faults = [*report.failures, *report.findings]
    if len(faults) == 1 and faults[0].file in faults[0].what:
        return faults[0].what
    seen = "; ".join(f"{fault.file}: {fault.what}" for fault in faults[:3])
    more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
    return f"an import must find at least one session, got none. {seen or 'No file found'}{more}"


def _seen(account: Account) -> str:
    reasons = ", ".join(f"{n} {reason}" for reason, n in account.skipped.most_common(4))
    return (
        f"nothing to import among {account.read} records"
        f"{f' ({reasons})' if reasons else ''}. Is it the right format?"
    )
