"""Eight workers, many conversations, kills and a crash of the database: nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxeng.core.artifacts import Artifact
from ctxeng.core.errors import StoreError
from ctxeng.core.messages import Message
from ctxeng.store import Store, embedded
from tests.support import crowd
from tests.support.servers import PlainServer

WORKERS = 8
CONVERSATIONS = 200
SIZES = {f"c{i}": 4 if i % 4 == 0 else 2 for i in range(CONVERSATIONS)}


@pytest.fixture
def own_server(server: Path) -> Iterator[PlainServer]:
    """Start a server of the embedded kind that nobody else uses, so that it may be crashed."""
    binaries = embedded.attach(server).binaries
    embedded.detach(server)
    own = PlainServer(binaries)
    own.start()
    yield own
    own.remove()


async def test_nothing_is_lost_whoever_dies(own_server: PlainServer) -> None:
    """Appends and compactions race; workers are killed and the database crashes in the middle."""
    total = sum(SIZES.values())
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.support.crowd"])

    def begin(role: object, *arguments: object) -> multiprocessing.Process:
        process = processes.Process(target=role, args=(own_server.dsn, *arguments), daemon=True)  # type: ignore[arg-type]
        process.start()
        return process  # type: ignore[return-value]

    store = await Store.open(own_server.dsn, enqueue=True)
    workers = [begin(crowd.work) for _ in range(WORKERS)]
    halves = [dict(list(SIZES.items())[i::2]) for i in range(2)]
    writers = [begin(crowd.append, half) for half in halves]
    await _until(store, appended=total // 4)
    for worker in workers[:3]:
        worker.kill()
    workers = workers[3:] + [begin(crowd.work) for _ in range(3)]
    await _until(store, appended=total // 2)
    own_server.stop(signal.SIGQUIT)
    own_server.start()
    await _until(store, appended=total)
    await _until(store, appended=total, idle=True)
    for process in writers + workers:
        if process in workers:
            process.terminate()
        await asyncio.to_thread(process.join)
    assert [worker.exitcode for worker in workers] == [0] * WORKERS
    assert await store.verify() == []
    for name, size in SIZES.items():
        await _check(store, name, size)
    await store.close()


async def _check(store: Store, name: str, size: int) -> None:
    messages = await store.messages(name)
    assert [m.content for m in messages] == [f"{name}:{i}" for i in range(size)]
    assert await store.uncounted(name) == []
    assert await store.unindexed(name) == []
    by_kind: dict[tuple[str, int], list[Artifact]] = {}
    for artifact in await store.artifacts(name, as_of=size):
        by_kind.setdefault((artifact.kind, artifact.level), []).append(artifact)
    (rolling,) = by_kind["rolling", 0]
    assert _said_in(rolling, messages) == list(range(rolling.to_seq + 1))
    pairs = [[i, i + 1] for i in range(0, size, 2)]
    for kind in (("episode", 0), ("node", 0)):
        assert [[a.from_seq, a.to_seq] for a in by_kind[kind]] == pairs
        assert [_said_in(a, messages) for a in by_kind[kind]] == pairs
    if size == 4:
        assert [(a.from_seq, a.to_seq) for a in by_kind["node", 1]] == [(0, 3)]
        (memory,) = by_kind["memory", 0]
        assert [seq for i in memory.items for seq in i.source_seqs] == list(range(4))


def _said_in(artifact: Artifact, messages: list[Message]) -> list[int]:
    """Return the messages whose words a lossless artifact holds, in the order it holds them."""
    words = artifact.text.replace("user: ", "").split()
    return [[m.content for m in messages].index(word) for word in words]


async def _until(store: Store, *, appended: int, idle: bool = False) -> None:
    """Wait until so many messages are stored and, if told, no job waits or runs."""
    query = (
        "SELECT (SELECT count(*) FROM conversation_messages), "
        "(SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))"
    )
    while True:
        with contextlib.suppress(StoreError):
            row = await store._one(query)
            if row and row[0] >= appended and (not idle or row[1] == 0):
                return
        await asyncio.sleep(0.1)
