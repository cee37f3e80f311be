"""A public benchmark as an experiment: import a user's copy, scale every built-in arm to it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.run import import_paths
from ctxeng.harness.probes.io import read_probes
from ctxeng.harness.sessions.io import atomic_file, load_dataset
from ctxeng.tokens import open_counter

BENCHMARKS = ("locomo", "longmemeval", "beam", "memdaily")
REFERENCE = "three_tier"
BUDGET_SHARE = 0.25
RESERVED = 8  # one part in eight
MIN_BUDGET_TOKENS, MAX_BUDGET_TOKENS = 300, 16_000
_WINDOW, _ROLLING = 0.3, {"threshold_tokens": 0.15, "target_tokens": 0.12}
_EPISODES = {"size": 6, "overlap": 1, "cut": "fixed", "target_tokens": 80}
_HIERARCHY = {"chunk_messages": 6, "fan_in": 3, "chunk_tokens": 80, "level_tokens": [120, 150, 180]}
_SHARES = {"summary_tokens": 0.25, "memory_tokens": 0.15, "retrieved_tokens": 0.2}
_PARTS: Mapping[str, tuple[str, ...]] = {
    "episodes_memory": ("episodes", "memory"),
    "full_history": (),
    "recent_window": (),
    "rolling": ("rolling",),
    "hierarchical": ("hierarchy",),
    "episodes": ("episodes",),
    "retrieval": ("retrieval",),
    "hybrid": ("rolling", "hierarchy", "episodes", "memory", "retrieval"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """An imported benchmark, ready to run.

    Args:
        budget_tokens: of every arm but the whole history.
        excluded: questions that are not asked, by reason.
    """

    name: str
    experiment: Path
    budget_tokens: int
    excluded: Mapping[str, int]

    @property
    def room_tokens(self) -> int:
        """Return the tokens that prompts may fill: the budget less its reserve for the answer."""
        return self.budget_tokens - self.budget_tokens // RESERVED


def lay_out_benchmark(
    name: str,
    source: Path,
    folder: Path,
    *,
    models: Mapping[str, str],
    exclude: Sequence[Path] = (),
) -> Benchmark:
    """Import a copy of a benchmark below ``folder`` and write its experiment file.

    Every arm gets a quarter of the median session as its budget, so that all of them have to leave
    something out. Label errors that lie beside the copy (``label_errata.json``) and those of
    ``exclude`` files are not asked.

    Raises:
        DatasetError: no such benchmark, or the copy holds no questions.
    """
    if name not in BENCHMARKS:
        raise DatasetError(f"benchmark must be one of {', '.join(BENCHMARKS)}, got {name!r}.")
    import_paths(name, [source], folder)
    probe_file = folder / "probes.jsonl"
    if not probe_file.is_file():
        raise DatasetError(f"{name} must hold questions, got none in {source}. Check the path.")
    asked = {probe.session_id for probe in read_probes(probe_file)}
    sessions = [s for s in load_dataset([folder]) if s.session_id in asked]
    count = open_counter("heuristic").count
    sizes = [sum(count(message.text) for message in session.messages) for session in sessions]
    budget = _budget(median(sizes))
    experiment = folder / "experiment.toml"
    with atomic_file(experiment) as stream:
        text = _toml(name, folder.resolve(), budget, models, [path.resolve() for path in exclude])
        stream.write(text.encode("utf-8"))
    return Benchmark(
        name=name, experiment=experiment, budget_tokens=budget, excluded=_reasons(probe_file)
    )


def _budget(session_tokens: float) -> int:
    wanted = round(session_tokens * BUDGET_SHARE / 100) * 100
    return int(min(MAX_BUDGET_TOKENS, max(MIN_BUDGET_TOKENS, wanted)))


def _reasons(probe_file: Path) -> Mapping[str, int]:
    excluded = [probe for probe in read_probes(probe_file) if probe.status == "excluded"]
    return dict(Counter(probe.note for probe in excluded).most_common())


def _toml(
    name: str, folder: Path, budget: int, models: Mapping[str, str], exclude: Sequence[Path]
) -> str:
    lines = [
        f"# {name}: every built-in strategy within {budget} tokens; written by ctxeng benchmark.",
        f"name = {json.dumps(f'benchmark-{name}')}",
        f"sessions = [{json.dumps(str(folder))}]",
        f"probes = [{json.dumps(str(folder / 'probes.jsonl'))}]",
        f"exclude = {json.dumps([str(path) for path in exclude])}",
        f"reference_arm = {json.dumps(REFERENCE)}",
        'controls = ["full", "none"]',
        "",
        "[models]",
        *(f"{role} = {json.dumps(model)}" for role, model in models.items()),
    ]
    for strategy in _PARTS:
        arm = REFERENCE if strategy == "episodes_memory" else strategy
        lines += ["", f"[arms.{arm}]", f"strategy = {json.dumps(strategy)}"]
        lines += [f"{key} = {_inline(value)}" for key, value in _settings(strategy, budget).items()]
    return "\n".join(lines) + "\n"


def _settings(strategy: str, budget: int) -> dict[str, dict[str, Any]]:
    """Return the sections of an arm; what is a share of the budget is worked out."""
    held = {"total_tokens": budget, "reserve_tokens": budget // RESERVED}
    parts = _PARTS[strategy]
    if strategy == "full_history":
        return {"budget": held}
    wanted = {
        "summary_tokens": {"rolling", "hierarchy", "episodes"} & set(parts),
        "memory_tokens": {"memory"} & set(parts),
        "retrieved_tokens": {"retrieval"} & set(parts),
    }
    held |= {key: round(budget * _SHARES[key]) for key, uses in wanted.items() if uses}
    sections: dict[str, dict[str, Any]] = {
        "rolling": {key: round(budget * share) for key, share in _ROLLING.items()},
        "hierarchy": _HIERARCHY,
        "episodes": _EPISODES,
        "memory": {"every_episodes": 3, "target_tokens": max(50, round(budget * 0.12))},
        "retrieval": {"gate": "always", "groups": max(4, budget // 600)},
    }
    window = {"tokens": round(budget * _WINDOW), "min_messages": 4}
    return {"window": window, **{part: sections[part] for part in parts}, "budget": held}


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + " }"
