"""`ctxeng ledger`: one exported file is enough to repeat a run without a network."""

from __future__ import annotations

from tests.cli.conftest import Workspace, cells

RUN = ("run", "experiments/small.toml", "--sessions", "1", "--probes", "2", "--json")


def test_an_exported_run_is_repeated_without_a_call(workspace: Workspace) -> None:
    """Export a run, lose the ledger, merge the file into a new one, replay only: the same cells."""
    plan = workspace.call("plan", *RUN[1:])
    first = workspace.call(*RUN)
    assert first.code == 0, first.err
    made = first.json["calls_made"]
    assert plan.json["calls_to_make"] == made > 0
    exported = workspace.call("ledger", "export", "carried.sqlite", "--run", "latest")
    assert exported.out.startswith(f"{made} calls")
    for file in (workspace.path / ".ctxeng").glob("ledger.sqlite*"):
        file.unlink()
    assert workspace.call("ledger", "merge", "carried.sqlite").out == f"{made} calls added\n"
    again = workspace.call(*RUN, "--cache", "replay-only")
    assert again.json["calls_made"] == 0
    assert cells(again.json["path"]) == cells(first.json["path"])
    listed = workspace.call("ledger", "stats")
    assert listed.out.splitlines()[-1].startswith(f"{made} answered calls")
    assert workspace.call("ledger", "prune", "--older-than", "0").out == f"{made} calls removed\n"


def test_a_missing_ledger_is_one_clear_line(workspace: Workspace) -> None:
    """Nothing is made by asking."""
    for arguments in (("stats",), ("prune", "--older-than", "1"), ("export", "x.sqlite")):
        found = workspace.call("ledger", *arguments)
        assert found.code == 2
        assert "ledger must be an existing file" in found.err
        assert len(found.err.splitlines()) == 1
    assert not (workspace.path / ".ctxeng" / "ledger.sqlite").exists()
