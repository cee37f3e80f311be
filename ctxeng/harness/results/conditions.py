"""Under which conditions a run was made: what must be equal to compare, and what may have changed.

Two runs are comparable when the same questions were asked about the same sessions and graded by
the same rules and the same judge. Everything else (strategies, models, prompts, code) is what a
comparison is about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

Conditions = Mapping[str, Any]
MUST_MATCH = {
    "hashes.probes": "probes",
    "hashes.sessions": "sessions",
    "hashes.scorer": "scorer",
    "models.judge": "judge",
    "models.extra.judge": "the judge's settings",
}
_HASH = re.compile("[0-9a-f]{9,}")
_NAMED = 3  # sessions named where as many differ at most
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
    """Return what forbids pooling two runs: a few words for each condition that must be equal.

    Example:
        ``probes (315 and 1)``, ``sessions (2 differ: a, b)``, ``scorer (1f0c88ad → 9be2f7d1)``
    """
    old, new = dict(_flat(before)), dict(_flat(after))
    found = []
    for key, name in MUST_MATCH.items():
        within = [n for n in sorted({*old, *new}) if n == key or n.startswith(f"{key}.")]
        changed = [n for n in within if old.get(n) != new.get(n)]
        if changed:
            counts = [side.get(f"counts.{name}") for side in (old, new)]
            found.append(f"{name} ({_told(key, changed, counts, old, new)})")
    return found


def _told(key: str, changed: list[str], counts: list[Any], old: Conditions, new: Conditions) -> str:
    """Return how one condition differs: by its counts, its values or the names of its parts."""
    if None not in counts and counts[0] != counts[1]:
        return f"{counts[0]} and {counts[1]}"
    if changed == [key]:
        return f"{_short(old.get(key))} → {_short(new.get(key))}"
    names = [_short(name.removeprefix(f"{key}.")) for name in changed if name != key]
    listed = f": {', '.join(names)}" if len(names) <= _NAMED else ""
    return f"{len(names)} differ{'s' if len(names) == 1 else ''}{listed}"


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
    if _HASH.fullmatch(text):
        return text[:8]
    return text if len(text) <= 40 else f"{text[:39]}…"
