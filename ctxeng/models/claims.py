"""Claims: of two processes that want the same call at once, one makes it and the other waits."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

POLL_SECONDS = 0.1
_open: dict[Path, int] = {}  # never closed: closing a file gives up all its locks


@asynccontextmanager
async def claimed(ledger: Path | None, key: str) -> AsyncIterator[None]:
    """Hold a call of a ledger against other processes, waiting while one of them holds it.

    A claim is a lock on one byte of a file beside the ledger, so that it ends with its process,
    however that ends. Within a process it holds nobody back. A ledger in memory has no rivals;
    Windows has no such locks, and two processes there may both make a call.

    Args:
        key: content address of the call, in hexadecimal.
    """
    if ledger is None or sys.platform == "win32":
        yield
        return
    import fcntl

    file, place = _file(ledger), int(key[:15], 16)
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            break
        except BlockingIOError:
            await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def _file(ledger: Path) -> int:
    path = ledger.with_name(f"{ledger.name}-claims").absolute()
    known = _open.get(path)
    if known is None or not os.fstat(known).st_nlink:  # the file was removed meanwhile
        known = _open[path] = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    return known
