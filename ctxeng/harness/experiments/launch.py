"""From an experiment file to a finished run folder."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ctxeng.core.errors import CtxengError
from ctxeng.core.messages import Session
from ctxeng.embedding import CachedEmbedder, open_embedder
from ctxeng.harness.attribution.drift import drift_tables
from ctxeng.harness.attribution.stored import StoredRun
from ctxeng.harness.experiments.manifest import manifest_of
from ctxeng.harness.experiments.planning import IN_FLIGHT, client_of, plan_of
from ctxeng.harness.experiments.prepared import NOBODY, Prepared, RunOptions, prepare
from ctxeng.harness.experiments.workers import run_ahead
from ctxeng.harness.replay.paraphrasing import paraphrase_rows
from ctxeng.harness.replay.partial import PartialRun
from ctxeng.harness.replay.plan import ReplayPlan, content_key
from ctxeng.harness.replay.recording import RecordingClient
from ctxeng.harness.replay.rescoring import rescored
from ctxeng.harness.replay.runner import Progress, Rows, replay, unit_names
from ctxeng.harness.results.run_folder import RunFolder, check_writable, write_run
from ctxeng.models import OFFLINE, Ledger, closing
from ctxeng.store import EmbeddingSpec, Store

REPLAY_DATABASE = "replay"  # one for each embedder: an index holds vectors of one kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A plan that was played, and the rows it gave."""

    plan: ReplayPlan
    rows: Rows


async def run_prepared(
    prepared: Prepared, options: RunOptions, *, progress: Progress | None = None
) -> RunFolder:
    """Replay a prepared experiment and write its run folder; return the folder.

    Raises:
        InputError: the output or the scratch folder cannot be written.
        StoreError: the database cannot be started.
        LimitReached: a limit on calls or money; run again to go on.
    """
    check_writable(options.out)
    started = datetime.now(UTC)
    played = await replayed(prepared, options, progress=progress)
    plan, rows = played.plan, played.rows
    experiment = prepared.experiment
    run_id = f"{experiment.name}-{started:%Y%m%dT%H%M%S}-{plan.key[:6]}{plan.run_token[:4]}"
    manifest = manifest_of(prepared, plan, rows, run_id=run_id, started=started)
    drift = drift_tables(StoredRun(manifest=manifest, tables=rows))
    run = write_run(options.out, manifest=manifest, tables={**rows, **drift})
    PartialRun(plan.scratch).clear()
    return run


async def replayed(
    prepared: Prepared, options: RunOptions, *, progress: Progress | None = None
) -> Replayed:
    """Replay a prepared experiment, over processes where that helps, and return its rows."""
    async with opened(prepared, options) as (plan, store):
        processes = _processes(prepared, options)
        if processes > 1 and not PartialRun(plan.scratch).has_all(unit_names(plan)):
            stop = threading.Event()
            try:
                await asyncio.to_thread(
                    _replay_ahead, prepared, options, plan,
                    processes=processes, progress=progress, stop=stop,
                )  # fmt: skip
            finally:
                stop.set()
        rows = await replay(plan, store=store, progress=progress)
        return Replayed(plan=plan, rows=await _paraphrased(prepared, plan, rows))


async def _paraphrased(prepared: Prepared, plan: ReplayPlan, rows: Rows) -> Rows:
    """Return the rows with what the judge of artifacts says, where the experiment names one."""
    models = prepared.experiment.models
    if models.artifact_judge == NOBODY:
        return rows
    client = RecordingClient(plan.writer)
    manifest = manifest_of(prepared, plan, rows, run_id="", started=datetime.now(UTC))
    stored = StoredRun(manifest=manifest, tables=rows)
    told = await paraphrase_rows(
        stored, client, model=models.artifact_judge, extra=models.extra.get("judge")
    )
    found = await rescored(StoredRun(manifest=manifest, tables={**rows, "paraphrases": told}))
    calls = [*rows.get("calls", ()), *client.rows]
    return {**rows, "cells": list(found.cells), "paraphrases": told, "calls": calls}


@asynccontextmanager
async def opened(
    prepared: Prepared, options: RunOptions
) -> AsyncIterator[tuple[ReplayPlan, Store]]:
    """Open the ledger, the embedder and the replay database, and yield the plan over them."""
    embedder = _embedder(prepared.experiment.models.embedder)
    ledger = Ledger.open(prepared.workspace / ".ctxeng" / "ledger.sqlite")
    spec = EmbeddingSpec(embedder_id=embedder.embedder_id, dimensions=embedder.dimensions)
    try:
        async with (
            closing(client_of(prepared.experiment, options, ledger)) as client,
            await Store.open(
                workspace=prepared.workspace,
                database=f"{REPLAY_DATABASE}_{content_key(embedder.embedder_id)[:8]}",
                disposable=True,
                embedding=spec,
            ) as store,
        ):
            token = os.urandom(4).hex()
            yield plan_of(prepared, options, embedder=embedder, client=client, token=token), store
    finally:
        ledger.close()


@cache
def _embedder(name: str) -> CachedEmbedder:
    return CachedEmbedder(open_embedder(name))


def _processes(prepared: Prepared, options: RunOptions) -> int:
    """Return how many processes may replay: one where calls go to a provider or are limited."""
    experiment, models = prepared.experiment, prepared.experiment.models
    roles = {models.reader, models.summariser, models.distiller or OFFLINE, models.judge}
    limits = (options.max_calls, options.max_cost_usd, *experiment.limits.model_dump().values())
    must_share = roles - {OFFLINE, NOBODY} or any(limit is not None for limit in limits)
    if must_share and not options.dry_run:
        return 1
    wanted = options.jobs or os.cpu_count() or 1
    return min(wanted, len(prepared.inputs.sessions))


def _replay_ahead(
    prepared: Prepared,
    options: RunOptions,
    plan: ReplayPlan,
    *,
    processes: int,
    progress: Progress | None,
    stop: threading.Event,
) -> None:
    """Play shares of the sessions in processes; they leave finished units behind.

    The parent then replays as it would alone, finds the units done, and plays what is missing: a
    worker that fails costs time and never a result.
    """
    units, partial = unit_names(plan), PartialRun(plan.scratch)

    def show() -> None:
        if progress is not None:
            progress(partial.count(units), len(units), "")

    run_ahead(
        _play_some,
        [
            (prepared.path, prepared.workspace, options, share)
            for share in _shares(plan.sessions, processes)
        ],
        processes=processes,
        on_poll=show,
        stop=stop,
    )


def _shares(sessions: Sequence[Session], count: int) -> list[tuple[str, ...]]:
    """Return session ids in ``count`` shares of about equal work, the longest sessions first."""
    shares: list[list[Session]] = [[] for _ in range(count)]
    for session in sorted(sessions, key=lambda s: len(s.messages), reverse=True):
        lightest = min(shares, key=lambda share: sum(len(s.messages) for s in share))
        lightest.append(session)
    return [tuple(s.session_id for s in share) for share in shares]


def _play_some(
    path: Path, workspace: Path, options: RunOptions, session_ids: tuple[str, ...]
) -> None:
    """Play some sessions of an experiment in this process."""

    async def play() -> None:
        prepared = prepare(path, workspace=workspace, options=options)
        async with opened(prepared, options) as (plan, store):
            mine = tuple(s for s in plan.sessions if s.session_id in session_ids)
            await replay(replace(plan, sessions=mine, jobs=IN_FLIGHT), store=store)

    with suppress(CtxengError):  # the parent meets the same error and tells it
        asyncio.run(play())
