"""Resolve the arms of an experiment: built-in strategies, sweeps and controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ctxeng.core.errors import SettingsError
from ctxeng.core.settings import BudgetSettings, StrategySettings, WindowSettings
from ctxeng.harness.experiments.schema import Control, ExperimentFile, SweepTable
from ctxeng.harness.replay.plan import Arm
from ctxeng.harness.replay.runner import WHOLE_HISTORY
from ctxeng.strategies.builtin import checked_settings

UNLIMITED = BudgetSettings(total_tokens=None)
NO_WINDOW = WindowSettings(tokens=0, min_messages=0)
_SECTIONS_WITH = Counter(
    setting
    for section in StrategySettings.model_fields.values()
    for setting in getattr(section.annotation, "model_fields", {})
)


def resolve_arms(experiment: ExperimentFile) -> tuple[Arm, ...]:
    """Return every arm to run, the reference arm first, then arms, sweeps and controls.

    Raises:
        SettingsError: an unknown strategy, key or value in any arm (all of them listed), or a
            reference arm that is not among the arms.
    """
    arms, faults = _written_arms(experiment)
    if faults:
        raise SettingsError("\n".join(fault.message for fault in faults))
    by_name = {arm.name: arm for arm in arms}
    reference = by_name.pop(experiment.reference_arm)
    controls = [control_arm(name, reference.settings) for name in experiment.controls]
    return (reference, *by_name.values(), *controls)


def control_arm(name: Control, reference: StrategySettings) -> Arm:
    """Return a control: settings of the ordinary builder, never a second path to a prompt."""
    match name:
        case "full":
            return WHOLE_HISTORY
        case "none" | "oracle":
            settings = StrategySettings(window=NO_WINDOW, budget=UNLIMITED)
        case "restated":
            settings = reference
        case "verbatim":
            settings = reference.model_copy(update={"budget": UNLIMITED})
    return Arm(
        name=name,
        settings=settings,
        control=name,
        pins_evidence=name in ("oracle", "restated"),
        lossless=name == "verbatim",
    )


def swept(sweep: SweepTable) -> list[tuple[str, dict[str, dict[str, Any]]]]:
    """Return a name and the overrides for every combination of a sweep's matrix.

    A setting that several sections have is named with its section.

    Example:
        matrix ``{"episodes.overlap": [0, 1]}`` → names ``overlap=0`` and ``overlap=1``;
        ``{"memory.target_tokens": [600]}`` → ``memory.target_tokens=600``.
    """
    keys = list(sweep.matrix)
    combinations = []
    for values in product(*(sweep.matrix[key] for key in keys)):
        overrides: dict[str, dict[str, Any]] = {}
        for key, value in zip(keys, values, strict=True):
            section, setting = key.split(".")
            overrides.setdefault(section, {})[setting] = value
        label = ",".join(f"{_short(key)}={value}" for key, value in zip(keys, values, strict=True))
        combinations.append((label, overrides))
    return combinations


def _short(key: str) -> str:
    setting = key.split(".")[1]
    return setting if _SECTIONS_WITH[setting] < 2 else key


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFault:
    """What is wrong with an arm, and the dotted place in the file that sets it."""

    location: tuple[str, ...]
    message: str


def arm_faults(experiment: ExperimentFile) -> list[ArmFault]:
    """Return everything that is wrong with the arms, sweeps and the names that refer to them."""
    return _written_arms(experiment)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """An arm as written: where, and with which overrides. ``swept`` are the keys a sweep sets."""

    strategy: str
    overrides: Mapping[str, Any]
    place: tuple[str, ...]
    swept: Mapping[tuple[str, ...], tuple[str, ...]]


def _written_arms(experiment: ExperimentFile) -> tuple[list[Arm], list[ArmFault]]:
    wanted = {
        name: _Wanted(
            strategy=table.strategy, overrides=table.overrides, place=("arms", name), swept={}
        )
        for name, table in experiment.arms.items()
    }
    faults = _sweep_into(wanted, experiment)
    arms = []
    for name, one in wanted.items():
        found = checked_settings(one.strategy, one.overrides)
        if isinstance(found, StrategySettings):
            arms.append(Arm(name=name, settings=found))
            continue
        for fault in found:
            place = one.swept.get(fault.location, (*one.place, *(fault.location or ("strategy",))))
            if not one.swept or place[0] == "sweeps" or len(fault.location) < 2:
                message = f"arms.{name}: {fault.message}"
                faults.append(ArmFault(location=place, message=message))
    return arms, [*faults, *_unknown_names(experiment, list(wanted))]


def _sweep_into(wanted: dict[str, _Wanted], experiment: ExperimentFile) -> list[ArmFault]:
    """Add the arms that sweeps make; return what is wrong with the sweeps."""
    faults = []
    for name, sweep in experiment.sweeps.items():
        base = experiment.arms.get(sweep.arm)
        if base is None:
            message = f"sweeps.{name}.arm must be one of the arms, got {sweep.arm!r}."
            faults.append(ArmFault(location=("sweeps", name, "arm"), message=message))
            continue
        keys = {tuple(key.split(".")): ("sweeps", name, "matrix", key) for key in sweep.matrix}
        for label, changes in swept(sweep):
            merged = {**base.overrides}
            for section, values in changes.items():
                merged[section] = {**merged.get(section, {}), **values}
            arm = f"{sweep.arm}[{label}]"
            made = _Wanted(
                strategy=base.strategy, overrides=merged, place=("arms", sweep.arm), swept=keys
            )
            held = wanted.setdefault(arm, made)
            if not arm.isprintable():
                message = f"sweeps.{name} must list values that can be shown, got {arm!r}."
                faults.append(ArmFault(location=("sweeps", name, "matrix"), message=message))
            if (held.strategy, held.overrides) != (made.strategy, made.overrides):
                message = f"sweeps.{name} must make arms of its own, got {arm!r} twice."
                faults.append(ArmFault(location=("sweeps", name), message=message))
    return faults


def _unknown_names(experiment: ExperimentFile, arms: Sequence[str]) -> list[ArmFault]:
    """Return the places that name an arm there is not."""
    faults = []
    if experiment.reference_arm not in arms:
        message = (
            f"reference_arm must be one of the arms {sorted(arms)}, "
            f"got {experiment.reference_arm!r}."
        )
        faults.append(ArmFault(location=("reference_arm",), message=message))
    for name in experiment.gate.arms:
        if name not in arms:
            message = f"gate.arms must be among the arms {sorted(arms)}, got {name!r}."
            faults.append(ArmFault(location=("gate", "arms"), message=message))
    return faults
