"""Canonical records: header and messages of a session as the JSON that stands in a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import ROLES, Message, Session
from ctxeng.harness.sessions.text import clean_json, needs_cleaning

SCHEMA = "ctxeng.session/1"
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


def header_from(record: Any, *, where: str) -> Header:
    """Return the header a record describes.

    Raises:
        DatasetError: it is no header, or a field is of the wrong kind.
    """
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


def _fault(name: str, rule: str, value: Any, where: str, remedy: str = "") -> DatasetError:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "…"
    return DatasetError(
        f"{name} must be {rule}, got {shown} ({where}). {remedy or 'Mend or remove the line.'}"
    )
