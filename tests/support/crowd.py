"""Processes that append to many conversations, and processes that compact them, at the same time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal

import psycopg

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.core.errors import StoreError
from ctxeng.core.messages import Message
from ctxeng.core.protocols import Summary, SummaryTask
from ctxeng.store import Store
from ctxeng.store.worker import WorkerOptions
from ctxeng.strategies import Parts, settings_for, wire
from ctxeng.strategies.jobs import open_worker
from ctxeng.tokens import HeuristicCounter

OPTIONS = WorkerOptions(
    concurrency=2, listen=False, poll_seconds=0.2, heartbeat_seconds=0.4, stalled_seconds=2.0
)


class SlowSummariser(VerbatimSummariser):
    """Loses nothing, and takes a moment, so that others write meanwhile."""

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the input after a moment."""
        await asyncio.sleep(random.random() * 0.01)
        return await super().summarise(task)


def crowd_parts(store: Store) -> Parts:
    """Return every compaction at once, with tiny thresholds."""
    return wire(
        settings_for(
            "hybrid",
            {
                "window": {"tokens": 0, "min_messages": 0},
                "rolling": {"threshold_tokens": 1},
                "episodes": {"size": 2, "overlap": 1},
                "hierarchy": {"chunk_messages": 2, "fan_in": 2, "levels": 3},
                "memory": {"every_episodes": 2},
            },
        ),
        store=store,
        summariser=SlowSummariser(),
        distiller=VerbatimDistiller(),
        embedder=None,
        counter=HeuristicCounter(),
    )


def work(dsn: str) -> None:
    """Be a worker until SIGTERM."""
    logging.disable(logging.CRITICAL)

    async def main() -> None:
        store = await opened(dsn)
        worker = open_worker(store, crowd_parts(store), OPTIONS)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()
        await store.close()

    asyncio.run(main())


def append(dsn: str, sizes: dict[str, int]) -> None:
    """Append so many messages to each conversation, in turns; a lost connection is tried again."""
    logging.disable(logging.CRITICAL)

    async def main() -> None:
        store = await opened(dsn)
        for i in range(max(sizes.values())):
            for name in (n for n, size in sizes.items() if i < size):
                await surely(store, name, f"{name}:{i}")
        await store.close()

    asyncio.run(main())


async def surely(store: Store, name: str, text: str) -> None:
    """Append a message exactly once, as a product does that knows its messages' ids."""
    message = Message(seq=0, role="user", content=text, message_id=text)
    is_unsure = False  # whether it was stored before the connection was lost
    while True:
        try:
            if is_unsure and text in {m.message_id for m in await store.messages(name)}:
                return
            await store.append_many(name, [message])
            return
        except StoreError:
            is_unsure = True
            await asyncio.sleep(0.05)


async def opened(dsn: str) -> Store:
    """Open the store, waiting for a server that is being restarted."""
    while True:
        with contextlib.suppress(StoreError, psycopg.Error):
            return await Store.open(dsn, enqueue=True, max_connections=6)
        await asyncio.sleep(0.1)
