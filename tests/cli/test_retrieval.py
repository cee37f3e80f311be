"""``ctxeng retrieval eval`` from the command line."""

from __future__ import annotations

import orjson

from tests.cli.conftest import Workspace
from tests.cli.test_bad_input import check_one_line

DATASET = ("datasets/bundled", "--probes", "probes/bundled.jsonl")


def test_rows_are_one_json_line_each(workspace: Workspace) -> None:
    """Every method, category and k asked for; Korean probes alone."""
    told = workspace.call(
        "retrieval", "eval", *DATASET, "--k", "3", "--embedder", "hashing", "--language", "ko",
        "--json",
    )  # fmt: skip
    assert told.code == 0, told.err
    rows = [orjson.loads(line) for line in told.out.splitlines()]
    assert set(rows[0]) == {"method", "category", "k", "n", "recall", "mrr"}
    (hybrid,) = [r for r in rows if (r["method"], r["category"]) == ("hybrid", "all")]
    assert (hybrid["k"], hybrid["n"]) == (3, 66)
    assert 0 < hybrid["mrr"] <= 1


def test_a_bad_k_is_one_line(workspace: Workspace) -> None:
    """Refused before anything is read."""
    check_one_line(workspace.call("retrieval", "eval", "nowhere", "--k", "zero"), "k must be")
