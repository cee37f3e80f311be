"""Replay sessions through the production path, arm by arm, and collect every table.

A unit is one arm on one session with one summariser replicate. Finished units are kept on disk
until the run is whole, so that a killed replay goes on where it stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxeng.core.messages import Session
from ctxeng.core.settings import BudgetSettings, StrategySettings, WindowSettings
from ctxeng.harness.attribution.position import seams_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay import rows as table_rows
from ctxeng.harness.replay.asking import Asked, Failed, ask
from ctxeng.harness.replay.cells import Geometry, cell_row, measure, shown_history
from ctxeng.harness.replay.partial import PartialRun
from ctxeng.harness.replay.plan import Arm, Readers, ReplayPlan
from ctxeng.harness.replay.recording import RecordingClient
from ctxeng.harness.replay.unit import Built, Played, build, play
from ctxeng.harness.replay.verdicts import audited, score
from ctxeng.harness.results.tables import TABLES
from ctxeng.store import Store

Rows = dict[str, list[dict[str, Any]]]
Progress = Callable[[int, int, str], None]

WHOLE_HISTORY = Arm(
    name="full",
    settings=StrategySettings(
        window=WindowSettings(tokens=None), budget=BudgetSettings(total_tokens=None)
    ),
    control="full",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What every unit of a session shares: where the reference arm puts each fact."""

    seams: tuple[int, ...]
    geometry: Mapping[str, Geometry]


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
        return [row for recorder in self.recorders for row in recorder.rows]


async def replay(plan: ReplayPlan, *, store: Store, progress: Progress | None = None) -> Rows:
    """Return the rows of every table, in an order that depends on the plan alone.

    Raises:
        LimitReached: a limit on calls or money; finished units are kept for the next try.
    """
    partial = PartialRun(plan.scratch)
    total = len(unit_names(plan))
    done = 0
    gate = asyncio.Semaphore(plan.jobs)

    def advance(label: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, label)

    async def one(session: Session) -> Rows:
        async with gate:
            return await _session(plan, session, store=store, partial=partial, advance=advance)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(session)) for session in plan.sessions]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return _joined([task.result() for task in tasks])


def unit_names(plan: ReplayPlan) -> list[tuple[str, ...]]:
    """Return the name of every unit: session, arm, summariser replicate."""
    return [
        (session.session_id, arm.name, str(replicate))
        for session in plan.sessions
        for arm in plan.arms
        for replicate in _replicates(plan, arm)
    ]


async def _session(
    plan: ReplayPlan,
    session: Session,
    *,
    store: Store,
    partial: PartialRun,
    advance: Callable[[str], None],
) -> Rows:
    collected: list[Rows] = [
        {"probes": [table_rows.probe_row(probe) for probe in plan.probes[session.session_id]]}
    ]
    frame: Frame | None = None
    for arm in plan.arms:
        for replicate in _replicates(plan, arm):
            unit = (session.session_id, arm.name, str(replicate))
            rows = partial.load(*unit)
            if rows is None:
                rows = await _unit(plan, arm, session, frame, store=store, replicate=replicate)
                if not any(cell["outcome"] == "error" for cell in rows["cells"]):
                    partial.save(rows, *unit)
            if frame is None:
                frame = _frame(rows)
            collected.append({name: found for name, found in rows.items() if name in TABLES})
            advance(f"{session.session_id} · {arm.name}")
    return _joined(collected)


def _frame(rows: Rows) -> Frame:
    """Return what the reference arm's first unit measured for all the others."""
    geometry = {}
    for row in rows["geometry"]:
        about = {**row, "full_seqs": tuple(row["full_seqs"])}
        probe_id = about.pop("probe_id")
        geometry[probe_id] = Geometry(**about)
    return Frame(seams=tuple(row["seq"] for row in rows["seams"]), geometry=geometry)


async def _unit(
    plan: ReplayPlan,
    arm: Arm,
    session: Session,
    frame: Frame | None,
    *,
    store: Store,
    replicate: int,
) -> Rows:
    """Play one unit and return its rows; without a frame it is the reference and makes it."""
    clients = _Clients.of(plan)
    played = await play(plan, arm, session, store=store, client=clients.writer, replicate=replicate)
    prompts = [await _built(plan, arm, played, p) for p in plan.probes[session.session_id]]
    made: Rows = {}
    if frame is None:
        made = await _frame_rows(plan, session, played, prompts, store=store)
        frame = _frame(made)
    cells: list[dict[str, Any]] = []
    for built in prompts:
        cells += await _cells(plan, arm, played, built, frame, clients.readers, replicate=replicate)
    await store.delete_conversation(played.conversation_id)
    about = {"arm": arm.name, "session_id": session.session_id}
    return made | {
        "cells": [about | {"is_control": arm.is_control} | row for row in cells],
        "contexts": [
            about
            | {"replicate": replicate}
            | table_rows.context_row(built.context, built.probe, build_seconds=built.build_seconds)
            for built in prompts
        ],
        "artifacts": [
            about | {"replicate": replicate} | row
            for row in table_rows.artifact_rows(played.artifacts)
        ],
        "inputs": [about | {"replicate": replicate} | dict(row) for row in played.inputs],
        "calls": [about | row for row in clients.rows()],
        "failures": [about | dict(row) for row in played.failures],
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
    seams = seams_of(played.artifacts)
    geometry = []
    for built in prompts:
        own = measure(played, built, seams).own
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
    await store.delete_conversation(whole.conversation_id)
    return {
        "geometry": geometry,
        "seams": [{"seq": seq} for seq in seams],
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
    built: Built,
    frame: Frame,
    readers: Readers,
    *,
    replicate: int,
) -> list[dict[str, Any]]:
    probe = built.probe
    measured = measure(played, built, frame.seams)
    audit = audited(probe, arm=arm.name, share=plan.audit_share, seed=plan.seed)
    asked_on = built.now.date().isoformat() if built.now else None
    found = []
    for reader_replicate in range(plan.replicates.reader):
        asked: Asked = (
            Failed(error=played.model_error)
            if played.model_error is not None
            else await ask(built.context, readers, replicate=reader_replicate)
        )
        for judge_replicate in range(plan.replicates.judge):
            scored = await score(
                probe, asked, readers, asked_on=asked_on, audit=audit, replicate=judge_replicate
            )
            row = cell_row(arm, played, measured, frame.geometry[probe.probe_id], scored)
            found.append(
                row
                | {
                    "replicate": _flat(plan, replicate, reader_replicate, judge_replicate),
                    "summariser_replicate": replicate,
                    "reader_replicate": reader_replicate,
                    "judge_replicate": judge_replicate,
                }
            )
    return found


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
