"""The ledger: every answered call once, by content address, in one SQLite file.

A call is noted before it is sent and again when it is answered, so that a killed run knows what
was in flight. Rows hold hashes, answers, usage, latency and cost; never keys, headers or requests.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tenacity

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage, is_token_count
from ctxeng.core.errors import InputError, ModelError

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    role TEXT NOT NULL,
    prompt_id TEXT NOT NULL,
    replicate INTEGER NOT NULL,
    sent_at REAL NOT NULL,
    answered_at REAL,
    attempts INTEGER NOT NULL DEFAULT 1,
    response TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failed_calls (
    key TEXT NOT NULL,
    failed_at REAL NOT NULL,
    error TEXT NOT NULL,
    usage TEXT,
    cost_usd REAL
);
CREATE TABLE IF NOT EXISTS waves (
    wave TEXT PRIMARY KEY,
    sent_at REAL NOT NULL,
    batch_id TEXT,
    keys TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS subjects (
    subject TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (subject, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""

IS_ANSWER = "is_answer(CAST(response AS BLOB))"  # bytes: the text may be no UTF-8
_BUSY_SECONDS = 60
LATE_SECONDS = 30  # what was looked at before a deletion may be sent for so long after it


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """Calls that were sent together as one batch.

    Args:
        sent_at: seconds since the epoch, noted before sending.
        batch_id: the provider's; None until its answer was noted.
        keys: content addresses of the calls, which are the batch's custom ids.
    """

    name: str
    sent_at: float
    keys: tuple[str, ...]
    batch_id: str | None = None


class Ledger:
    """Open with :meth:`open`; safe between threads and processes."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.path = path

    @classmethod
    def open(cls, path: Path | None) -> Ledger:
        """Open or make a ledger file; None keeps it in memory.

        Raises:
            InputError: the file cannot be opened, or is no ledger of a version we know.
        """
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                str(path) if path is not None else ":memory:",
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            know_answers(connection)
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")  # deleted words leave the file as well
            connection.executescript(_SCHEMA)
            connection.execute(
                "INSERT OR IGNORE INTO about VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),)
            )
            row = connection.execute(
                "SELECT value FROM about WHERE name = 'schema_version'"
            ).fetchone()
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"ledger must be a writable SQLite file, got {path} ({error})."
            ) from None
        if row[0] != str(SCHEMA_VERSION):
            raise InputError(f"ledger schema must be {SCHEMA_VERSION}, got {row[0]} ({path}).")
        return cls(connection, path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def find(self, key: str) -> ModelResponse | None:
        """Return the stored answer to a call, None when there is none that can be read."""
        with self._lock:
            row = self._connection.execute(
                "SELECT CAST(response AS BLOB) FROM calls WHERE key = ? AND response IS NOT NULL",
                (key,),
            ).fetchone()
        return _unpacked(row[0], key) if row else None

    def sending(self, key: str, request: ModelRequest) -> None:
        """Note that a call is about to be made."""
        with self._lock:
            self._connection.execute(
                "INSERT INTO calls (key, model, role, prompt_id, replicate, sent_at) "
                "VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE "
                "SET attempts = attempts + 1, sent_at = excluded.sent_at",
                (
                    key,
                    request.model,
                    request.role,
                    request.prompt_id,
                    request.replicate,
                    time.time(),
                ),
            )

    def answered(self, key: str, response: ModelResponse, *, replaces: bool = False) -> None:
        """Store the answer; one that can be read already stays, unless this ``replaces`` it."""
        with self._lock:
            self._connection.execute(
                "UPDATE calls SET response = ?, answered_at = ? "
                f"WHERE key = ? AND (NOT {IS_ANSWER} OR ?)",
                (_packed(response), time.time(), key, replaces),
            )

    def failed(self, key: str, error: ModelError) -> None:
        """Note that a call gave no answer, and what its tries were billed for all the same."""
        usage = json.dumps(asdict(error.usage)) if error.usage is not None else None
        with self._lock:
            self._connection.execute(
                "INSERT INTO failed_calls VALUES (?, ?, ?, ?, ?)",
                (key, time.time(), type(error).__name__, usage, error.cost_usd),
            )

    def wave_opened(self, wave: Wave) -> None:
        """Note that a batch of calls is about to be sent."""
        with self._lock:
            self._connection.execute(
                "INSERT INTO waves (wave, sent_at, batch_id, keys) VALUES (?, ?, ?, ?)",
                (wave.name, wave.sent_at, wave.batch_id, json.dumps(wave.keys)),
            )

    def wave_sent(self, name: str, batch_id: str) -> None:
        """Note the provider's id of a batch."""
        with self._lock:
            self._connection.execute(
                "UPDATE waves SET batch_id = ? WHERE wave = ?", (batch_id, name)
            )

    def wave_done(self, name: str) -> None:
        """Note that nothing more is to be had from a batch."""
        with self._lock:
            self._connection.execute("UPDATE waves SET done = 1 WHERE wave = ?", (name,))

    def batch_ids(self) -> frozenset[str]:
        """Return the id of every batch that was ever sent from here."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT batch_id FROM waves WHERE batch_id IS NOT NULL"
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def open_waves(self) -> list[Wave]:
        """Return the batches with calls that were not answered since, oldest first.

        A batch whose calls have all been answered is noted as done.
        """
        with self._lock:
            rows = self._connection.execute(
                "SELECT wave, sent_at, batch_id, keys, (SELECT count(*) FROM json_each(keys) "
                "  JOIN calls ON calls.key = json_each.value "
                f"  WHERE answered_at >= waves.sent_at AND {IS_ANSWER}) "
                "FROM waves WHERE NOT done ORDER BY sent_at"
            ).fetchall()
        waves = [
            (Wave(name=name, sent_at=at, batch_id=batch, keys=tuple(json.loads(keys))), answered)
            for name, at, batch, keys, answered in rows
        ]
        for wave, answered in waves:
            if answered == len(wave.keys):
                self.wave_done(wave.name)
        return [wave for wave, answered in waves if answered < len(wave.keys)]

    def forget(self, keys: list[str]) -> int:
        """Remove calls by key; return how many were there."""
        with self._lock, self._transaction():
            before = self._connection.total_changes
            self._connection.executemany("DELETE FROM calls WHERE key = ?", [(k,) for k in keys])
            removed = self._connection.total_changes - before
            self._connection.executemany("DELETE FROM subjects WHERE key = ?", [(k,) for k in keys])
        return removed

    def concerns(self, key: str, subject: str) -> None:
        """Note that a call holds the words of a subject (a conversation)."""
        with self._lock:
            self._connection.execute(
                "INSERT OR IGNORE INTO subjects (subject, key) VALUES (?, ?)", (subject, key)
            )

    def forget_subjects(self, subjects: list[str]) -> int:
        """Remove every call that holds the words of the subjects; return how many there were."""
        return self.forget_deleted(dict.fromkeys(map(_hashed, subjects), math.inf))

    def forget_deleted(self, deleted: Mapping[str, float]) -> int:
        """Remove the calls that hold words of deleted subjects; return how many there were.

        Args:
            deleted: sha256 of a subject, and when words of it were deleted last (epoch seconds).
                Calls sent up to :data:`LATE_SECONDS` after that may hold them.
        """
        keys = self.holding(deleted, late_seconds=LATE_SECONDS)
        removed = self.forget(keys) if keys else 0
        if keys:
            with self._lock:  # the write-ahead log still holds what the file no longer does
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    def holding(self, deleted: Mapping[str, float], *, late_seconds: float = 0) -> list[str]:
        """Return the keys of calls about deleted subjects that were sent before the deletion."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT subject, key, sent_at FROM subjects JOIN calls USING (key)"
            ).fetchall()
        until = {name: at + late_seconds for name, at in deleted.items()}
        return sorted({k for name, k, at in rows if at <= until.get(_hashed(name), -math.inf)})

    def answers(self) -> Iterator[tuple[str, str]]:
        """Yield the key and the stored answer (as JSON, if undamaged) of every answered call."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT key, CAST(response AS BLOB) FROM calls "
                "WHERE response IS NOT NULL ORDER BY key"
            ).fetchall()
        yield from ((key, stored.decode("utf-8", "replace")) for key, stored in rows)

    def counts(self) -> dict[str, int]:
        """Return the number of answered calls and of calls that were sent and never answered."""
        with self._lock:
            row = self._connection.execute(
                f"SELECT count(*) FILTER (WHERE {IS_ANSWER}), "
                "count(*) FILTER (WHERE response IS NULL) FROM calls"
            ).fetchone()
        return {"answered": int(row[0]), "unanswered": int(row[1])}

    def export(self, path: Path, *, keys: set[str] | None = None) -> int:
        """Write answered calls (all, or the given keys) to a new single file; return how many.

        Raises:
            InputError: the target exists.
        """
        if path.exists():
            raise InputError(f"export file must be new, got {path}. Remove it first.")
        with self._lock:
            rows = self._connection.execute(
                f"SELECT * FROM calls WHERE {IS_ANSWER} ORDER BY key"
            ).fetchall()
            concerns = self._connection.execute("SELECT subject, key FROM subjects").fetchall()
        kept = [row for row in rows if keys is None or row[0] in keys]
        target = Ledger.open(path)
        written = {row[0] for row in kept}
        with target._transaction():
            marks = ", ".join("?" * len(kept[0])) if kept else ""
            if kept:
                target._connection.executemany(f"INSERT INTO calls VALUES ({marks})", kept)
            target._connection.executemany(
                "INSERT INTO subjects VALUES (?, ?)", [c for c in concerns if c[1] in written]
            )
        target._connection.execute("PRAGMA journal_mode=DELETE")
        target.close()
        return len(kept)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def _hashed(subject: str) -> str:
    return hashlib.sha256(subject.encode("utf-8", "replace")).hexdigest()


def _busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == (
        sqlite3.SQLITE_BUSY
    )


@tenacity.retry(
    retry=tenacity.retry_if_exception(_busy),
    wait=tenacity.wait_random_exponential(multiplier=0.005, max=0.5),
    stop=tenacity.stop_after_delay(_BUSY_SECONDS),
    reraise=True,
)
def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on; SQLite's own timeout does not cover two who do it at once."""
    connection.execute("PRAGMA journal_mode=WAL")


def _packed(response: ModelResponse) -> str:
    body = asdict(response)
    body.pop("key")
    body.pop("from_ledger")
    return json.dumps(body)


def _unpacked(stored: bytes, key: str) -> ModelResponse | None:
    """Return a stored answer; None where a disk, another hand or an old version left none."""
    try:
        body: dict[str, Any] = json.loads(stored)
        usage = Usage(**body.pop("usage"))
        response = ModelResponse(**body, usage=usage, key=key, from_ledger=True)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return response if _can_be(response) else None


def _can_be(response: ModelResponse) -> bool:
    """Return whether every field holds what its type says: a file may hold anything."""
    words = (response.text, response.stop_reason, response.model)
    amounts = (response.latency_seconds, response.cost_usd or 0.0)
    return (
        all(isinstance(word, str) for word in words)
        and isinstance(response.tool_input, dict | None)
        and all(map(is_token_count, asdict(response.usage).values()))
        and all(isinstance(a, int | float) and 0 <= a < math.inf for a in amounts)
    )


def know_answers(connection: sqlite3.Connection) -> None:
    """Let a connection tell what can be read as an answer: what :data:`IS_ANSWER` needs."""
    connection.create_function(
        "is_answer", 1, lambda stored: stored is not None and _unpacked(stored, "") is not None
    )
