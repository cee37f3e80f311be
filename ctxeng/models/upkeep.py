"""Care of a ledger file: what it holds, what may go, and ledgers of several machines in one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ctxeng.core.errors import InputError
from ctxeng.models.ledger import IS_ANSWER, SCHEMA_VERSION, Ledger, know_answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The calls of one model and role in a ledger.

    Args:
        unanswered: noted as sent, never answered: in flight somewhere, or lost with a killed run.
        cost_usd: of the calls whose price was known when they were made.
        unpriced: answered calls without a known price.
        oldest, newest: seconds since the epoch, of being sent.
        unreadable: damaged answers; a run that needs one makes the call again.
    """

    model: str
    role: str
    answered: int
    unanswered: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int
    oldest: float
    newest: float
    unreadable: int


_HELD = f"""
WITH told AS (SELECT *, CASE WHEN {IS_ANSWER} THEN response END AS answer FROM calls)
SELECT model, role, count(answer), count(*) - count(response),
    coalesce(sum(json_extract(answer, '$.usage.input_tokens')
        + json_extract(answer, '$.usage.cached_tokens')
        + json_extract(answer, '$.usage.cache_write_tokens')), 0),
    coalesce(sum(json_extract(answer, '$.usage.output_tokens')), 0),
    coalesce(sum(json_extract(answer, '$.cost_usd')), 0.0),
    count(answer) - count(json_extract(answer, '$.cost_usd')),
    min(sent_at), max(sent_at), count(response) - count(answer)
FROM told GROUP BY model, role ORDER BY model, role
"""


def held(path: Path) -> list[Held]:
    """Return what a ledger holds, by model and role.

    Raises:
        InputError: there is no ledger at the path, or it is none.
    """
    with _opened(path) as connection:
        return [
            Held(
                model=row[0],
                role=row[1],
                answered=row[2],
                unanswered=row[3],
                input_tokens=row[4],
                output_tokens=row[5],
                cost_usd=row[6],
                unpriced=row[7],
                oldest=row[8],
                newest=row[9],
                unreadable=row[10],
            )
            for row in connection.execute(_HELD)
        ]


def prune(
    path: Path,
    *,
    older_than_days: float | None = None,
    model: str | None = None,
    max_bytes: int | None = None,
    now: float | None = None,
) -> int:
    """Remove calls from a ledger, give the space back, and return how many went.

    Age and model together name what goes at once; a size then takes the oldest calls until what
    is left fits.

    Args:
        now: seconds since the epoch; None: the present.

    Raises:
        InputError: nothing says what may go, or there is no ledger at the path.
    """
    if older_than_days is None and model is None and max_bytes is None:
        raise InputError(
            "prune must be told what may go, got nothing. Give --older-than, --model or --max-mb."
        )
    present = time.time() if now is None else now
    with _opened(path) as connection:
        before = _count(connection)
        if older_than_days is not None or model is not None:
            cut = present - (older_than_days or 0.0) * 86_400
            connection.execute(
                "DELETE FROM calls WHERE sent_at <= ? AND (? IS NULL OR model = ?)",
                (cut, model, model),
            )
        _drop_orphans(connection)
        connection.execute("VACUUM")
        while max_bytes is not None and _bytes(connection) > max_bytes and _count(connection):
            _drop_oldest(connection, share=1 - max_bytes / _bytes(connection))
        return before - _count(connection)


def merge(path: Path, others: list[Path]) -> int:
    """Add the answered calls of other ledgers to one, and return how many it did not have.

    What it has answered already stays as it is; the ledger is made if it does not exist.

    Raises:
        InputError: one of the others is missing, or is no ledger.
    """
    for other in others:
        _checked(other)
    Ledger.open(path).close()
    with _opened(path) as connection:
        before = _answered(connection)
        for other in others:
            connection.execute("ATTACH ? AS other", (f"file:{_quoted(other)}?mode=ro",))
            _same_version(connection, other)
            connection.execute(
                f"INSERT INTO calls SELECT * FROM other.calls AS theirs WHERE {IS_ANSWER} "
                "ON CONFLICT (key) DO UPDATE SET response = excluded.response, "
                "answered_at = excluded.answered_at "
                "WHERE NOT is_answer(CAST(calls.response AS BLOB))"
            )
            if _names_subjects(connection):
                connection.execute(
                    "INSERT OR IGNORE INTO subjects SELECT theirs.* FROM other.subjects AS theirs "
                    "JOIN calls USING (key)"
                )
            connection.execute("DETACH other")
        return _answered(connection) - before


def export(path: Path, target: Path, *, keys: set[str] | None = None) -> int:
    """Write answered calls, all or those of the given keys, to one new file; return how many.

    Raises:
        InputError: there is no ledger at the path, or the target exists.
    """
    _checked(path)
    ledger = Ledger.open(path)
    try:
        return ledger.export(target, keys=keys)
    finally:
        ledger.close()


def _same_version(connection: sqlite3.Connection, other: Path) -> None:
    row = connection.execute(
        "SELECT value FROM other.about WHERE name = 'schema_version'"
    ).fetchone()
    if row is None or row[0] != str(SCHEMA_VERSION):
        got = row[0] if row else "none"
        raise InputError(f"ledger version must be {SCHEMA_VERSION}, got {got} ({other}).")


def _names_subjects(connection: sqlite3.Connection) -> bool:
    """Return whether the other ledger notes whose words a call holds; files from CI may not."""
    return (
        connection.execute("SELECT 1 FROM other.sqlite_master WHERE name = 'subjects'").fetchone()
        is not None
    )


def _drop_orphans(connection: sqlite3.Connection) -> None:
    """Remove what is noted of calls that are gone: subjects, failures, batches that ended."""
    for table in ("subjects", "failed_calls"):
        connection.execute(f"DELETE FROM {table} WHERE key NOT IN (SELECT key FROM calls)")
    connection.execute(
        "DELETE FROM waves WHERE done AND NOT EXISTS (SELECT 1 FROM json_each(waves.keys) "
        "JOIN calls ON calls.key = json_each.value)"
    )


def _drop_oldest(connection: sqlite3.Connection, *, share: float) -> None:
    """Remove at least one call, and about the given share of all, the oldest first."""
    number = max(1, int(_count(connection) * share))
    connection.execute(
        "DELETE FROM calls WHERE key IN (SELECT key FROM calls ORDER BY sent_at, key LIMIT ?)",
        (number,),
    )
    _drop_orphans(connection)
    connection.execute("VACUUM")


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM calls").fetchone()[0])


def _answered(connection: sqlite3.Connection) -> int:
    return int(connection.execute(f"SELECT count(*) FROM calls WHERE {IS_ANSWER}").fetchone()[0])


def _bytes(connection: sqlite3.Connection) -> int:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    return int(pages) * int(connection.execute("PRAGMA page_size").fetchone()[0])


def _checked(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"ledger must be an existing file, got {path}. Check the path.")


def _quoted(path: Path) -> str:
    return path.resolve().as_uri().removeprefix("file://")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection of its own to a ledger whose version is known."""
    _checked(path)
    Ledger.open(path).close()
    connection = sqlite3.connect(
        f"file:{_quoted(path)}", uri=True, timeout=60, isolation_level=None
    )
    know_answers(connection)
    try:
        yield connection
    except sqlite3.Error as error:
        raise InputError(f"ledger must be a readable ledger file, got {path} ({error}).") from None
    finally:
        connection.close()
