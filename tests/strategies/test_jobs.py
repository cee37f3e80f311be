"""Jobs wait with what they are about, run once, take turns, and outlive those who run them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.core.errors import EmptyAnswer, InputError, LimitReached, ModelError, ModelUnavailable
from ctxeng.core.protocols import Summary, SummaryTask
from ctxeng.embedding import open_embedder
from ctxeng.store import Store
from ctxeng.store import worker as worker_module
from ctxeng.store.queue import QUEUE, enqueue, ensure_schema, lock_of
from ctxeng.store.worker import Worker, WorkerOptions
from ctxeng.strategies import Parts, jobs, settings_for, wire
from ctxeng.strategies.jobs import open_worker
from ctxeng.tokens import HeuristicCounter

ONCE = WorkerOptions(once=True, concurrency=4, heartbeat_seconds=0.1, stalled_seconds=0.5)
WAITING = replace(ONCE, once=False, poll_seconds=0.05)


class Summariser(VerbatimSummariser):
    """Keeps everything; counts who is at work in which conversation, and may fail first."""

    def __init__(self, *, failures: int = 0, failing: type[ModelError] = ModelUnavailable) -> None:
        self.failures = failures
        self.failing = failing
        self.replicates: list[int] = []
        self.at_work: dict[str, int] = {}
        self.most_at_work = 0
        self.hold: Callable[[], asyncio.Future[None]] | None = None

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the input; conversations are told apart by their first word."""
        self.replicates.append(task.replicate)
        if self.failures:
            self.failures -= 1
            raise self.failing("overloaded")
        name = task.messages[0].content.split()[0]
        self.at_work[name] = self.at_work.get(name, 0) + 1
        self.most_at_work = max(self.most_at_work, self.at_work[name])
        if self.hold is not None:
            await self.hold()
        await asyncio.sleep(0)
        self.at_work[name] -= 1
        return await super().summarise(task)


@pytest.fixture
async def queue(either_store: Store) -> Store:
    """Return a store that enqueues, on each of the two databases."""
    async with either_store._connection() as connection:
        await ensure_schema(connection)
    either_store._enqueues = True
    return either_store


def parts_of(store: Store, summariser: Summariser | None = None) -> Parts:
    """Return the three-tier strategy with tiny thresholds."""
    return wire(
        settings_for(
            "episodes_memory",
            {
                "window": {"tokens": 0, "min_messages": 2},
                "episodes": {"size": 2, "overlap": 0},
                "memory": {"every_episodes": 2},
            },
        ),
        store=store,
        summariser=summariser or Summariser(),
        distiller=VerbatimDistiller(),
        embedder=open_embedder("hashing"),
        counter=HeuristicCounter(),
    )


async def said(store: Store, name: str, size: int) -> None:
    """Append plain messages, one transaction each."""
    for i in range(size):
        await store.append(name, "user" if i % 2 == 0 else "assistant", f"{name} says {i}")


async def tasks_of(store: Store) -> list[tuple[str, str, int]]:
    """Return every job: task, status, priority."""
    async with store._connection() as connection:
        cursor = await connection.execute(
            "SELECT task_name, status::text, priority FROM procrastinate_jobs ORDER BY id"
        )
        return [tuple(row) for row in await cursor.fetchall()]


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    """Wait until something holds; the suite's time limit ends a wait for ever."""
    while not await holds():  # noqa: ASYNC110 (another process decides)
        await asyncio.sleep(0.02)


async def _none(store: Store) -> bool:
    return not await tasks_of(store)


async def test_a_message_and_its_jobs_are_saved_together(queue: Store) -> None:
    """However many messages wait, one job of each task waits for the conversation."""
    await said(queue, "c", 5)
    await queue.append_many("c", await queue.messages("c"))
    assert await tasks_of(queue) == [(t, "todo", 0) for t in ("tokens", "index", "compact")]
    assert [(b.task, b.waiting) for b in await queue.backlog()] == [
        ("compact", 1), ("index", 1), ("tokens", 1),
    ]  # fmt: skip


async def test_without_enqueue_nothing_waits(either_store: Store) -> None:
    """A store that was opened plainly writes no job, and says that nothing waits."""
    await said(either_store, "c", 3)
    assert [b for b in await either_store.backlog() if b.waiting] == []


async def test_a_worker_brings_every_conversation_up_to_date(queue: Store) -> None:
    """Counted, indexed, compacted and distilled: by hand 10 messages, 2 raw, 4 episodes, 2 snapshots."""
    for name in ("a", "b", "予算"):
        await said(queue, name, 10)
    await open_worker(queue, parts_of(queue), ONCE).run()
    for name in ("a", "b", "予算"):
        assert await queue.uncounted(name) == []
        assert await queue.unindexed(name) == []
        kinds = [(a.kind, a.from_seq, a.to_seq) for a in await queue.all_artifacts(name)]
        assert kinds == [
            ("episode", 0, 1), ("episode", 2, 3), ("episode", 4, 5), ("episode", 6, 7),
            ("memory", 0, 3), ("memory", 0, 7),
        ]  # fmt: skip
    assert await tasks_of(queue) == []


async def test_the_worker_writes_what_running_inline_writes(queue: Store) -> None:
    """The same job functions, run by a queue or one after the other, leave the same artifacts."""
    await said(queue, "QQ", 9)
    await open_worker(queue, parts_of(queue), ONCE).run()
    queue._enqueues = False
    await said(queue, "II", 9)
    parts = parts_of(queue)
    await jobs.count_tokens(queue, parts, "II")
    await jobs.compact(parts, "II")
    await jobs.remember(parts, "II")
    queued, inline = await queue.all_artifacts("QQ"), await queue.all_artifacts("II")
    assert len(queued) == len(inline) == 4
    for a, b in zip(queued, inline, strict=True):
        assert (a.kind, a.from_seq, a.to_seq) == (b.kind, b.from_seq, b.to_seq)
        assert a.text.replace("QQ", "II") == b.text
    counts = [[m.tokens for m in await queue.messages(name)] for name in ("QQ", "II")]
    assert counts[0] == counts[1]


async def test_jobs_of_one_conversation_take_turns(queue: Store) -> None:
    """Four at once, three workers: never two summaries of one conversation at a time."""
    for name in ("a", "b", "c", "d"):
        await said(queue, name, 12)
    summariser = Summariser()
    workers = [open_worker(queue, parts_of(queue, summariser), ONCE) for _ in range(3)]
    await asyncio.gather(*(worker.run() for worker in workers))
    assert summariser.most_at_work == 1
    for name in ("a", "b", "c", "d"):
        episodes = await queue.all_artifacts(name, kinds=["episode"])
        assert [a.from_seq for a in episodes] == [0, 2, 4, 6, 8]


async def test_a_job_that_fails_is_tried_again_behind_fresh_ones(queue: Store) -> None:
    """It waits, the model is asked anew, and other tasks are not held up."""
    await said(queue, "c", 4)
    summariser = Summariser(failures=1, failing=EmptyAnswer)
    await open_worker(queue, parts_of(queue, summariser), ONCE).run()
    assert await tasks_of(queue) == [("compact", "todo", -1)]
    assert [(b.waiting, b.again, b.failed) for b in await queue.backlog()] == [(1, 1, 0)]
    assert await queue.all_artifacts("c") == []
    await said(queue, "c", 1)  # its index job does not wait for the one that waits longer
    await open_worker(queue, parts_of(queue, summariser), ONCE).run()
    assert await queue.unindexed("c") == []
    async with queue._connection() as connection:
        await connection.execute(
            "UPDATE procrastinate_jobs SET scheduled_at = now() WHERE status = 'todo'"
        )
    await open_worker(queue, parts_of(queue, summariser), ONCE).run()
    assert [a.from_seq for a in await queue.all_artifacts("c", kinds=["episode"])] == [0]
    assert summariser.replicates[0] == 0
    assert summariser.replicates[-1] == 10_000


async def _tried_until_nothing_changes(queue: Store, summariser: Summariser, tries: int) -> None:
    """Run a worker so many times, each as late as what waits may run."""
    parts = parts_of(queue, summariser)
    for _ in range(tries):
        await open_worker(queue, parts, ONCE).run()
        async with queue._connection() as connection:
            await connection.execute("UPDATE procrastinate_jobs SET scheduled_at = now() "
                                     "WHERE status = 'todo'")  # fmt: skip


async def test_an_outage_outlasts_the_tries_that_may_cost_money(
    queue: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was paid: the job goes on waiting, asks for the same answer, and is done at last."""
    monkeypatch.setattr(worker_module, "MAX_ATTEMPTS", 2)
    await said(queue, "c", 4)
    summariser = Summariser(failures=4)
    await _tried_until_nothing_changes(queue, summariser, 4)
    (waiting,) = await queue.backlog()
    assert (waiting.waiting, waiting.again, waiting.failed) == (1, 1, 0)
    await open_worker(queue, parts_of(queue, summariser), ONCE).run()
    assert len(await queue.all_artifacts("c")) == 1
    assert set(summariser.replicates) == {0}
    assert await queue.backlog() == []


async def test_what_is_given_up_is_failed_until_one_like_it_succeeds(
    queue: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards that refuse again and again end the tries; the next message mends what was lost."""
    monkeypatch.setattr(worker_module, "MAX_ATTEMPTS", 2)
    await said(queue, "c", 4)
    await said(queue, "d", 1)
    summariser = Summariser(failures=2, failing=EmptyAnswer)
    await _tried_until_nothing_changes(queue, summariser, 3)
    (lost,) = await queue.backlog()
    assert (lost.task, lost.waiting, lost.failed) == ("compact", 0, 1)
    await said(queue, "d", 1)  # another conversation's success mends nothing
    await open_worker(queue, parts_of(queue, summariser), ONCE).run()
    assert [b.failed for b in await queue.backlog()] == [1]
    await said(queue, "c", 1)
    await open_worker(queue, parts_of(queue, summariser), ONCE).run()
    assert await queue.backlog() == []


@pytest.mark.parametrize(
    ("error", "attempt", "outages", "expected"),
    [
        (EmptyAnswer("nothing"), 0, 0, (1, 0)),
        (EmptyAnswer("nothing"), 6, 99, (7, 99)),
        (EmptyAnswer("nothing"), 7, 0, None),
        (ModelUnavailable("529"), 7, 0, (7, 1)),
        (ModelUnavailable("529"), 0, 298, (0, 299)),
        (ModelUnavailable("529"), 0, 299, None),
        (LimitReached("max"), 0, 0, None),
        (InputError("key"), 0, 0, None),
    ],
)
def test_how_often_a_job_is_tried(
    error: Exception, attempt: int, outages: int, expected: tuple[int, int] | None
) -> None:
    """Eight times where a try may be paid for; 300 times, a day and more, through an outage."""
    assert worker_module._following(error, attempt, outages) == expected
    assert worker_module.MAX_OUTAGES * worker_module.LONGEST_WAIT_SECONDS > 24 * 3600


async def test_the_jobs_of_a_dead_worker_are_taken_over(queue: Store) -> None:
    """A job left running by a worker that is gone runs again; one with a successor is dropped."""
    await said(queue, "a", 4)
    await said(queue, "b", 4)
    async with queue._connection() as connection:
        await connection.execute(
            "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')"
        )
        await connection.execute(
            "UPDATE procrastinate_jobs SET status = 'doing', "
            "worker_id = (SELECT max(id) FROM procrastinate_workers) WHERE task_name = 'compact'"
        )
    await said(queue, "b", 1)
    assert await queue.live_workers() == 0
    await open_worker(queue, parts_of(queue), ONCE).run()
    assert await tasks_of(queue) == []
    assert [a.from_seq for a in await queue.all_artifacts("a", kinds=["episode"])] == [0]
    assert [a.from_seq for a in await queue.all_artifacts("b", kinds=["episode"])] == [0]


async def test_a_deleted_conversation_leaves_no_job(queue: Store) -> None:
    """Jobs go with their conversation; one that runs meanwhile ends without an error."""
    await said(queue, "c", 4)
    await said(queue, "d", 4)
    await queue.delete_conversation("c")
    assert len(await tasks_of(queue)) == 3
    summariser = Summariser()
    summariser.hold = lambda: asyncio.ensure_future(queue.delete_conversation("d"))  # type: ignore[assignment,return-value]
    await open_worker(queue, parts_of(queue, summariser), ONCE).run()
    assert await tasks_of(queue) == []


async def test_jobs_go_with_their_conversation_whoever_deletes_it(queue: Store) -> None:
    """A store that was opened without the jobs removes them all the same."""
    await said(queue, "c", 4)
    queue._enqueues = False
    await queue.delete_conversation("c")
    assert await tasks_of(queue) == []


async def test_a_message_that_arrives_while_its_summary_is_written_is_not_swallowed(
    queue: Store,
) -> None:
    """The append enqueues again; the summary that was being written does not cover it."""
    await said(queue, "c", 4)
    summariser = Summariser()

    async def append_more() -> None:
        summariser.hold = None
        await said(queue, "c", 3)

    summariser.hold = lambda: asyncio.ensure_future(append_more())  # type: ignore[assignment,return-value]
    await open_worker(queue, parts_of(queue, summariser), ONCE).run()
    episodes = await queue.all_artifacts("c", kinds=["episode"])
    assert [(a.from_seq, a.to_seq) for a in episodes] == [(0, 1), (2, 3)]
    text = "\n".join(a.text for a in episodes) + "\n".join(
        m.content for m in (await queue.messages("c"))[4:]
    )
    assert all(text.count(f"c says {i}") >= 1 for i in range(4))
    assert await queue.unindexed("c") == []


async def test_a_job_cannot_begin_before_what_it_is_about_is_committed(queue: Store) -> None:
    """A waiting job is locked by an append under way: no worker takes it and misses the message."""
    await said(queue, "c", 1)
    async with queue._transaction() as writing:
        await enqueue(writing, "c", ["index"])
        async with queue._connection() as fetching:
            cursor = await fetching.execute(
                "SELECT task_name FROM procrastinate_fetch_job_v2(%s, NULL)", ([QUEUE],)
            )
            first = await cursor.fetchone()
            assert first == ("tokens",)
            await fetching.execute(
                "UPDATE procrastinate_jobs SET status = 'succeeded' WHERE status = 'doing'"
            )
            cursor = await fetching.execute(
                "SELECT task_name FROM procrastinate_fetch_job_v2(%s, NULL)", ([QUEUE],)
            )
            assert await cursor.fetchone() != ("index",)


async def test_a_waiting_worker_hears_of_work_and_stops_when_told(queue: Store) -> None:
    """Work that arrives while the worker waits is done; stop lets it leave."""
    worker = open_worker(queue, parts_of(queue), WAITING)
    running = asyncio.create_task(worker.run())
    await said(queue, "c", 4)
    await until(lambda: _none(queue))
    assert await queue.live_workers() == 1
    worker.stop()
    await running
    assert await queue.live_workers() == 0
    assert len(await queue.all_artifacts("c")) == 1


async def test_a_worker_outlives_a_lost_connection(queue: Store) -> None:
    """Connections that the server drops are made anew, and the work goes on."""
    worker: Worker = open_worker(queue, parts_of(queue), WAITING)
    running = asyncio.create_task(worker.run())
    await until(queue.live_workers)
    async with queue._connection() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' "
            "AND datname = current_database() AND query ILIKE '%procrastinate%'"
        )
    await said(queue, "c", 4)
    await until(lambda: _none(queue))
    worker.stop()
    await running
    assert len(await queue.all_artifacts("c")) == 1


async def test_the_queue_schema_is_made_once_by_several_at_once(queue: Store) -> None:
    """Two openings at the same moment leave one schema, and its state is on record."""

    async def once() -> None:
        async with queue._connection() as connection:
            await ensure_schema(connection)

    await asyncio.gather(*(once() for _ in range(4)))
    async with queue._connection() as connection:
        cursor = await connection.execute("SELECT value FROM settings WHERE name = 'queue_schema'")
        row = await cursor.fetchone()
    assert row is not None
    assert row[0].endswith(".sql")


def test_names_in_the_queue_are_short_whatever_the_id_is() -> None:
    """An id of any length or script has a name of 32 characters of its own."""
    names = {lock_of(i) for i in ("c", "C", "予算", "x" * 5000, "\ud800", "")}
    assert len(names) == 6
    assert {len(name) for name in names} == {32}


async def test_a_lost_cancellation_comes_again_but_never_to_a_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task that swallows the first one ends by the second, once no job is at work."""
    monkeypatch.setattr("ctxeng.store.worker.AGAIN_SECONDS", 0.01)
    worker = Worker("postgresql://nowhere", {}, ONCE, revive=asyncio.Event().wait)
    begun, cancellations = asyncio.Event(), 0

    async def deaf() -> None:
        nonlocal cancellations
        while cancellations < 2:
            try:
                begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancellations += 1

    task = asyncio.create_task(deaf())
    await begun.wait()
    worker._at_work.add(1)
    ending = asyncio.create_task(worker._end({task}))
    await asyncio.sleep(0.05)
    assert cancellations == 1
    worker._at_work.clear()
    await ending
    assert task.done()
    assert cancellations == 2
