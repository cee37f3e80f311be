"""The experiments that ship: each is read, planned over the data that ships, and says what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxeng.harness.experiments.arms import resolve_arms
from ctxeng.harness.experiments.prepared import RunOptions, prepare
from ctxeng.harness.experiments.toml import read_experiment
from ctxeng.harness.synth.sessions import SynthPlan, write_synthetic

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "experiments").glob("*.toml"))
SWEPT = {
    "overlap": {"episodes.overlap", "episodes.cut"},
    "phase": {"episodes.phase"},
    "thresholds": {"window.tokens", "rolling.threshold_tokens"},
    "thresholds_long": {"window.tokens", "rolling.threshold_tokens", "budget.total_tokens"},
    "lag": {"compaction.lag_messages", "compaction.when_late"},
    "episode_size": {"episodes.size", "episodes.target_tokens"},
    "distill_every": {"memory.every_episodes"},
    "min_messages": {"window.min_messages"},
    "cuts": {"episodes.cut"},
    "decay": {"rolling.threshold_tokens"},
}


def synthetic(workspace: Path) -> Path:
    """Make the sessions that the head of ``thresholds_long`` says to make first."""
    for n in (1800, 2000, 2200, 2400, 2600, 2800):
        plan = SynthPlan(sessions=2, messages=n, facts=30, seed=n)
        write_synthetic(plan, workspace / f"datasets/synthetic-{n}")
    return workspace


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_experiment_that_ships_is_whole(file: Path, tmp_path: Path) -> None:
    """Its sessions and probes are there, its arms differ, its name is the file's, a comment opens."""
    workspace = synthetic(tmp_path) if file.stem == "thresholds_long" else ROOT
    prepared = prepare(file, workspace=workspace, options=RunOptions(out=tmp_path / "reports"))
    assert prepared.experiment.name == file.stem
    assert prepared.inputs.probe_count >= 40
    settings = [arm.settings for arm in prepared.arms if not arm.is_control]
    assert len(set(map(repr, settings))) == len(settings)
    assert file.read_text("utf-8").startswith("# ")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_experiment_that_ships_is_listed(file: Path) -> None:
    """The folder's README has a line for it."""
    listed = (ROOT / "experiments/README.md").read_text("utf-8")
    assert re.search(rf"^\| `{file.stem}` \|", listed, flags=re.MULTILINE)


@pytest.mark.parametrize("name", SWEPT)
def test_a_sweep_that_ships_moves_what_its_name_says_alone(name: str) -> None:
    """Arms of one base differ from it in the swept settings and in nothing else."""
    arms = {a.name: a for a in resolve_arms(read_experiment(ROOT / f"experiments/{name}.toml"))}
    moved = set()
    for arm, made in arms.items():
        if "[" in arm:
            base = arms[arm.partition("[")[0]].settings.model_dump()
            for section, values in made.settings.model_dump().items():
                moved |= {f"{section}.{k}" for k, v in values.items() if base[section][k] != v}
    assert moved == SWEPT[name]


def test_the_phases_put_every_fact_at_every_place_of_an_episode() -> None:
    arms = resolve_arms(read_experiment(ROOT / "experiments/phase.toml"))
    episodes = [arm.settings.episodes for arm in arms if not arm.is_control]
    assert sorted(e.phase for e in episodes) == list(range(episodes[0].size))


def test_a_lag_of_never_is_read_as_no_number() -> None:
    arms = resolve_arms(read_experiment(ROOT / "experiments/lag.toml"))
    lags = [arm.settings.compaction.lag_messages for arm in arms if arm.control is None]
    assert lags == [0, 2, 6, None, 0, 2, 6, None]
