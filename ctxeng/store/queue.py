"""Jobs wait in the database they are about, in the tables of procrastinate (the only door to it).

A message and its jobs are saved in one transaction, so that no message is without them. Jobs of one
conversation take turns (``lock``); of each task at most one waits for each conversation
(``queueing_lock``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import psycopg
from psycopg.types.json import Jsonb

from ctxeng.store.messages import Connection
from ctxeng.store.migrations import LOCK

Task = Literal["tokens", "index", "compact", "memory", "reprocess"]
ON_WRITE: tuple[Task, ...] = ("tokens", "index", "compact")
QUEUE = "ctxeng"
MOST_BEHIND = 50  # priorities that a job falls behind fresh ones: never behind reprocessing
_PRIORITY = {"reprocess": -100}

# A job that waits already is locked until this transaction ends: no worker can begin it before it
# sees what is being written here.
_ENQUEUE = """
    INSERT INTO procrastinate_jobs
        (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
    SELECT %(queue)s, task.name, task.priority - %(attempt)s, %(lock)s,
           task.name || ':' || %(lock)s, %(args)s, now() + make_interval(secs => %(delay)s)
    FROM unnest(%(tasks)s::text[], %(priorities)s::integer[]) AS task (name, priority)
    ON CONFLICT (queueing_lock) WHERE status = 'todo'
    DO UPDATE SET queue_name = EXCLUDED.queue_name
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How many jobs of a task wait, run and have failed.

    ``again``: of those that wait, how many have failed before. ``failed``: given up within a week,
    and none like it has succeeded since: the work was not done.

    ``oldest_wait_seconds``: how long the first job that may run has been waiting; None: none is.
    """

    task: str
    waiting: int
    again: int
    running: int
    failed: int
    oldest_wait_seconds: float | None


async def ensure_schema(connection: psycopg.AsyncConnection[Any]) -> None:
    """Make the queue's tables, or bring those of an older procrastinate up to date."""
    from procrastinate.schema import SchemaManager

    folder = files("procrastinate.sql") / "migrations"
    steps = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        cursor = await connection.execute(
            "SELECT to_regclass('procrastinate_jobs') IS NOT NULL, "
            "(SELECT value FROM settings WHERE name = 'queue_schema')"
        )
        row = await cursor.fetchone()
        exists, applied = row if row else (False, None)
        if exists and applied == steps[-1]:
            return
        if not exists:
            await connection.execute(SchemaManager.get_schema().encode())
            await connection.execute(
                "CREATE INDEX ctxeng_failed_jobs ON procrastinate_jobs (lock) "
                "WHERE status = 'failed'"
            )
        missing = [step for step in steps if exists and applied and step > applied]
        for step in missing:
            await connection.execute((folder / step).read_text("utf-8").encode())
        await connection.execute(
            "INSERT INTO settings (name, value) VALUES ('queue_schema', %s) "
            "ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value",
            (steps[-1],),
        )


async def has_schema(connection: Connection) -> bool:
    """Return whether jobs can wait in this database."""
    cursor = await connection.execute("SELECT to_regclass('procrastinate_jobs') IS NOT NULL")
    row = await cursor.fetchone()
    return bool(row and row[0])


async def enqueue(
    connection: Connection,
    conversation_id: str,
    tasks: Sequence[Task],
    *,
    attempt: int = 0,
    outages: int = 0,
    delay_seconds: float = 0,
) -> None:
    """Let tasks wait for a conversation, those that wait already excepted.

    Args:
        attempt: how often they have failed before. outages: how often the model was out of reach.
    """
    await connection.execute(
        _ENQUEUE,
        {
            "queue": QUEUE,
            "tasks": list(tasks),
            "priorities": [_PRIORITY.get(task, 0) for task in tasks],
            "attempt": min(attempt + outages, MOST_BEHIND),
            "delay": delay_seconds,
            "lock": lock_of(conversation_id),
            "args": Jsonb(
                {"conversation_id": conversation_id, "attempt": attempt, "outages": outages}
            ),
        },
    )


async def drop(connection: Connection, conversation_ids: Sequence[str]) -> None:
    """Remove the jobs of conversations that are gone."""
    await connection.execute(
        "DELETE FROM procrastinate_jobs WHERE lock = ANY(%s) AND status <> 'doing'",
        ([lock_of(name) for name in conversation_ids],),
    )


async def backlog(connection: Connection) -> list[Backlog]:
    """Return what waits, by task; empty where nothing was ever enqueued."""
    if not await has_schema(connection):
        return []
    cursor = await connection.execute(
        "SELECT task_name, count(*) FILTER (WHERE status = 'todo'), "
        "count(*) FILTER (WHERE status = 'todo' "
        "AND (args->>'attempt' <> '0' OR args->>'outages' <> '0')), "
        "count(*) FILTER (WHERE status = 'doing'), count(*) FILTER (WHERE status = 'failed'), "
        "extract(epoch FROM now() - min(scheduled_at) "
        "FILTER (WHERE status = 'todo' AND scheduled_at <= now()))::float "
        "FROM procrastinate_jobs WHERE queue_name = %s GROUP BY task_name ORDER BY task_name",
        (QUEUE,),
    )
    return [
        Backlog(task=row[0], waiting=row[1], again=row[2], running=row[3], failed=row[4],
                oldest_wait_seconds=row[5])
        for row in await cursor.fetchall()
    ]  # fmt: skip


async def live_workers(connection: Connection, *, stalled_seconds: float = 30.0) -> int:
    """Return how many workers have been heard of lately."""
    if not await has_schema(connection):
        return 0
    cursor = await connection.execute(
        "SELECT count(*) FROM procrastinate_workers "
        "WHERE last_heartbeat >= now() - make_interval(secs => %s)",
        (stalled_seconds,),
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


def lock_of(conversation_id: str) -> str:
    """Return a conversation's name in the queue: short, whatever the id is."""
    return hashlib.sha256(conversation_id.encode("utf-8", "replace")).hexdigest()[:32]
