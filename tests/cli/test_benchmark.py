"""``ctxeng benchmark`` from the command line, on a small set of the benchmark's own shape."""

from __future__ import annotations

from tests.cli.conftest import Workspace
from tests.harness.experiments.test_benchmark import locomo


def test_a_benchmark_is_one_command(workspace: Workspace) -> None:
    """Eleven arms with BM25, by category and position; what is not asked is told with its reason."""
    locomo(workspace.path / "l.json")
    done = workspace.run("benchmark", "locomo", "l.json", "--json")
    assert done.code == 0, done.err
    told = done.json
    overall = {row["arm"]: row for row in told["overall"]}
    assert len(overall) == 11
    assert (overall["full"]["in_context"], overall["none"]["in_context"]) == (1.0, 0.0)
    assert overall["bm25"]["n"] == overall["three_tier"]["n"] == 2
    assert overall["bm25"]["answered"] is None
    assert overall["full_history"]["context_tokens"] < overall["full"]["context_tokens"]
    assert len({row["group"] for row in told["by_category"]}) == 2
    assert sum(told["excluded"].values()) == 1
    assert "| bm25 | 2 |" in (workspace.path / told["path"]).read_text("utf-8")
