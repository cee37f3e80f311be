"""Write a dataset folder, so that importing again changes only what changed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Literal, Protocol

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.model import SessionDraft
from ctxeng.harness.probes.io import read_probes, write_probes
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.io import file_name
from ctxeng.harness.sessions.records import encode

Outcome = Literal["written", "updated", "unchanged", "copy", "empty"]
_CHUNK_BYTES = 1_000_000


class Redactor(Protocol):
    """Replaces what must not be stored; consistent over sessions and probes."""

    def text(self, text: str) -> str:
        """Return a text without what must not be stored."""
        ...

    def record(self, line: bytes) -> bytes:
        """Return a canonical line without what must not be stored."""
        ...

    def probe(self, probe: Probe) -> Probe:
        """Return the probe with the same replacements."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of one draft; ``session_id`` is the id it got."""

    session_id: str
    outcome: Outcome
    messages: int


@dataclass(slots=True, kw_only=True)
class DatasetWriter:
    """Writes the sessions of one import below one folder, each file atomically."""

    out: Path
    redactor: Redactor | None = None
    _sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of the messages of every session written, by its id."""

    def add(self, draft: SessionDraft) -> Written:
        """Write a draft and return what became of it.

        A session id seen before in this import is a copy when the messages are equal, and gets a
        number behind it when they are not.
        """
        wanted = draft.header.session_id
        if self.redactor:  # the id becomes a file name
            wanted = self.redactor.text(wanted)
        with _unnamed(self.out / "sessions") as body:
            own_id = self._free_id(wanted)
            head = self._redacted(encode(replace(draft.header, session_id=own_id).record()))
            body.write(head + b"\n")
            count = self._spool(draft.records, body)
            if not count:
                return Written(session_id=wanted, outcome="empty", messages=0)
            size = body.tell() - len(head)
            alike = (one for one in self._called(wanted) if self._sizes[one] == size)
            if any(_same(body, self._path(one), past_header=True) for one in alike):
                return Written(session_id=wanted, outcome="copy", messages=count)
            self._sizes[own_id] = size
            outcome = _place(body, self._path(own_id))
        return Written(session_id=own_id, outcome=outcome, messages=count)

    def _path(self, session_id: str) -> Path:
        return self.out / "sessions" / file_name(session_id)

    def _spool(self, records: Iterable[bytes], body: IO[bytes]) -> int:
        count = 0
        for record in records:
            body.write(self._redacted(record))
            body.write(b"\n")
            count += 1
        return count

    def _redacted(self, line: bytes) -> bytes:
        return self.redactor.record(line) if self.redactor else line

    def _called(self, session_id: str) -> list[str]:
        """Return the ids that sessions of this id got in this import: ``x``, ``x~2``, ``x~3`` …"""
        found, name = [], session_id
        while name in self._sizes:
            found.append(name)
            name = f"{session_id}~{len(found) + 1}"
        return found

    def _free_id(self, session_id: str) -> str:
        called = self._called(session_id)
        return f"{session_id}~{len(called) + 1}" if called else session_id


def merge_probes(path: Path, probes: Mapping[str, Probe], *, session_ids: Iterable[str]) -> int:
    """Write the probes of the sessions just imported into ``path``; return how many it holds.

    Probes of other sessions that the file already has are kept; an unchanged file is not touched.
    """
    replaced = set(session_ids)
    old = read_probes(path) if path.exists() else []
    kept = [p for p in old if p.session_id not in replaced and p.probe_id not in probes]
    merged = sorted([*kept, *probes.values()], key=lambda p: (p.session_id, p.probe_id))
    if merged and merged != old:
        write_probes(merged, path)
    return len(merged)


def check_writable(out: Path) -> None:
    """Check that ``out`` can become a dataset folder, before anything is read.

    Raises:
        DatasetError: it is a file, or cannot be written to.
    """
    try:
        (out / "sessions").mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out / "sessions"):
            pass
    except OSError as error:
        raise DatasetError(
            f"--out must be a folder that can be written to, got {out} "
            f"({error.strerror or error}). Choose another one."
        ) from None


@contextmanager
def _unnamed(folder: Path) -> Iterator[IO[bytes]]:
    """Open a hidden file in ``folder`` that is gone afterwards, unless it was given a name."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=folder, prefix=".import-", buffering=_CHUNK_BYTES, delete=False
    ) as body:
        try:
            yield body
        finally:
            with suppress(OSError):
                os.unlink(body.name)


def _place(body: IO[bytes], path: Path) -> Outcome:
    """Give a finished file its name, unless the same is there already."""
    existed = path.exists()
    body.flush()
    if existed and _same(body, path):
        return "unchanged"
    body.close()
    os.chmod(body.name, 0o644)
    os.replace(body.name, path)
    return "updated" if existed else "written"


def _same(body: IO[bytes], path: Path, *, past_header: bool = False) -> bool:
    body.seek(0)
    with path.open("rb") as stream:
        if past_header:
            body.readline()
            stream.readline()
        while chunk := stream.read(_CHUNK_BYTES):
            if chunk != body.read(len(chunk)):
                return False
    return not body.read(1)
