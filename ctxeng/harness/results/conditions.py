"""Under which conditions a run was made: what must be equal to compare, and what may have changed.

Two runs are comparable when the same questions were asked about the same sessions and graded by
the same rules and the same judge. Everything else (strategies, models, prompts, code) is what a
comparison is about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

Conditions = Mapping[str, Any]
MUST_MATCH = (
    "hashes.probes",
    "hashes.sessions",
    "hashes.scorer",
    "models.judge",
    "models.extra.judge",
)
_NOISE = ("run_id", "started_at", "counts", "gate", "versions.platform")


def conditions_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a run's manifest decides its cells, as plain JSON."""
    experiment = manifest.get("experiment", {})
    return {
        "run_id": manifest.get("run_id"),
        "started_at": manifest.get("started_at"),
        "experiment": experiment.get("name"),
        "is_offline": manifest.get("is_offline"),
        "reference_arm": manifest.get("reference_arm"),
        "arms": {name: arm["settings"] for name, arm in manifest.get("arms", {}).items()},
        "controls": [n for n, arm in manifest.get("arms", {}).items() if arm["control"]],
        "models": experiment.get("models", {}),
        "replicates": experiment.get("replicates", {}),
        "gate": experiment.get("gate", {}),
        "hashes": manifest.get("hashes", {}),
        "versions": manifest.get("versions", {}),
        "counts": manifest.get("counts", {}),
    }


def obstacles(before: Conditions, after: Conditions) -> list[str]:
    """Return what forbids pooling two runs: one line for each condition that must be equal."""
    return [
        line
        for line in differences(before, after)
        if any(line == key or line.startswith((f"{key}:", f"{key}.")) for key in MUST_MATCH)
    ]


def differences(
    before: Conditions, after: Conditions, *, arms: Collection[str] | None = None
) -> list[str]:
    """Return every condition that differs, ``name: before → after``, in order of name.

    Args:
        arms: the arms whose settings matter; None: all.

    Example:
        ``arms.three_tier.episodes.size: 6 → 8``
    """
    old, new = (dict(_flat(_with_arms(side, arms))) for side in (before, after))
    return [
        f"{name}: {_short(old.get(name))} → {_short(new.get(name))}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name) and not name.startswith(_NOISE)
    ]


def _with_arms(conditions: Conditions, arms: Collection[str] | None) -> Conditions:
    if arms is None:
        return conditions
    kept = {name: of for name, of in conditions.get("arms", {}).items() if name in arms}
    return {**conditions, "arms": kept}


def changed_arms(before: Conditions, after: Conditions) -> list[str]:
    """Return the arms of both runs whose settings differ, controls left out, in the later order."""
    old = before.get("arms", {})
    return [
        name
        for name, settings in after.get("arms", {}).items()
        if name in old and old[name] != settings and name not in after.get("controls", ())
    ]


def error_share(conditions: Conditions) -> float:
    """Return the share of a run's cells that are errors, 0..1; 1.0 for a run without cells."""
    counts = conditions.get("counts", {})
    cells = counts.get("cells") or 0
    return float(counts.get("outcomes", {}).get("error", 0)) / cells if cells else 1.0


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _short(value: Any) -> str:
    text = "none" if value is None or value == {} else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
