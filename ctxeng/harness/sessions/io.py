"""Canonical sessions on disk: JSON Lines, a header record first, then one message a line."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import ROLES, Message, Session
from ctxeng.harness.sessions.text import (
    clean_json,
    json_fault,
    lines,
    needs_cleaning,
    open_utf8,
    parse_json,
)

SCHEMA = "ctxeng.session/1"
_UNSAFE = re.compile(r"[^A-Za-z0-9._~-]")
_HEADER_KEYS = frozenset(
    {"schema", "session_id", "title", "language", "origin", "licence", "speakers", "meta"}
)
_MESSAGE_KEYS = frozenset(
    {"seq", "role", "content", "speaker", "timestamp", "message_id", "blocks", "meta"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first record of a session file."""

    session_id: str
    title: str = ""
    language: str = "und"
    origin: str = ""
    licence: str = ""
    speakers: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the JSON object that stands in the file."""
        record: dict[str, Any] = {
            "schema": SCHEMA,
            "session_id": self.session_id,
            "title": self.title,
            "language": self.language,
            "origin": self.origin,
            "licence": self.licence,
            "speakers": list(self.speakers),
        }
        return record | ({"meta": dict(self.meta)} if self.meta else {})


def header_of(session: Session) -> Header:
    """Return the header of a session; its licence is kept as ``meta["licence"]`` in memory."""
    return Header(
        session_id=session.session_id,
        title=session.title,
        language=session.language,
        origin=session.origin,
        licence=str(session.meta.get("licence", "")),
        speakers=session.speakers,
        meta={key: value for key, value in session.meta.items() if key != "licence"},
    )


def message_record(message: Message) -> dict[str, Any]:
    """Return a message as the JSON object that stands in the file; empty fields are left out."""
    record: dict[str, Any] = {
        "seq": message.seq,
        "role": message.role,
        "content": message.content,
    }
    optional = {
        "speaker": message.speaker,
        "timestamp": message.timestamp.isoformat() if message.timestamp else None,
        "message_id": message.message_id,
        "blocks": [dict(block) for block in message.blocks] or None,
        "meta": dict(message.meta) or None,
    }
    return record | {key: value for key, value in optional.items() if value is not None}


def encode(record: Mapping[str, Any]) -> bytes:
    """Return a record as one line of JSON without its line end, clean.

    What a database or JSON in UTF-8 cannot hold (NUL, lone surrogates, giant integers, endless
    nesting) is cleaned.
    """
    try:
        data = orjson.dumps(record)
        if not needs_cleaning(data):
            return data
    except TypeError:
        pass
    return orjson.dumps(clean_json(dict(record)))


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
    if safe == session_id:
        return f"{safe}.jsonl"
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{safe}+{digest[:8]}.jsonl"


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
            return _header(_parsed(line, path, number), path)
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


def message_from(record: Any, *, where: str) -> Message:
    """Return the message a record describes.

    Raises:
        DatasetError: a field is missing or of the wrong kind.
    """
    if not isinstance(record, dict):
        raise _fault("a message", "a JSON object", record, where)
    unknown = record.keys() - _MESSAGE_KEYS
    if unknown:
        raise _fault("a message's keys", f"among {sorted(_MESSAGE_KEYS)}", sorted(unknown), where)
    seq, role, content = record.get("seq"), record.get("role"), record.get("content")
    if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
        raise _fault("seq", "an integer, 0 or more", seq, where)
    if role not in ROLES:
        raise _fault("role", f"one of {', '.join(ROLES)}", role, where)
    if not isinstance(content, str):
        raise _fault("content", "text", content, where)
    return Message(
        seq=seq,
        role=role,
        content=content,
        speaker=_optional_text(record, "speaker", where),
        timestamp=_timestamp(record.get("timestamp"), where),
        message_id=_optional_text(record, "message_id", where),
        blocks=_blocks(record.get("blocks"), where),
        meta=_mapping(record, "meta", where),
    )


def parse_timestamp(value: object) -> datetime | None:
    """Return an ISO timestamp as an aware datetime (UTC where no zone is given), else None."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _timestamp(value: Any, where: str) -> datetime | None:
    if value is None:
        return None
    moment = parse_timestamp(value)
    if moment is None:
        raise _fault("timestamp", "an ISO 8601 date and time", value, where)
    return moment


def _blocks(value: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(block, dict) for block in value):
        raise _fault("blocks", "a list of objects", value, where)
    return tuple(value)


def _optional_text(record: Mapping[str, Any], key: str, where: str) -> str | None:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise _fault(key, "text", value, where)
    return value


def _mapping(record: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    value = record.get(key, {})
    if not isinstance(value, dict):
        raise _fault(key, "an object", value, where)
    return value


def _header(record: Any, path: Path) -> Header:
    where = f"{path}:1"
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        schema = record.get("schema") if isinstance(record, dict) else record
        raise _fault("schema", repr(SCHEMA), schema, where, "Import the file with `ctxeng import`.")
    unknown = record.keys() - _HEADER_KEYS
    if unknown:
        raise _fault("a header's keys", f"among {sorted(_HEADER_KEYS)}", sorted(unknown), where)
    session_id = record.get("session_id")
    if not isinstance(session_id, str) or not session_id:
        raise _fault("session_id", "text that is not empty", session_id, where)
    speakers = record.get("speakers", [])
    if not isinstance(speakers, list) or not all(isinstance(name, str) for name in speakers):
        raise _fault("speakers", "a list of names", speakers, where)
    texts = {
        key: _optional_text(record, key, where)
        for key in ("title", "language", "origin", "licence")
    }
    return Header(
        session_id=session_id,
        speakers=tuple(speakers),
        meta=_mapping(record, "meta", where),
        **{key: value for key, value in texts.items() if value is not None},
    )


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


def _fault(name: str, rule: str, value: Any, where: str, remedy: str = "") -> DatasetError:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "…"
    return DatasetError(
        f"{name} must be {rule}, got {shown} ({where}). {remedy or 'Mend or remove the line.'}"
    )


def _unwritable(path: Path, error: OSError) -> DatasetError:
    return DatasetError(
        f"{path} must be writable, got {error.strerror or error}. "
        "Choose another folder, or free some space."
    )
