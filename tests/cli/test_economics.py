"""`ctxeng economics` and `ctxeng advise` from the command line."""

from __future__ import annotations

import re

from tests.cli.conftest import Workspace

SMALL = ("experiments/small.toml", "--sessions", "1")


def test_economics_are_told_in_a_file_and_as_json(workspace: Workspace) -> None:
    """One replay, two shapes; the whole history is the first arm and saves nothing."""
    told = workspace.call("economics", *SMALL, "--out", "out/e.md", "--json")
    assert told.code == 0, told.err
    page = (workspace.path / "out" / "e.md").read_text("utf-8")
    assert page.startswith(
        "# Economics of a session: small\n\nSummaries were written by the offline"
    )
    row = re.search(r"^\| three_tier \|.*$", page.split("USD per 1,000 turns")[1], re.MULTILINE)
    assert row is not None
    found = told.json
    full, tiers, rolling = found["arms"]
    assert [arm["arm"] for arm in (full, tiers, rolling)] == ["full", "three_tier", "rolling"]
    assert {cost["saved_share"] for cost in full["costs"]} == {0.0}
    assert f"| {tiers['costs'][0]['usd_per_1000_turns']:.2f} |" in row[0]
    assert set(tiers["compaction"]) == {"episode", "memory"}
    assert {claim["claim"][:8] for claim in found["claims"]} >= {"API cost", "A distil", "Cache hi"}


def test_advice_for_short_chats_is_no(workspace: Workspace) -> None:
    """The bundled sessions all fit an article-size window."""
    told = workspace.call("advise", "datasets/bundled")
    assert told.code == 0, told.err
    assert told.out.splitlines()[0] == "Would compaction help? No."
    assert workspace.call("advise", "datasets/bundled", "--json").json["answer"] == "no"
