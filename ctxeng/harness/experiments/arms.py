"""Resolve the arms of an experiment: built-in strategies, sweeps and controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

from ctxeng.core.errors import SettingsError
from ctxeng.core.settings import BudgetSettings, StrategySettings, WindowSettings
from ctxeng.harness.experiments.schema import Control, ExperimentFile, SweepTable
from ctxeng.harness.replay.plan import Arm
from ctxeng.harness.replay.runner import WHOLE_HISTORY
from ctxeng.strategies.builtin import settings_for

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
        raise SettingsError("\n".join(faults))
    by_name = {arm.name: arm for arm in arms}
    if experiment.reference_arm not in by_name:
        raise SettingsError(
            f"reference_arm must be one of the arms {sorted(by_name)}, "
            f"got {experiment.reference_arm!r}."
        )
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


def _written_arms(experiment: ExperimentFile) -> tuple[list[Arm], list[str]]:
    wanted: dict[str, tuple[str, Mapping[str, Any]]] = {
        name: (table.strategy, table.overrides) for name, table in experiment.arms.items()
    }
    faults = []
    for name, sweep in experiment.sweeps.items():
        base = experiment.arms.get(sweep.arm)
        if base is None:
            faults.append(f"sweeps.{name}.arm must be one of the arms, got {sweep.arm!r}.")
            continue
        for label, changes in swept(sweep):
            merged = {**base.overrides}
            for section, values in changes.items():
                merged[section] = {**merged.get(section, {}), **values}
            arm = f"{sweep.arm}[{label}]"
            if wanted.setdefault(arm, (base.strategy, merged)) != (base.strategy, merged):
                faults.append(f"sweeps.{name} must make arms of its own, got {arm!r} twice.")
    arms = []
    for name, (strategy, overrides) in wanted.items():
        try:
            arms.append(Arm(name=name, settings=settings_for(strategy, overrides)))
        except SettingsError as error:
            faults += [f"arms.{name}: {line}" for line in str(error).splitlines()]
    return arms, faults
