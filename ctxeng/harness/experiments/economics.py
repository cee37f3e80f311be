"""Play every session of an experiment turn by turn and add up what each arm costs.

The reader is never called: its prompts are built by the ordinary builder and priced. Summaries are
written by the experiment's own models, through the ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxeng.harness.economics.arms import ArmEconomics, arm_economics
from ctxeng.harness.economics.claims import Claim, Evidence, claims
from ctxeng.harness.economics.money import Payers
from ctxeng.harness.economics.turns import Sitting
from ctxeng.harness.experiments.launch import opened
from ctxeng.harness.experiments.prepared import Prepared, RunOptions
from ctxeng.harness.experiments.prompts import product_system
from ctxeng.harness.experiments.schema import ExperimentFile
from ctxeng.harness.replay.plan import Arm, ReplayPlan
from ctxeng.harness.replay.runner import WHOLE_HISTORY, Progress
from ctxeng.harness.replay.turns import sit
from ctxeng.models import OFFLINE
from ctxeng.models.prices import price_of, price_table
from ctxeng.store import Store

# Whose prices stand for the offline model's: the models of the article whose figures are rerun.
STAND_INS = Payers(
    reader="claude-sonnet-4-6", summariser="claude-haiku-4-5", distiller="claude-sonnet-4-6"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Economics:
    """What an experiment's arms cost along their sessions.

    Args:
        arms: the whole history first. untimed_share: messages whose time was assumed, 0..1.
    """

    name: str
    sessions: int
    messages: int
    untimed_share: float
    is_offline: bool
    counter: str
    payers: Payers
    reference_arm: str
    arms: tuple[ArmEconomics, ...]
    claims: tuple[Claim, ...]
    prices_date: str
    prices_source: str


async def economics(
    prepared: Prepared, options: RunOptions, *, progress: Progress | None = None
) -> Economics:
    """Return the economics of an experiment.

    Raises:
        SettingsError: a model whose prices are wanted is not in the price table.
        StoreError: no database. LimitReached: a limit on calls or money.
    """
    payers = payers_of(prepared.experiment)
    for role in ("reader", "summariser", "distiller"):
        payers.price(role)
    arms = [WHOLE_HISTORY, *(arm for arm in prepared.arms if not arm.is_control)]
    system = product_system(prepared.experiment.economics.system_prompt, prepared.workspace)
    async with opened(prepared, options) as (plan, store):
        played = await _sittings(plan, arms, store=store, system=system, progress=progress)
    return summed(prepared, played, payers)


def payers_of(experiment: ExperimentFile) -> Payers:
    """Return whose prices are used: those named, else the role's own model, else a stand-in."""
    models, wanted = experiment.models, experiment.economics
    distiller = models.distiller or models.summariser
    return Payers(
        reader=wanted.reader or _priced(models.reader, STAND_INS.reader),
        summariser=wanted.summariser or _priced(models.summariser, STAND_INS.summariser),
        distiller=wanted.distiller or _priced(distiller, STAND_INS.distiller),
    )


def _priced(model: str, stand_in: str) -> str:
    return stand_in if model in (OFFLINE, "none") or price_of(model) is None else model


async def _sittings(
    plan: ReplayPlan,
    arms: Sequence[Arm],
    *,
    store: Store,
    system: str,
    progress: Progress | None,
) -> dict[str, list[Sitting]]:
    gate, done = asyncio.Semaphore(plan.jobs), 0
    total = len(arms) * len(plan.sessions)

    async def one(arm: Arm, place: int) -> Sitting:
        nonlocal done
        async with gate:
            sitting = await sit(plan, arm, plan.sessions[place], store=store, system=system)
        done += 1
        if progress is not None:
            progress(done, total, f"{sitting.session_id} · {arm.name}")
        return sitting

    try:
        async with asyncio.TaskGroup() as group:
            tasks = {
                arm.name: [group.create_task(one(arm, i)) for i in range(len(plan.sessions))]
                for arm in arms
            }
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return {name: [task.result() for task in made] for name, made in tasks.items()}


def summed(
    prepared: Prepared, played: Mapping[str, Sequence[Sitting]], payers: Payers
) -> Economics:
    """Return the economics of sessions that were played."""
    whole = {s.session_id: s for s in played[WHOLE_HISTORY.name]}
    experiment = prepared.experiment
    messages = sum(sitting.messages for sitting in whole.values())
    untimed = sum(sitting.untimed for sitting in whole.values())
    models = experiment.models
    evidence = Evidence(
        arm=played[experiment.reference_arm],
        full=whole,
        overlaps={n: played[name] for n, name in overlap_arms(prepared).items()},
        payers=payers,
    )
    table = price_table()
    return Economics(
        name=experiment.name,
        sessions=len(whole),
        messages=messages,
        untimed_share=untimed / messages if messages else 0.0,
        is_offline=OFFLINE in (models.summariser, models.distiller or models.summariser),
        counter=models.counter,
        payers=payers,
        reference_arm=experiment.reference_arm,
        arms=tuple(arm_economics(sittings, whole, payers) for sittings in played.values()),
        claims=tuple(claims(evidence)),
        prices_date=str(table["date"]),
        prices_source=str(table["source"]),
    )


def overlap_arms(prepared: Prepared) -> dict[int, str]:
    """Return the arms that equal the reference arm but for the overlap of episodes, by overlap."""
    reference = next(arm for arm in prepared.arms if arm.name == prepared.experiment.reference_arm)
    found: dict[int, str] = {}
    for arm in prepared.arms:
        overlap = arm.settings.episodes.overlap
        episodes = reference.settings.episodes.model_copy(update={"overlap": overlap})
        same = reference.settings.model_copy(update={"episodes": episodes})
        if not arm.is_control and arm.settings == same:
            found.setdefault(overlap, arm.name)
    return found
