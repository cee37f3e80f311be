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
from ctxeng.core.messages import Session
from ctxeng.harness.experiments.inputs import exclusions
from ctxeng.harness.importers.run import import_paths
from ctxeng.harness.probes.io import read_probes
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay.asking import reader_system
from ctxeng.harness.sessions.io import atomic_file, load_dataset
from ctxeng.tokens import open_counter

BENCHMARKS = ("locomo", "longmemeval", "beam", "memdaily")
REFERENCE = "three_tier"
BUDGET_SHARE = 0.25
RESERVED = 8  # one part in eight
LEAST_QUARTER_TOKENS, MAX_BUDGET_TOKENS = 50, 16_000
_WINDOW, _ROLLING = 0.3, {"threshold_tokens": 0.15, "target_tokens": 0.12}
_MEMORY, _KEPT = 0.12, 0.4
_HIGHER = (1.5, 1.875, 2.25)
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
class Scale:
    """How large a benchmark is, and what every arm is scaled to by it.

    Args:
        messages, tokens: of the median session.
        question_tokens: of the longest question with the text that asks it.
    """

    messages: float
    tokens: float
    question_tokens: int = 0

    @property
    def quarter_tokens(self) -> int:
        """Return a quarter of the median session, rounded."""
        step = 100 if self.tokens * BUDGET_SHARE >= 1000 else 10
        wanted = round(self.tokens * BUDGET_SHARE / step) * step
        return int(min(MAX_BUDGET_TOKENS, max(LEAST_QUARTER_TOKENS, wanted)))

    @property
    def budget_tokens(self) -> int:
        """Return the quarter, or what a question takes beside two messages and a note.

        In short sessions the question and its instructions are as long as what was said, and in
        less room no arm could show more than its last message.
        """
        room = 2 * self.tokens / self.messages + self.part_tokens
        asked = (self.question_tokens + room) * RESERVED / (RESERVED - 1)
        return max(self.quarter_tokens, 10 * round(asked / 10))

    @property
    def least_recent(self) -> int:
        """Return how many messages stay raw however long they are: 4, in short sessions fewer."""
        return _within(1, self.messages / 8, 4)

    @property
    def part_messages(self) -> int:
        """Return the messages of an episode or a chunk: 6, in short sessions fewer."""
        return _within(2, self.messages / 8, 6)

    @property
    def part_tokens(self) -> int:
        """Return the length of the note on an episode or a chunk: 80 tokens, or 40 % of it."""
        return _within(20, self.part_messages * self.tokens / self.messages * _KEPT, 80)

    @property
    def every_episodes(self) -> int:
        """Return after how many episodes memory is distilled: 3, in short sessions fewer."""
        return _within(1, self.messages / self.part_messages / 4, 3)

    def record(self) -> dict[str, float]:
        """Return what was measured and what was chosen by it, as plain JSON."""
        chosen = "budget_tokens", "least_recent", "part_messages", "part_tokens", "every_episodes"
        measured = {"median_messages": self.messages, "median_tokens": self.tokens}
        return measured | {name: getattr(self, name) for name in chosen}


def _within(least: int, wanted: float, most: int) -> int:
    return min(most, max(least, int(wanted)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """An imported benchmark, ready to run.

    Args:
        scale: of the arms; its budget is that of every arm but the whole history.
        excluded: questions that are not asked, by reason.
        excluded_elsewhere: ids of the exclusion files that no question of this copy has.
    """

    name: str
    experiment: Path
    scale: Scale
    excluded: Mapping[str, int]
    excluded_elsewhere: int

    @property
    def budget_tokens(self) -> int:
        """Return the tokens of every arm but the whole history."""
        return self.scale.budget_tokens

    @property
    def room_tokens(self) -> int:
        """Return the tokens left for what was said: less the question and the answer's reserve."""
        return self.budget_tokens - self.budget_tokens // RESERVED - self.scale.question_tokens


def lay_out_benchmark(
    name: str,
    source: Path,
    folder: Path,
    *,
    models: Mapping[str, str],
    exclude: Sequence[Path] = (),
) -> Benchmark:
    """Import a copy of a benchmark below ``folder`` and write its experiment file.

    Every arm gets a quarter of the median session as its budget, and windows, episodes and notes
    to match, so that all of them have to leave something out. Label errors that lie beside the
    copy (``label_errata.json``) and those of ``exclude`` files are not asked.

    Raises:
        DatasetError: no such benchmark, or the copy holds no questions.
    """
    if name not in BENCHMARKS:
        raise DatasetError(f"benchmark must be one of {', '.join(BENCHMARKS)}, got {name!r}.")
    import_paths(name, [source], folder)
    probe_file = folder / "probes.jsonl"
    if not probe_file.is_file():
        raise DatasetError(f"{name} must hold questions, got none in {source}. Check the path.")
    scale = _scale(load_dataset([folder]), read_probes(probe_file))
    experiment = folder / "experiment.toml"
    with atomic_file(experiment) as stream:
        text = _toml(name, folder.resolve(), scale, models, [path.resolve() for path in exclude])
        stream.write(text.encode("utf-8"))
    probes = read_probes(probe_file)
    told = exclusions(exclude, {probe.probe_id for probe in probes})
    return Benchmark(
        name=name,
        experiment=experiment,
        scale=scale,
        excluded=_reasons(probes, told.reasons),
        excluded_elsewhere=told.elsewhere,
    )


def _scale(sessions: Sequence[Session], probes: Sequence[Probe]) -> Scale:
    """Return the scale of the sessions that somebody asks about."""
    asked = {probe.session_id for probe in probes}
    read = [session for session in sessions if session.session_id in asked]
    count = open_counter("heuristic").count
    return Scale(
        messages=median(len(session.messages) for session in read),
        tokens=median(sum(count(m.text) for m in session.messages) for session in read),
        question_tokens=count(reader_system()) + max(count(probe.question) for probe in probes),
    )


def _reasons(probes: Sequence[Probe], told: Mapping[str, str]) -> Mapping[str, int]:
    """Return how many questions are not asked, by the reason of the import or of a file."""
    reasons = (p.note if p.status == "excluded" else told.get(p.probe_id) for p in probes)
    return dict(Counter(reason for reason in reasons if reason is not None).most_common())


def _toml(
    name: str, folder: Path, scale: Scale, models: Mapping[str, str], exclude: Sequence[Path]
) -> str:
    lines = [
        f"# {name}: every built-in strategy within {scale.budget_tokens} tokens; "
        "written by ctxeng benchmark.",
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
        lines += [f"{key} = {_inline(value)}" for key, value in _settings(strategy, scale).items()]
    return "\n".join(lines) + "\n"


def _settings(strategy: str, scale: Scale) -> dict[str, dict[str, Any]]:
    """Return the sections of an arm; what is a share of the budget is worked out."""
    budget = scale.budget_tokens
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
    window = {"tokens": round(scale.quarter_tokens * _WINDOW), "min_messages": scale.least_recent}
    sections = _sections(scale)
    return {"window": window, **{part: sections[part] for part in parts}, "budget": held}


def _sections(scale: Scale) -> dict[str, dict[str, Any]]:
    quarter, part, note = scale.quarter_tokens, scale.part_messages, scale.part_tokens
    return {
        "rolling": {key: max(20, round(quarter * share)) for key, share in _ROLLING.items()},
        "hierarchy": {
            "chunk_messages": part,
            "fan_in": 3,
            "chunk_tokens": note,
            "level_tokens": [round(note * higher) for higher in _HIGHER],
        },
        "episodes": {"size": part, "overlap": 1, "cut": "fixed", "target_tokens": note},
        "memory": {
            "every_episodes": scale.every_episodes,
            "target_tokens": max(50, round(quarter * _MEMORY)),
        },
        "retrieval": {"gate": "always", "groups": max(4, quarter // 600)},
    }


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + " }"
