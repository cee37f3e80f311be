"""A worker does the jobs that wait in the queue, again where they fail, until told to stop.

A job that fails waits again, behind fresh ones, a little longer each time: a few times where trying
again costs money, for a day while the model cannot be reached. A job that is given up stays on
record as failed until one like it succeeds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg

from ctxeng.core.errors import InputError, LimitReached, ModelUnavailable, StoreError
from ctxeng.core.text import printable
from ctxeng.store.queue import QUEUE, Task, enqueue, lock_of

if TYPE_CHECKING:
    import procrastinate.worker

Job = Callable[[str, int], Awaitable[None]]  # conversation id, how often it has failed before

MAX_ATTEMPTS = 8
MAX_OUTAGES = 300  # tries that reached no model and cost nothing: at 300 s each, a day
LONGEST_WAIT_SECONDS = 300
AGAIN_SECONDS = 1.0
PROBE_SECONDS = 3
KEPT_HOURS = 24 * 7
_log = logging.getLogger("ctxeng.worker")

# Jobs that nobody is at wait again; one that has a successor waiting already is dropped. Their
# workers have died, or it is this one and its word that it began or ended them was lost on the way.
_DEAD = """
    WITH dead AS (
        SELECT job.id FROM procrastinate_jobs job
        LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
        WHERE job.status = 'doing' AND job.queue_name = %(queue)s
        AND (worker.id IS NULL
             OR worker.last_heartbeat < now() - make_interval(secs => %(stalled)s)
             OR (worker.id = %(mine)s AND job.id <> ALL(%(at_work)s::bigint[]) AND NOT EXISTS (
                     SELECT 1 FROM procrastinate_events event
                     WHERE event.job_id = job.id AND event.type = 'started'
                     AND event.at >= now() - make_interval(secs => %(stalled)s))))
        FOR UPDATE OF job SKIP LOCKED
    )
"""
_DROP_DEAD = f"""{_DEAD}
    DELETE FROM procrastinate_jobs job USING dead WHERE job.id = dead.id AND EXISTS (
        SELECT 1 FROM procrastinate_jobs next
        WHERE next.queueing_lock = job.queueing_lock AND next.status = 'todo')
"""
_REVIVE_DEAD = f"""{_DEAD}
    UPDATE procrastinate_jobs job
    SET status = 'todo', worker_id = NULL, attempts = attempts + 1, scheduled_at = NULL
    FROM dead WHERE job.id = dead.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How a worker works.

    Args:
        concurrency: conversations in work at once.
        once: stop when nothing is left to do, instead of waiting for more.
        poll_seconds: the longest wait until a job is seen whose notice was lost.
        listen: hear of new jobs at once; a pooler between us and the server may not allow it.
        heartbeat_seconds, stalled_seconds: a worker that has not been heard of for so long is
            dead, and its jobs are taken over.
    """

    concurrency: int = 1
    once: bool = False
    listen: bool = True
    poll_seconds: float = 5.0
    heartbeat_seconds: float = 5.0
    stalled_seconds: float = 30.0


class Worker:
    """Runs jobs until it is told to stop; survives a restart of the database.

    Args:
        revive: called when the database does not answer, to start it where it is ours to start.
    """

    def __init__(
        self,
        dsn: str,
        jobs: Mapping[Task, Job],
        options: WorkerOptions,
        *,
        revive: Callable[[], Awaitable[None]],
    ) -> None:
        from procrastinate import App, PsycopgConnector

        self._dsn = dsn
        self._options = options
        self._revive = revive
        self._is_lost = False
        self._stop = asyncio.Event()
        self._at_work: set[int] = set()
        self._connector = PsycopgConnector(
            conninfo=dsn, min_size=1, max_size=options.concurrency + 3, timeout=30
        )
        self._app = App(connector=self._connector)
        for name, job in jobs.items():
            self._app.task(name=name, queue=QUEUE, pass_context=True)(self._guarded(name, job))

    def stop(self) -> None:
        """Let running jobs end, then leave."""
        self._stop.set()

    async def run(self) -> bool:
        """Work until nothing is left (``once``) or :meth:`stop` is called.

        Returns:
            False: the database was away when the worker was told to stop.

        Raises:
            StoreError: ``once``, and the database cannot be reached.
        """
        from procrastinate.exceptions import ConnectorException

        wait_seconds = 0.2
        while not self._stop.is_set():
            try:
                async with await self._probe() as connection, self._app.open_async():
                    self._is_lost = False
                    wait_seconds = 0.2
                    if await self._serve(connection):
                        return not self._is_lost
            except (ConnectorException, psycopg.Error) as error:
                if self._options.once:
                    raise StoreError(f"database must be reachable, got: {error}.") from error
                _log.warning("the database does not answer, trying again: %s", error)
                if not self._is_lost:
                    await self._bring_back()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), wait_seconds)
            wait_seconds = min(wait_seconds * 2, 5.0)
        return False

    async def _probe(self) -> psycopg.AsyncConnection[Any]:
        """Connect once: a pool would go on trying for half a minute, deaf to :meth:`stop`."""
        return await psycopg.AsyncConnection.connect(
            self._dsn, autocommit=True, connect_timeout=PROBE_SECONDS
        )

    async def _watch(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Wait for the end of a connection; bring the database back at once, jobs wait for it."""
        try:
            async for _ in connection.notifies():
                pass
        except psycopg.Error:
            self._is_lost = True
            await self._bring_back()
            raise

    async def _bring_back(self) -> None:
        try:
            await self._revive()
        except StoreError as error:
            _log.warning("the database does not come back: %s", error)

    async def _serve(self, connection: psycopg.AsyncConnection[Any]) -> bool:
        """Run jobs; return whether the work is done, False when the connection was lost."""
        worker = self._procrastinator()
        await self._revive_dead(None)
        working = asyncio.create_task(worker.run())  # type: ignore[no-untyped-call] # procrastinate's
        stopping = asyncio.create_task(self._stop.wait())
        caring = asyncio.create_task(self._care(worker))
        watching = asyncio.create_task(self._watch(connection))
        tasks = {working, stopping, caring, watching}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._end(tasks)
        for task in (watching, working, caring):
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
        return self._stop.is_set() or (self._options.once and not await self._is_anything_due())

    async def _end(self, tasks: set[asyncio.Task[Any]]) -> None:
        """Cancel tasks until all have ended; once only as long as a job runs, which may end.

        A job that is to stop and has lost the database may not: another worker takes it over.

        Once is not enough: Python 3.11's ``wait_for``, on which psycopg waits, can lose it.
        """
        pending = tasks
        is_first = True
        while pending:
            if is_first or not self._at_work or (self._is_lost and self._stop.is_set()):
                for task in pending:
                    task.cancel()
            is_first = False
            _, pending = await asyncio.wait(pending, timeout=AGAIN_SECONDS)

    def _procrastinator(self) -> procrastinate.worker.Worker:
        from procrastinate.worker import Worker as Procrastinator

        options = self._options
        return Procrastinator(
            self._app,
            queues=[QUEUE],
            concurrency=options.concurrency,
            wait=not options.once,
            listen_notify=options.listen,
            fetch_job_polling_interval=options.poll_seconds,
            update_heartbeat_interval=options.heartbeat_seconds,
            stalled_worker_timeout=options.stalled_seconds,
            delete_jobs="successful",
            install_signal_handlers=False,
        )

    async def _care(self, worker: procrastinate.worker.Worker) -> None:
        """Take over the jobs nobody is at, and forget jobs that ended long ago."""
        while True:
            await asyncio.sleep(max(self._options.stalled_seconds / 2, 0.1))
            await self._revive_dead(worker.worker_id)
            await self._app.job_manager.delete_old_jobs(
                nb_hours=KEPT_HOURS, queue=QUEUE, include_failed=True
            )

    async def _revive_dead(self, mine: int | None) -> None:
        arguments: dict[str, Any] = {
            "queue": QUEUE,
            "stalled": self._options.stalled_seconds,
            "mine": mine,
            "at_work": sorted(self._at_work),
        }
        for statement in (_DROP_DEAD, _REVIVE_DEAD):
            with contextlib.suppress(_taken()):  # somebody enqueued a successor just now
                await self._connector.execute_query_async(statement, **arguments)

    async def _is_anything_due(self) -> bool:
        row = await self._connector.execute_query_one_async(
            "SELECT count(*) AS due FROM procrastinate_jobs WHERE queue_name = %(queue)s "
            "AND status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())",
            queue=QUEUE,
        )
        return bool(row["due"])

    def _guarded(self, name: Task, job: Job) -> Callable[..., Awaitable[None]]:
        async def run(
            context: procrastinate.JobContext,
            conversation_id: str,
            attempt: int = 0,
            outages: int = 0,
        ) -> None:
            self._at_work.add(context.job.id or 0)
            try:
                await job(conversation_id, attempt)
                await self._recovered(name, conversation_id)
            except Exception as error:
                following = _following(error, attempt, outages)
                if following is None:
                    raise
                await self._again(name, conversation_id, following, error)
            finally:
                self._at_work.discard(context.job.id or 0)

        return run

    async def _recovered(self, name: Task, conversation_id: str) -> None:
        """Take what was given up before off the record: the work has been done."""
        with contextlib.suppress(psycopg.Error):  # the work is done, whatever is on record
            await self._connector.execute_query_async(
                "DELETE FROM procrastinate_jobs WHERE lock = %(lock)s AND status = 'failed' "
                "AND task_name = %(task)s AND queue_name = %(queue)s",
                lock=lock_of(conversation_id), task=name, queue=QUEUE,
            )  # fmt: skip

    async def _again(
        self, name: Task, conversation_id: str, following: tuple[int, int], error: Exception
    ) -> None:
        attempt, outages = following
        delay = min(2.0 ** (attempt + outages - 1), LONGEST_WAIT_SECONDS)
        async with self._connector.pool.connection() as connection:
            await enqueue(
                connection,
                conversation_id,
                [name],
                attempt=attempt,
                outages=outages,
                delay_seconds=delay,
            )
        told = printable(f"{name} of {conversation_id}: {type(error).__name__}: {error}")
        _log.warning("failed, tried again in %.0f s: %s", delay, told)


def _following(error: Exception, attempt: int, outages: int) -> tuple[int, int] | None:
    """Return attempt and outages of a job's next try; None: it is given up.

    An attempt may have been paid for and asks the model anew, an outage has cost nothing: what was
    answered before it is found in the ledger when the same attempt is made again.
    """
    if isinstance(error, (LimitReached, InputError)):
        return None
    if isinstance(error, ModelUnavailable):
        return (attempt, outages + 1) if outages + 1 < MAX_OUTAGES else None
    return (attempt + 1, outages) if attempt + 1 < MAX_ATTEMPTS else None


def _taken() -> type[Exception]:
    from procrastinate.exceptions import UniqueViolation

    return UniqueViolation
