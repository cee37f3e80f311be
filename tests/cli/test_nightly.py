"""Compare, gate, nightly, history and sweep from the command line: what they print and exit with."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxeng.harness.results.history import append_night
from tests.cli.conftest import Workspace
from tests.support.damaged import flip
from tests.support.nights import made_run, recalled_below


def test_two_nights_of_the_same_code_make_no_call_and_show_no_change(workspace: Workspace) -> None:
    """The first has nothing to compare with (3); two sessions can certify nothing (3 again)."""
    first = workspace.call("nightly", "experiments/small.toml", "--json")
    assert first.code == 3, first.err
    assert first.json["gate"]["reasons"] == ["no comparable earlier night in the history"]
    second = workspace.call("nightly", "experiments/small.toml", "--cache", "replay-only", "--json")
    assert second.code == 3, second.err
    assert second.json["calls_made"] == 0
    compared = second.json["compared"]
    assert compared["before"] == first.json["run_id"]
    assert {c["difference"] for c in compared["comparisons"]} == {0.0}
    assert {c["verdict"] for c in compared["comparisons"]} == {"not enough data"}
    assert compared["changes"] == []
    for file in ("html", "markdown", "junit", "history"):
        assert Path(second.json["paths"][file]).is_file()
    shown = workspace.call("history")
    assert shown.code == 0
    assert len([line for line in shown.out.splitlines() if line.startswith("20")]) == 2


@pytest.fixture
def nights(tmp_path: Path) -> Workspace:
    """Return a folder with three runs: a base, one alike, and one that lost a fifth."""
    for day, below in (("1", 6), ("2", 6), ("3", 4)):
        arms = {"main": recalled_below(below), "other": recalled_below(5)}
        settings = {"other": {"episodes": {"size": int(day)}}}
        made_run(tmp_path / "reports", f"n{day}", arms, sessions=40, started_at=f"2026-03-0{day}",
                 settings=settings)  # fmt: skip
    return Workspace(path=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("gate", "n2", "--against", "n1"), 0, "gate: pass (margin 10 points)"),
        (("gate", "n2", "--against", "n1"), 0, "not gated though changed: other (name them in"),
        (("gate", "n3", "--against", "n1", "--arm", "other"), 0, "  other interior: pass"),
        (("gate", "n3", "--against", "n1"), 1, "gate: regression (margin 10 points)"),
        (("gate", "n2", "--against", "n1", "--margin", "0.02"), 3, "gate: not enough data"),
        (("gate", "n2"), 3, "no comparable earlier night"),
        (("gate", "n2"), 3, "Name a run to compare with (--against RUN)"),
        (("compare", "n1", "n3"), 0, "-20 -24..-15  0.000"),
        (("compare", "n3:main", "n3:other"), 0, "better"),
        (
            ("compare", "n1:other", "n3:other"),
            0,
            "before  n1:other\nafter   n3:other\nchanged arms.o",
        ),
        (("compare", "n1:main", "n3:main"), 0, "after   n3:main\nAnswer"),
        (("sweep", "n1"), 0, "no better than main"),
    ],
)
def test_what_is_said_and_the_exit_code(
    arguments: tuple[str, ...], code: int, said: str, nights: Workspace
) -> None:
    """Within 100 columns."""
    done = nights.call(*arguments)
    assert (done.code, done.err) == (code, "")
    assert said in done.out
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_a_sweep_is_written_as_a_page(tmp_path: Path) -> None:
    """The notice of the offline model first; money along the sessions needs a page to join."""
    made_run(tmp_path / "reports", "n1", {"main": recalled_below(6), "other": recalled_below(1)},
             sessions=8)  # fmt: skip
    nights = Workspace(path=tmp_path)
    done = nights.call("sweep", "n1", "--markdown", "docs/n1.md")
    assert (done.code, done.out.split()) == (0, ["docs/n1.md"]), done.err
    lines = (nights.path / "docs/n1.md").read_text("utf-8").split("\n\n")
    assert lines[1].startswith("> Made with the offline model")
    assert any(line.startswith("**Came out.** Shown to differ from main") for line in lines)
    alone = nights.call("sweep", "n1", "--economics", "experiments/small.toml")
    assert alone.code == 2
    assert "--economics must stand with --markdown" in alone.err


def test_json_holds_every_verdict(nights: Workspace) -> None:
    """One line, with the p-values, the interval and the smallest drop that could be seen."""
    found = json.loads(nights.call("compare", "n1", "n3", "--json").out)
    by_arm = {(c["arm"], c["bucket"]): c for c in found["comparisons"]}
    assert by_arm["main", "interior"]["verdict"] == "worse"
    assert by_arm["other", "interior"]["verdict"] == "equivalent within margin"
    assert by_arm["main", "interior"]["lost"] == 80
    assert by_arm["main", "interior"]["mde"] < 0.2
    gate = json.loads(nights.call("gate", "n3", "--against", "n1", "--json").out)
    assert gate["gate"]["status"] == "regression"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "n1", "n9"), "run must be a run folder"),
        (("compare", "n1:main", "n2"), "both sides must name an arm, or none"),
        (("compare", "n1:main", "n1:nobody"), "arm must be one of main, other, got 'nobody'"),
        (("history",), "/reports/history. Run `ctxeng nightly EXPERIMENT.toml`."),
        (("history", "n"), "no nights yet in "),
        (("gate", "n1", "--margin", "0"), "margin"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_line(
    arguments: tuple[str, ...], said: str, nights: Workspace
) -> None:
    """Exit code 2, and no traceback."""
    done = nights.call(*arguments)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "command", [("compare", "n1", "n2"), ("gate", "n1", "--against", "n2"), ("report", "n2")]
)
@pytest.mark.parametrize("damage", ["table", "manifest"])
def test_a_damaged_run_is_named_in_a_line(
    command: tuple[str, ...], damage: str, tmp_path: Path
) -> None:
    """Exit code 2: 1 would be a regression."""
    for name in ("n1", "n2"):
        made_run(tmp_path / "reports", name, {"main": recalled_below(6)})
    cells, manifest = (tmp_path / "reports/n2" / f for f in ("cells.parquet", "manifest.json"))
    if damage == "table":
        os.truncate(cells, 100)
    else:
        manifest.write_text("{}")
    done = Workspace(path=tmp_path).call(*command)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert line.startswith("ctxeng: error: a run's ")
    assert str(cells if damage == "table" else manifest) in line


def test_history_names_a_damaged_night_and_shows_the_others(tmp_path: Path) -> None:
    """Its footer is whole, its cells are not."""
    history = tmp_path / "reports" / "history"
    for name in ("n1", "n2"):
        append_night(history, made_run(tmp_path / "reports", name, {"main": recalled_below(6)}))
    flip(history / "n2.parquet", 40, 400)
    done = Workspace(path=tmp_path).call("history")
    assert done.code == 0, done.err
    (line,) = done.err.splitlines()
    assert line.startswith(f"ctxeng: left out {history / 'n2.parquet'}: ")
    assert len([line for line in done.out.splitlines() if line.startswith("20")]) == 1


def test_an_error_nobody_expected_is_no_regression(
    nights: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The traceback, and exit code 2."""

    def fault(*_: object, **__: object) -> None:
        raise LookupError("nobody expected this")

    monkeypatch.setattr("ctxeng.harness.reports.nightly.against", fault)
    done = nights.call("gate", "n2", "--against", "n1")
    assert done.code == 2
    assert done.err.startswith("Traceback")
    assert done.err.endswith("LookupError: nobody expected this\n")
