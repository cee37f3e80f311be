"""The work off the request path, one function a task: the worker runs them, and so do replays."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from ctxeng.compaction import CompactionReport, is_made_otherwise
from ctxeng.core.artifacts import ArtifactKind
from ctxeng.core.errors import CompactionFailed, CtxengError, ModelUnavailable
from ctxeng.core.messages import Message
from ctxeng.store import Store
from ctxeng.store.queue import Task
from ctxeng.store.worker import Job, Worker, WorkerOptions
from ctxeng.strategies.wiring import Parts

BATCH = 1000
FORGET_SECONDS = 30.0
SUMMARIES: tuple[ArtifactKind, ...] = ("rolling", "node", "episode")
MEMORY: tuple[ArtifactKind, ...] = ("memory",)
_log = logging.getLogger("ctxeng.worker")


async def count_tokens(store: Store, parts: Parts, conversation_id: str) -> int:
    """Store the token counts of messages that were appended without; return how many."""
    total = 0
    while uncounted := await store.uncounted(conversation_id, limit=BATCH):
        counts = await asyncio.to_thread(_counts, parts, uncounted)  # a counter may ask a server
        await store.set_tokens(conversation_id, counts)
        total += len(counts)
    return total


def _counts(parts: Parts, messages: Sequence[Message]) -> dict[int, int]:
    return {message.seq: parts.counter.count(message.text) for message in messages}


async def index(parts: Parts, conversation_id: str) -> int:
    """Analyse and embed messages that are not indexed yet; return how many."""
    return await parts.indexer.index_due(conversation_id)


async def compact(parts: Parts, conversation_id: str, *, attempt: int = 0) -> CompactionReport:
    """Write the summaries, nodes and episodes that are due."""
    return await parts.compactor.run_due(conversation_id, kinds=SUMMARIES, attempt=attempt)


async def remember(parts: Parts, conversation_id: str, *, attempt: int = 0) -> CompactionReport:
    """Distil the episodes that are due into memory, and embed what other conversations may use."""
    report = await parts.compactor.run_due(conversation_id, kinds=MEMORY, attempt=attempt)
    await _share(parts, conversation_id)
    return report


async def catch_up(parts: Parts, conversation_id: str) -> CompactionReport:
    """Do what ``compact`` and ``remember`` do one after the other, reading the state once."""
    report = await parts.compactor.run_due(conversation_id, kinds=(*SUMMARIES, *MEMORY))
    await _share(parts, conversation_id)
    return report


async def _share(parts: Parts, conversation_id: str) -> None:
    if parts.settings.memory.cross_conversation:
        await parts.memories.index_due(conversation_id)


async def reprocess(
    parts: Parts, conversation_id: str, *, model: str, attempt: int = 0
) -> CompactionReport:
    """Rebuild what another model than ``model`` or an older prompt wrote."""
    return await parts.compactor.reprocess(
        conversation_id,
        lambda a: is_made_otherwise(a.kind, a.model, a.prompt_hash, wanted=model),
        attempt=attempt,
    )


async def outdated(store: Store, *, model: str) -> list[str]:
    """Return the conversations that :func:`reprocess` would change, in order."""
    found = {
        made.conversation_id
        for made in await store.makers()
        if is_made_otherwise(made.kind, made.model, made.prompt_hash, wanted=model)
    }
    return sorted(found)


def open_worker(
    store: Store, parts: Parts, options: WorkerOptions, *, model: str = "offline"
) -> Worker:
    """Return a worker that does every task of one strategy, over the store's database.

    Args:
        model: what summarises now; artifacts of another are out of date.
    """
    tasks: dict[Task, Job] = {
        "tokens": partial(_tokens_job, store, parts),
        "index": partial(_index_job, parts),
        "compact": partial(_compact_job, store, parts),
        "memory": partial(_memory_job, parts),
        "reprocess": partial(_reprocess_job, parts, model),
    }
    return Worker(
        store.dsn,
        {name: partial(_if_there, store, job) for name, job in tasks.items()},
        options,
        revive=store.revive,
    )


async def work(store: Store, worker: Worker) -> None:
    """Run a worker; before, meanwhile and after it the ledger loses the calls of deleted words.

    Raises:
        StoreError: the worker is to run once, and the database cannot be reached.
    """
    await store.forget_calls()
    forgetting = asyncio.create_task(_keep_forgetting(store))
    try:
        if await worker.run():
            await _forget(store)
    finally:
        forgetting.cancel()


async def _keep_forgetting(store: Store) -> None:
    while True:
        await asyncio.sleep(FORGET_SECONDS)
        await _forget(store)


async def _forget(store: Store) -> None:
    try:
        await store.forget_calls()
    except CtxengError as error:
        _log.warning("deleted words stay in the ledger for now: %s", error)


async def _if_there(store: Store, job: Job, conversation_id: str, attempt: int) -> None:
    """Do a job, unless its conversation was deleted while it waited or while it ran."""
    if not await store.has_conversation(conversation_id):
        return
    try:
        await job(conversation_id, attempt)
    except Exception:
        if await store.has_conversation(conversation_id):
            raise


async def _tokens_job(store: Store, parts: Parts, conversation_id: str, attempt: int) -> None:
    await count_tokens(store, parts, conversation_id)


async def _index_job(parts: Parts, conversation_id: str, attempt: int) -> None:
    await index(parts, conversation_id)


async def _compact_job(store: Store, parts: Parts, conversation_id: str, attempt: int) -> None:
    report = await compact(parts, conversation_id, attempt=attempt)
    if await parts.compactor.is_memory_due(conversation_id):
        await store.defer([conversation_id], ["memory"])
    _raise_failures(report)


async def _memory_job(parts: Parts, conversation_id: str, attempt: int) -> None:
    _raise_failures(await remember(parts, conversation_id, attempt=attempt))


async def _reprocess_job(parts: Parts, model: str, conversation_id: str, attempt: int) -> None:
    _raise_failures(await reprocess(parts, conversation_id, model=model, attempt=attempt))


def _raise_failures(report: CompactionReport) -> None:
    """Make a job fail whose work did not come about, so that it is seen and tried again."""
    if report.failures:
        told = ", ".join(f"{failure.kind}: {failure.reason}" for failure in report.failures)
        if all(failure.is_outage for failure in report.failures):
            raise ModelUnavailable(told)
        raise CompactionFailed("due_work_remains", told)
