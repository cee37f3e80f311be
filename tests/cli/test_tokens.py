"""``ctxeng tokens`` from the command line."""

from __future__ import annotations

import orjson
import pytest

from tests.cli.conftest import Workspace
from tests.cli.test_bad_input import check_one_line


def test_rows_are_one_json_line_each(workspace: Workspace) -> None:
    """The estimate and the reference itself, in each language of the bundled sessions."""
    told = workspace.call("tokens", "datasets/bundled", "--counters", "heuristic,cl100k", "--json")
    assert told.code == 0, told.err
    rows = [orjson.loads(line) for line in told.out.splitlines()]
    assert {(row["counter"], row["language"]) for row in rows} == {
        (counter, language)
        for counter in ("heuristic", "tiktoken:cl100k_base")
        for language in ("en", "ja", "ko", "mixed")
    }
    for row in rows:
        if row["counter"] == "heuristic":
            assert 0 < abs(row["error_share"]) < 0.25
        else:
            assert row["error_share"] == 0
        assert row["texts"] > 0
        assert row["reference_tokens"] > 1000


def test_the_table_says_what_it_is_measured_against(workspace: Workspace) -> None:
    """A counter's error is nothing without its reference."""
    told = workspace.call("tokens", "datasets/bundled", "--reference", "o200k")
    assert told.code == 0, told.err
    assert "against tiktoken:o200k_base" in told.out
    assert told.out.count("+0.0 %") == 4


@pytest.mark.parametrize("option", ["--counters", "--reference"])
def test_an_unknown_counter_is_one_line(workspace: Workspace, option: str) -> None:
    """Refused before anything is read."""
    check_one_line(workspace.call("tokens", "nowhere", option, "abacus"), "counter must be")
