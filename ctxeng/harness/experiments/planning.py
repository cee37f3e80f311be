"""The plan of a replay: an experiment's roles, each with its client, model and prompt."""

from __future__ import annotations

from typing import Any

from ctxeng.compaction import (
    ModelCutter,
    ModelDistiller,
    ModelSummariser,
    VerbatimDistiller,
    VerbatimSummariser,
)
from ctxeng.core.calls import ModelClient
from ctxeng.core.protocols import Distiller, Embedder, Summariser
from ctxeng.harness.experiments.prepared import NOBODY, Prepared, RunOptions, scratch_folder
from ctxeng.harness.experiments.prompts import judge_prompt, reader_prompt
from ctxeng.harness.experiments.schema import DeliveryMode, ExperimentFile
from ctxeng.harness.replay.plan import (
    Arm,
    DistillerFactory,
    Readers,
    ReplayPlan,
    Replicates,
    SummariserFactory,
)
from ctxeng.harness.replay.verdicts import only_extracts
from ctxeng.models import Delivery, Ledger, Limits, PredictingClient, open_client
from ctxeng.tokens import open_counter

IN_FLIGHT = 4  # sessions at once in one process: the database answers one while others compute


def plan_of(
    prepared: Prepared, options: RunOptions, *, embedder: Embedder, client: ModelClient, token: str
) -> ReplayPlan:
    """Return what the replay plays: arms, sessions and probes, and who writes, reads and judges."""
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


def client_of(experiment: ExperimentFile, options: RunOptions, ledger: Ledger) -> ModelClient:
    """Return the client of every role: over the ledger, or one that foretells in a dry run."""
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


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
