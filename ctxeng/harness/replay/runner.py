"""Replay sessions through the production path, arm by arm, and collect every table.

A unit is one arm on one session with one summariser replicate. Finished units are kept on disk
until the run is whole, so that a killed replay goes on where it stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ctxeng.core.messages import Session
from ctxeng.core.settings import BudgetSettings, StrategySettings, WindowSettings
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay import rows as table_rows
from ctxeng.harness.replay.asking import Asked, Failed, ask
from ctxeng.harness.replay.cells import Geometry, Measured, cell_row, measure, shown_history
from ctxeng.harness.replay.partial import PartialRun
from ctxeng.harness.replay.plan import Arm, Readers, ReplayPlan
from ctxeng.harness.replay.recording import RecordingClient, was_sent
from ctxeng.harness.replay.unit import Built, Played, build, play
from ctxeng.harness.replay.verdicts import audited, score
from ctxeng.harness.results.tables import TABLES
from ctxeng.store import Store

Rows = dict[str, list[dict[str, Any]]]


class Progress(Protocol):
    """Told what is done, of how much, what was last, and the money for the calls made so far.

    ``cost_usd``: 0 where nothing is paid for, None once a price is unknown.
    """

    def __call__(self, done: int, total: int, label: str, cost_usd: float | None = 0.0, /) -> None:
        """Take the new state."""


WHOLE_HISTORY = Arm(
    name="full",
    settings=StrategySettings(
        window=WindowSettings(tokens=None), budget=BudgetSettings(total_tokens=None)
    ),
    control="full",
)


Frame = Mapping[str, Geometry]  # by probe: where the reference arm puts its fact


@dataclass(slots=True)
class _Clients:
    """Recording clients of one unit; their rows become the unit's calls."""

    writer: RecordingClient
    readers: Readers
    recorders: list[RecordingClient] = field(default_factory=list)

    @classmethod
    def of(cls, plan: ReplayPlan) -> _Clients:
        writer = RecordingClient(plan.writer)
        recorders, readers = [writer], plan.readers
        if readers.reader is not None:
            recorders.append(RecordingClient(readers.reader))
            readers = replace(readers, reader=recorders[-1])
        if readers.judge is not None:
            recorders.append(RecordingClient(readers.judge))
            readers = replace(readers, judge=recorders[-1])
        return cls(writer=writer, readers=readers, recorders=recorders)

    def rows(self) -> list[dict[str, Any]]:
        """Return the write path's calls in their order, then readers' and judges' by key."""
        writer, *others = self.recorders
        found = [row for other in others for row in sorted(other.rows, key=_call_order)]
        return [*writer.rows, *found]


def _call_order(row: Mapping[str, Any]) -> tuple[str, str, bool]:
    return str(row.get("key", "")), str(row.get("error", "")), bool(row.get("from_ledger"))


async def replay(plan: ReplayPlan, *, store: Store, progress: Progress | None = None) -> Rows:
    """Return the rows of every table, in an order that depends on the plan alone.

    Raises:
        LimitReached: a limit on calls or money; finished units are kept for the next try.
    """
    partial = PartialRun(plan.scratch)
    total = len(unit_names(plan))
    done = 0
    cost_usd: float | None = 0.0
    gate = asyncio.Semaphore(plan.jobs)

    def advance(label: str, calls: Sequence[Mapping[str, Any]]) -> None:
        nonlocal done, cost_usd
        done, cost_usd = done + 1, spent_with(cost_usd, calls)
        if progress is not None:
            progress(done, total, label, cost_usd)

    async def one(session: Session) -> Rows:
        async with gate:
            return await _session(plan, session, store=store, partial=partial, advance=advance)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(session)) for session in plan.sessions]
    except BaseExceptionGroup as failed:
        raise _first_error(failed) from None
    return _joined([task.result() for task in tasks])


def spent_with(cost_usd: float | None, calls: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the money with that for calls that were sent.

    None from the first call on whose price is unknown.
    """
    for call in calls:
        if was_sent(call):
            price = call.get("cost_usd")
            cost_usd = None if cost_usd is None or price is None else cost_usd + float(price)
    return cost_usd


def _first_error(failed: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error that is no group of errors."""
    first = failed.exceptions[0]
    return _first_error(first) if isinstance(first, BaseExceptionGroup) else first


def unit_names(plan: ReplayPlan) -> list[tuple[str, ...]]:
    """Return the name of every unit: session, arm, summariser replicate."""
    return [name for session in plan.sessions for name, _, _ in _units(plan, session)]


def _units(plan: ReplayPlan, session: Session) -> Iterator[tuple[tuple[str, ...], Arm, int]]:
    """Yield the name, arm and summariser replicate of a session's units, the reference first."""
    for arm in plan.arms:
        for replicate in _replicates(plan, arm):
            yield (session.session_id, arm.name, str(replicate)), arm, replicate


async def _session(
    plan: ReplayPlan,
    session: Session,
    *,
    store: Store,
    partial: PartialRun,
    advance: Callable[[str, Sequence[Mapping[str, Any]]], None],
) -> Rows:
    """Play every unit of a session at once; the first, the reference, makes the frame of all."""
    frame: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()

    async def one(unit: tuple[str, ...], arm: Arm, replicate: int, *, makes_frame: bool) -> Rows:
        try:
            return await played(unit, arm, replicate, makes_frame=makes_frame)
        finally:
            if makes_frame:
                frame.cancel()  # without effect once it is made; else nobody waits for it for ever

    async def played(unit: tuple[str, ...], arm: Arm, replicate: int, *, makes_frame: bool) -> Rows:
        rows = partial.load(*unit)
        if rows is None:
            rows = await _unit(
                plan, arm, session, frame, store=store, replicate=replicate, makes_frame=makes_frame
            )
            if not any(cell["outcome"] == "error" for cell in rows["cells"]):
                partial.save(rows, *unit)
        elif makes_frame:
            frame.set_result(_frame(rows))
        advance(f"{session.session_id} · {arm.name}", rows.get("calls", ()))
        return {name: found for name, found in rows.items() if name in TABLES}

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(one(name, arm, replicate, makes_frame=place == 0))
            for place, (name, arm, replicate) in enumerate(_units(plan, session))
        ]
    asked = [table_rows.probe_row(probe) for probe in plan.probes[session.session_id]]
    return _joined([{"probes": asked}, *(task.result() for task in tasks)])


def _frame(rows: Rows) -> Frame:
    """Return what the reference arm's first unit measured for all the others."""
    geometry = {}
    for row in rows["geometry"]:
        about = {**row, "full_seqs": tuple(row["full_seqs"])}
        probe_id = about.pop("probe_id")
        geometry[probe_id] = Geometry(**about)
    return geometry


async def _unit(
    plan: ReplayPlan,
    arm: Arm,
    session: Session,
    frame: asyncio.Future[Frame],
    *,
    store: Store,
    replicate: int,
    makes_frame: bool,
) -> Rows:
    """Play one unit and return its rows; its probes are asked at once.

    Args:
        frame: where the reference puts each fact; the unit waits for it, or makes it.
    """
    clients = _Clients.of(plan)
    played = await play(plan, arm, session, store=store, client=clients.writer, replicate=replicate)
    prompts = [await _built(plan, arm, played, p) for p in plan.probes[session.session_id]]
    made: Rows = {}
    if makes_frame:
        made = await _frame_rows(plan, session, played, prompts, store=store)
        frame.set_result(_frame(made))
    cells = await _asked(plan, arm, played, prompts, await frame, clients.readers, replicate)
    await store.discard_conversation(played.conversation_id)
    return made | _unit_rows(arm, session, played, prompts, cells, clients.rows(), replicate)


async def _asked(
    plan: ReplayPlan,
    arm: Arm,
    played: Played,
    prompts: Sequence[Built],
    frame: Frame,
    readers: Readers,
    replicate: int,
) -> list[dict[str, Any]]:
    """Ask every prompt at once, as often as readers are replicated; return the cells in order."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                _cells(plan, arm, played, one, frame, readers, replicates=(replicate, reader))
            )
            for one in [measure(played, built) for built in prompts]
            for reader in range(plan.replicates.reader)
        ]
    return [row for task in tasks for row in task.result()]


def _unit_rows(
    arm: Arm,
    session: Session,
    played: Played,
    prompts: Sequence[Built],
    cells: Sequence[Mapping[str, Any]],
    calls: Sequence[Mapping[str, Any]],
    replicate: int,
) -> Rows:
    """Return the rows of every table that one unit fills."""
    unit = {"arm": arm.name, "session_id": session.session_id}
    written = unit | {"replicate": replicate}
    contexts = [
        table_rows.context_row(built.context, built.probe, build_seconds=built.build_seconds)
        for built in prompts
    ]
    return {
        "cells": [unit | {"is_control": arm.is_control} | dict(row) for row in cells],
        "contexts": [written | row for row in contexts],
        "artifacts": [written | row for row in table_rows.artifact_rows(played.artifacts)],
        "inputs": [written | dict(row) for row in played.inputs],
        "calls": [unit | dict(row) for row in calls],
        "failures": [unit | dict(row) for row in played.failures],
    }


async def _frame_rows(
    plan: ReplayPlan, session: Session, played: Played, prompts: Sequence[Built], *, store: Store
) -> Rows:
    """Return where the reference arm puts every fact, and what the whole history would weigh."""
    whole = await play(
        plan,
        WHOLE_HISTORY,
        session,
        store=store,
        client=RecordingClient(plan.writer),
        replicate=0,
    )
    geometry = []
    for built in prompts:
        own = measure(played, built).own
        full = (await _built(plan, WHOLE_HISTORY, whole, built.probe)).context
        geometry.append(
            {
                "probe_id": built.probe.probe_id,
                "bucket": own.bucket,
                "distilled": own.distilled,
                "tail": own.tail,
                "full_tokens": full.tokens,
                "full_seqs": shown_history(full),
            }
        )
    await store.discard_conversation(whole.conversation_id)
    return {
        "geometry": geometry,
        "messages": table_rows.message_rows(session, played.messages),
    }


async def _built(plan: ReplayPlan, arm: Arm, played: Played, probe: Probe) -> Built:
    return await build(
        played, probe, pins_evidence=arm.pins_evidence, system=plan.readers.reader_system
    )


async def _cells(
    plan: ReplayPlan,
    arm: Arm,
    played: Played,
    measured: Measured,
    frame: Frame,
    readers: Readers,
    *,
    replicates: tuple[int, int],
) -> list[dict[str, Any]]:
    """Ask one question once and return a row for every judge's replicate.

    Args:
        replicates: the summariser's and the reader's.
    """
    summariser, reader = replicates
    built = measured.built
    probe = built.probe
    audit = audited(probe, arm=arm.name, share=plan.audit_share, seed=plan.seed)
    asked: Asked = (
        Failed(error=played.model_error)
        if played.model_error is not None
        else await ask(built.context, readers, replicate=reader)
    )
    asked_on = built.now.date().isoformat() if built.now else None
    scored = await asyncio.gather(
        *(
            score(probe, asked, readers, asked_on=asked_on, audit=audit, replicate=judge)
            for judge in range(plan.replicates.judge)
        )
    )
    return [
        cell_row(arm, played, measured, frame[probe.probe_id], one)
        | {
            "replicate": _flat(plan, summariser, reader, judge),
            "summariser_replicate": summariser,
            "reader_replicate": reader,
            "judge_replicate": judge,
        }
        for judge, one in enumerate(scored)
    ]


def _flat(plan: ReplayPlan, summariser: int, reader: int, judge: int) -> int:
    """Return one number for a combination of replicates; the judge's runs fastest."""
    counts = plan.replicates
    return (summariser * counts.reader + reader) * counts.judge + judge


def _replicates(plan: ReplayPlan, arm: Arm) -> Iterator[int]:
    """Yield the summariser replicates of an arm: one where nothing is summarised by a model."""
    random = arm.settings.compacts and not arm.lossless
    yield from range(plan.replicates.summariser if random else 1)


def _joined(parts: Sequence[Mapping[str, Sequence[Mapping[str, Any]]]]) -> Rows:
    joined: Rows = {}
    for part in parts:
        for name, rows in part.items():
            joined.setdefault(name, []).extend(dict(row) for row in rows)
    return joined


__all__ = ["Progress", "Rows", "replay"]
