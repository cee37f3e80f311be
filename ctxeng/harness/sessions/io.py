"""Canonical sessions on disk: JSON Lines, a header record first, then one message a line."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message, Session
from ctxeng.harness.sessions.records import (
    Header,
    encode,
    header_from,
    header_of,
    message_from,
    message_record,
)
from ctxeng.harness.sessions.text import (
    json_fault,
    lines,
    open_utf8,
    parse_json,
)

_UNSAFE = re.compile(r"[^A-Za-z0-9._~-]")
_DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)\d)(\.|$)", re.IGNORECASE)
"""Names that Windows gives to devices, whatever stands behind a dot."""


def session_lines(session: Session) -> Iterator[bytes]:
    """Yield the lines of a session's file, header first."""
    yield encode(header_of(session).record())
    for message in session.messages:
        yield encode(message_record(message))


def content_hash(session: Session) -> str:
    """Return the SHA-256 of a session's file, in hex."""
    digest = hashlib.sha256()
    for line in session_lines(session):
        digest.update(line + b"\n")
    return digest.hexdigest()


def file_name(session_id: str) -> str:
    """Return a file name for a session id: readable, safe on every system, and its own.

    An id that cannot be a name as it is gets a ``+`` (in no other name) and part of its hash.
    """
    safe = _UNSAFE.sub("_", session_id)[:120].strip(".") or "session"
    if _DEVICE.match(safe):
        safe = f"{safe.replace('.', '_')}+"
    if safe == session_id:
        return f"{safe}.jsonl"
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{safe.rstrip('+')}+{digest[:8]}.jsonl"


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file beside ``path`` and move it into place when the block ends without error.

    Raises:
        DatasetError: the folder cannot be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:60]}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise _unwritable(path, error) from error
        raise


def write_session(session: Session, path: Path) -> Path:
    """Write a session to ``path``, atomically, and return the path."""
    _check_seqs(session.messages, path)
    with atomic_file(path) as stream:
        for line in session_lines(session):
            stream.write(line + b"\n")
    return path


def read_header(path: Path) -> Header:
    """Return the header of a session file.

    Raises:
        DatasetError: the file is missing, empty, or does not begin with a session header.
    """
    with _opened(path) as stream:
        for number, line in lines(stream):
            return header_from(_parsed(line, path, number), where=f"{path}:{number}")
    raise DatasetError(
        f"a session file must begin with a header, got an empty file ({path}). "
        "Remove it, or import the session again."
    )


def read_messages(path: Path) -> Iterator[Message]:
    """Yield the messages of a session file one by one, in constant memory.

    Raises:
        DatasetError: a line is damaged or a seq is out of order; names file and line.
    """
    with _opened(path) as stream:
        expected = 0
        for number, line in lines(stream):
            if number == 1 or not line:
                continue
            message = message_from(_parsed(line, path, number), where=f"{path}:{number}")
            if message.seq != expected:
                raise DatasetError(
                    f"seq must be {expected}, got {message.seq} ({path}:{number}). "
                    "Messages are numbered 0, 1, 2 … in file order: mend the line or import again."
                )
            expected += 1
            yield message


def read_session(path: Path) -> Session:
    """Return the session in a file.

    Raises:
        DatasetError: the file is missing, damaged, or holds no message.
    """
    header = read_header(path)
    messages = tuple(read_messages(path))
    if not messages:
        raise DatasetError(
            f"a session must hold at least one message, got none ({path}). "
            "Remove the file, or import the session again."
        )
    licence = {"licence": header.licence} if header.licence else {}
    return Session(
        session_id=header.session_id,
        messages=messages,
        title=header.title,
        language=header.language,
        origin=header.origin,
        meta={**header.meta, **licence},
    )


def load_dataset(paths: Sequence[Path]) -> list[Session]:
    """Return every session of dataset folders (their ``sessions/*.jsonl``) and single files.

    Raises:
        DatasetError: a path is missing, a folder holds no session or a stray file, a file is
            damaged, or two files hold the same session id.
    """
    sessions: list[Session] = []
    found: dict[str, Path] = {}
    for file in session_files(paths):
        session = read_session(file)
        if session.session_id in found:
            raise DatasetError(
                f"session ids must be unique, got {session.session_id!r} twice "
                f"({found[session.session_id]} and {file}). Remove one of the two files."
            )
        found[session.session_id] = file
        sessions.append(session)
    return sessions


def session_files(paths: Sequence[Path]) -> list[Path]:
    """Return the session files that dataset folders and single files name, sorted by name.

    Raises:
        DatasetError: a path is missing, or a folder holds no session or a stray file.
    """
    files: list[Path] = []
    for path in paths:
        files += _folder_files(path) if path.is_dir() else [path]
    return list(dict.fromkeys(files))


def _parsed(line: bytes, path: Path, number: int) -> Any:
    try:
        return parse_json(line)
    except ValueError as error:
        where = f"{path}:{number}: {json_fault(error)}"
        raise DatasetError(
            f"a line must be JSON in UTF-8, got {line[:40]!r} ({where}). Mend or remove the line."
        ) from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        stream = open_utf8(path)
    except OSError as error:
        raise DatasetError(
            f"a session file must be readable, got {path} ({error.strerror or error}). "
            "Check the path."
        ) from None
    with stream:
        yield stream


def _folder_files(folder: Path) -> list[Path]:
    inside = folder / "sessions" if (folder / "sessions").is_dir() else folder
    entries = sorted(entry for entry in inside.iterdir() if not entry.name.startswith("."))
    files = [entry for entry in entries if entry.suffix == ".jsonl" and entry.is_file()]
    stray = [entry for entry in entries if entry not in files]
    if inside is folder:
        files = [file for file in files if file.name != "probes.jsonl"]
    elif stray:
        raise DatasetError(
            f"{inside} must hold session files (*.jsonl) only, got {stray[0].name!r}. "
            "Move it out of the folder."
        )
    if not files:
        raise DatasetError(
            f"a dataset folder must hold sessions/*.jsonl, got none in {folder}. "
            "Import some with `ctxeng import`."
        )
    return files


def _check_seqs(messages: Iterable[Message], path: Path) -> None:
    for expected, message in enumerate(messages):
        if message.seq != expected:
            raise DatasetError(
                f"seq must be {expected}, got {message.seq} ({path}). Number messages 0, 1, 2 …"
            )


def _unwritable(path: Path, error: OSError) -> DatasetError:
    return DatasetError(
        f"{path} must be writable, got {error.strerror or error}. "
        "Choose another folder, or free some space."
    )
