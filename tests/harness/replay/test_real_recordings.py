"""The whole path on real recordings: imported, replayed through the builder, measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ctxeng.harness.experiments.launch import run_prepared
from ctxeng.harness.experiments.prepared import RunOptions, prepare
from ctxeng.harness.importers.run import import_paths
from ctxeng.harness.probes.io import read_probes
from ctxeng.harness.scoring.lint import lint
from ctxeng.harness.sessions.io import load_dataset
from tests.support.databases import remove_database

CODING_SESSION = "ae4a77f8-aedd-4bc1-888f-c94edc91af04"
CODING_PROBES = Path(__file__).resolve().parents[2] / "data" / "claude_code_probes.jsonl"
EXPERIMENT = """
name = "real"
sessions = ["datasets/real"]
probes = ["{probes}"]
reference_arm = "three_tier"
controls = ["full", "none", "oracle", "verbatim"]
[models]
reader = "none"
judge = "none"
embedder = "hashing"
[arms.three_tier]
strategy = "episodes_memory"
window = {{ tokens = {window} }}
episodes = {{ target_tokens = 80 }}
memory = {{ target_tokens = 400 }}
budget = {{ total_tokens = {total}, reserve_tokens = 500 }}
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Return an empty workspace; its database is removed afterwards."""
    yield tmp_path
    remove_database(tmp_path)


async def measured(
    home: Path, *, probe_file: str, window: int, total: int, **options: Any
) -> list[Any]:
    file = home / "real.toml"
    file.write_text(EXPERIMENT.format(probes=probe_file, window=window, total=total), "utf-8")
    chosen = RunOptions(out=home / "reports", **options)
    run = await run_prepared(prepare(file, workspace=home, options=chosen), chosen)
    return pq.read_table(run.table("cells")).to_pylist()


def shares(cells: list[Any], column: str) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for cell in cells:
        if cell[column] is not None:
            found.setdefault(cell["arm"], []).append(float(cell[column]))
    return {arm: sum(values) / len(values) for arm, values in found.items()}


async def test_a_coding_session_is_measured(shared_data: Path, home: Path) -> None:
    """462 messages with tool traffic: the controls hold, and compaction really loses something."""
    import_paths(
        "claude-code",
        [shared_data / "claude-code" / f"{CODING_SESSION}.jsonl"],
        home / "datasets" / "real",
    )
    sessions = load_dataset([home / "datasets" / "real"])
    probes = read_probes(CODING_PROBES)
    assert len(probes) >= 20
    assert lint(probes, sessions) == []
    cells = await measured(home, probe_file=str(CODING_PROBES), window=3000, total=12_000)
    in_context = shares(cells, "value_in_context")
    assert (in_context["full"], in_context["verbatim"], in_context["none"]) == (1.0, 1.0, 0.0)
    assert in_context["oracle"] == 1.0
    assert 0.0 < in_context["three_tier"] < 0.6
    tokens = shares(cells, "context_tokens")
    assert tokens["three_tier"] < 0.2 * tokens["full"]
    losses = {c["loss_stage"] for c in cells if c["arm"] == "three_tier"}
    assert losses >= {"lost_in_summary"}


async def test_a_locomo_conversation_is_measured_by_its_evidence(
    shared_data: Path, home: Path
) -> None:
    """Answers are paraphrases: presence is the evidence messages, whole in full, none in none."""
    out = home / "datasets" / "real"
    import_paths("locomo", [shared_data / "locomo" / "locomo6.json"], out)
    cells = await measured(
        home, probe_file="datasets/real/probes.jsonl", window=800, total=5000, sessions=1, probes=40
    )
    evidence = shares(cells, "evidence_in_context")
    assert (evidence["full"], evidence["oracle"], evidence["none"]) == (1.0, 1.0, 0.0)
    assert evidence["three_tier"] < 0.5
    assert {c["category"] for c in cells} >= {"1", "2", "3"}
