"""Empty databases, and the removal of what a workspace left outside it when run as root."""

from __future__ import annotations

import shutil
from pathlib import Path

from ctxeng.store import Store


def remove_database(workspace: Path) -> None:
    """Remove the database of a workspace that no process uses any more."""
    note = workspace / ".ctxeng" / "database-location.txt"
    if note.is_file():
        shutil.rmtree(note.read_text("utf-8").strip(), ignore_errors=True)


async def empty(store: Store) -> None:
    """Remove everything that is stored, jobs and the record of deletions included."""
    async with store._pool.connection() as connection:
        await connection.execute("TRUNCATE conversations CASCADE")
        await connection.execute("TRUNCATE user_memories, deletions CASCADE")
        await connection.execute(
            "DO $$ BEGIN IF to_regclass('procrastinate_jobs') IS NOT NULL THEN "
            "TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE; END IF; END $$"
        )
