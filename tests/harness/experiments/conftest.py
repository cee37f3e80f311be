"""Small experiment files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ctxeng.harness.experiments.schema import ExperimentFile

MINIMAL = """\
name = "quick"
sessions = ["datasets/a"]
probes = ["probes/a.jsonl"]
reference_arm = "episodes"

[arms.episodes]
strategy = "episodes"
"""


@pytest.fixture
def toml_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes an experiment file and returns its path."""

    def write(text: str = MINIMAL, name: str = "e.toml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def experiment() -> Callable[..., ExperimentFile]:
    """Return a function that makes a checked experiment, some keys changed."""

    def make(**changes: object) -> ExperimentFile:
        return ExperimentFile.model_validate(
            {
                "name": "quick",
                "sessions": ["datasets/a"],
                "probes": ["probes/a.jsonl"],
                "reference_arm": "episodes",
                "arms": {"episodes": {"strategy": "episodes"}},
                **changes,
            }
        )

    return make
