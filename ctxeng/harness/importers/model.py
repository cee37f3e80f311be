"""What an importer is, and what it hands on: sessions, probes and an account of every record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Literal

from ctxeng.core.messages import JsonBlock, Message, Role
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.language import guess_language
from ctxeng.harness.sessions.records import Header, encode, message_record
from ctxeng.harness.sessions.text import json_fault, likely_encoding

View = Literal["raw", "recorded"]
MAX_FINDINGS = 200
"""Findings kept per file, so that a file of a million bad lines stays in constant memory."""
_GUESSED_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about a file that a person should know."""

    file: str
    line: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the person importing chose.

    Args:
        view: ``raw`` drops the summaries a product injected, ``recorded`` keeps them, marked.
        encoding: of files that are not UTF-8 and have no byte-order mark.
    """

    view: View = "raw"
    encoding: str | None = None


@dataclass(slots=True, kw_only=True)
class Account:
    """Where every record of one file went: ``read = imported + merged + skipped``.

    A record is what the format counts in: a line, a message, a question. ``imported`` records
    became messages or probes of their own; ``merged`` ones are part of another's.
    """

    file: str
    read: int = 0
    imported: int = 0
    merged: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    silenced: int = 0

    def take(self, records: int = 1) -> None:
        """Count records that became messages or probes."""
        self.read += records
        self.imported += records

    def merge(self, records: int = 1) -> None:
        """Count records that were joined to another's message."""
        self.read += records
        self.merged += records

    def skip(self, reason: str, records: int = 1) -> None:
        """Count records that were left out."""
        if records:
            self.read += records
            self.skipped[reason] += records

    def retract(self, reason: str, *, imported: int = 0, merged: int = 0) -> None:
        """Count records as skipped after all, because what they made is there already."""
        self.imported -= imported
        self.merged -= merged
        self.skipped[reason] += imported + merged

    def damaged(self, data: bytes, error: ValueError, *, line: int) -> None:
        """Count a line that is no JSON as skipped, and keep what is wrong with it."""
        self.skip("damaged line")
        encoding = likely_encoding(data[:_GUESSED_BYTES])
        advice = f". It looks like {encoding}: pass --encoding {encoding}" if encoding else ""
        self.note(f"damaged line: {json_fault(error)}{advice}", line=line)

    def note(self, what: str, *, line: int = 0) -> None:
        """Keep a finding; beyond the limit only its number is kept."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(file=self.file, line=line, what=what))
        else:
            self.silenced += 1

    @property
    def balanced(self) -> bool:
        """Return whether every record read is accounted for."""
        return self.read == self.imported + self.merged + sum(self.skipped.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDraft:
    """A session on its way to disk: its header, and its canonical lines as they come.

    Args:
        records: one JSON line per message, seqs 0, 1, 2 …; read once.
        source_records: tells, once ``records`` is read, how many records of the source became
            messages of their own and how many were merged into one.
    """

    header: Header
    records: Iterable[bytes]
    source_records: Callable[[], tuple[int, int]]


class Importer(ABC):
    """Reads one format. Sibling modules all have this shape.

    ``suffixes`` are the file names looked at when a folder is walked; ``companions`` are glob
    patterns of files that are read together with another one and are no source of their own.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    companions: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def detect(self, sample: Sample) -> float:
        """Return how sure the importer is that the sample is its format, 0 to 1."""

    @abstractmethod
    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield what the source holds, and account for every record of it.

        Raises:
            DatasetError: the source as a whole cannot be read.
        """

    def claims_folder(self, folder: Path) -> bool:
        """Return whether a whole folder is one source of this format."""
        return False

    def is_companion(self, path: Path) -> bool:
        """Return whether a file of a folder is read together with another one."""
        return any(fnmatchcase(path.name, pattern) for pattern in self.companions)


@dataclass(slots=True)
class Turns:
    """Messages of one session being read, with the account of the records they came from."""

    account: Account
    messages: list[Message] = field(default_factory=list)
    taken: int = 0
    merged: int = 0

    def add(
        self,
        role: Role,
        content: str,
        *,
        blocks: Sequence[JsonBlock] = (),
        speaker: str | None = None,
        timestamp: datetime | None = None,
        message_id: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> bool:
        """Count one record and keep its message; a message that says nothing is skipped."""
        if not content.strip() and not blocks:
            self.account.skip("empty message")
            return False
        self.account.take()
        self.taken += 1
        self.messages.append(
            Message(
                seq=len(self.messages),
                role=role,
                content=content,
                speaker=speaker or None,
                timestamp=timestamp,
                message_id=message_id or None,
                blocks=tuple(blocks),
                meta=dict(meta or {}),
            )
        )
        return True

    def keep(self, message: Message) -> bool:
        """Count one record that is a message already."""
        return self.add(
            message.role,
            message.content,
            blocks=message.blocks,
            speaker=message.speaker,
            timestamp=message.timestamp,
            message_id=message.message_id,
            meta=message.meta,
        )

    def insert(
        self, place: int, role: Role, content: str, *, timestamp: datetime | None = None
    ) -> None:
        """Count one record and keep its message before the one at ``place``."""
        self.account.take()
        self.taken += 1
        self.messages.insert(
            place, Message(seq=place, role=role, content=content, timestamp=timestamp)
        )

    def follow(
        self, role: Role, *, blocks: Sequence[JsonBlock], timestamp: datetime | None = None
    ) -> None:
        """Keep a second message of the record just taken: results that stood inside the call."""
        self.messages.append(
            Message(
                seq=len(self.messages),
                role=role,
                content="",
                timestamp=timestamp,
                blocks=tuple(blocks),
            )
        )

    def join(self, *, content: str = "", blocks: Sequence[JsonBlock] = ()) -> None:
        """Count one record as part of the message before it."""
        self.account.merge()
        self.merged += 1
        last = self.messages[-1]
        words = [text for text in (last.content, content) if text]
        self.messages[-1] = last.with_(content="\n\n".join(words), blocks=(*last.blocks, *blocks))

    def draft(self, session_id: str, **about: Any) -> SessionDraft:
        """Return the session; ``about`` is what ``draft`` takes."""
        return draft(session_id, self.messages, taken=self.taken, merged=self.merged, **about)


def draft(
    session_id: str,
    messages: Sequence[Message],
    *,
    origin: str,
    title: str = "",
    language: str | None = None,
    licence: str = "",
    meta: Mapping[str, Any] | None = None,
    taken: int | None = None,
    merged: int = 0,
) -> SessionDraft:
    """Return a draft of messages that are in memory; their seqs are set to their positions.

    Args:
        taken, merged: records of the source that became, and were joined to, these messages;
            by default one each.
    """
    header = Header(
        session_id=session_id,
        title=title,
        language=language or guess_language(message.content for message in messages),
        origin=origin,
        licence=licence,
        speakers=tuple(dict.fromkeys(message.name for message in messages)),
        meta=meta or {},
    )
    return SessionDraft(
        header=header,
        records=(
            encode(message_record(message.with_(seq=seq))) for seq, message in enumerate(messages)
        ),
        source_records=lambda: (len(messages) if taken is None else taken, merged),
    )
