"""``ctxeng probes`` and ``ctxeng judge`` from the command line, over a small session."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from ctxeng.cli.reviewing import review_file
from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.io import read_probes
from ctxeng.harness.sessions.io import load_dataset, write_session
from tests.cli.conftest import ROOT, Workspace
from tests.harness.reports.made import made_run

SAID = (
    "Good morning, shall we plan the move?",
    "The deposit for the hall is $450 and it is paid.",
    "Your ticket for the broken lift is OPS-4812, keep it.",
    "The venue changed from Madrid to Lisbon.",
)
PROBE: dict[str, Any] = {
    "id": "p", "session_id": "s", "question": "What is the deposit?", "kind": "number",
    "evidence": [[2, 2]], "expect": [["$450"]],
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """Return a folder with one session."""
    messages = tuple(Message(seq=i, role="user", content=text) for i, text in enumerate(SAID))
    write_session(Session(session_id="s", messages=messages, language="en"), tmp_path / "s.jsonl")
    return Workspace(path=tmp_path)


def write(path: Path, *records: dict[str, Any]) -> None:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(r) + "\n" for r in records), "utf-8")


def test_a_finding_names_place_rule_evidence_and_remedy(here: Workspace) -> None:
    """File and line, in text and as JSON; exit code 1."""
    write(here.path / "p.jsonl", PROBE)
    done = here.call("probes", "lint", "p.jsonl", "--sessions", "s.jsonl")
    assert done.code == 1
    for part in ("p.jsonl:1: p: value not in evidence: $450", "evidence seqs 2", "--fix"):
        assert part in done.out
    told = here.call("probes", "lint", "p.jsonl", "--sessions", "s.jsonl", "--json")
    first = json.loads(told.out.splitlines()[0])
    assert (first["id"], first["rule"], first["where"]) == (
        "p", "value_not_in_evidence", "p.jsonl:1"
    )  # fmt: skip


def test_fix_writes_evidence_that_stands_in_one_message(here: Workspace) -> None:
    """Found uniquely, it is written and nothing is left to find; else the file stays as it is."""
    write(here.path / "p.jsonl", PROBE)
    done = here.call("probes", "lint", "p.jsonl", "--sessions", "s.jsonl", "--fix")
    assert (done.code, read_probes(here.path / "p.jsonl")[0].evidence_seqs) == (0, (1,))
    assert "1 probe mended\n1 probe, 0 findings" in done.out
    write(here.path / "p.jsonl", {**PROBE, "expect": [["$999"]]})
    before = (here.path / "p.jsonl").read_bytes()
    assert here.call("probes", "lint", "p.jsonl", "--sessions", "s.jsonl", "--fix").code == 1
    assert (here.path / "p.jsonl").read_bytes() == before


def test_drafts_are_written_once_and_reviewed_by_one_key(
    here: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Accept freezes, reject excludes, skip leaves; the file is written after each key."""
    done = here.call("probes", "draft", "s.jsonl", "--out", "d.jsonl")
    assert (done.code, done.out) == (
        0, "3 drafts in d.jsonl; next: ctxeng probes review d.jsonl --sessions s.jsonl\n"
    )  # fmt: skip
    assert here.call("probes", "draft", "s.jsonl", "--out", "d.jsonl").code == 2
    linted = here.call("probes", "lint", "d.jsonl", "--sessions", "s.jsonl")
    assert linted.out == "3 probes (3 drafts: not asked), 0 findings\n"
    keys = iter("xarq")
    monkeypatch.setattr(typer, "getchar", lambda: next(keys))
    file = here.path / "d.jsonl"
    counts = review_file(file, load_dataset([here.path / "s.jsonl"]))
    shown = capsys.readouterr().out
    assert dict(counts) == {"accepted": 1, "excluded": 1, "draft": 1}
    linted = here.call("probes", "lint", "d.jsonl", "--sessions", "s.jsonl")
    assert linted.out == "3 probes (1 draft, 1 excluded: not asked), 0 findings\n"
    first, second, third = read_probes(file)
    assert (first.status, bool(first.frozen)) == ("accepted", True)
    assert (second.status, second.frozen, third.status) == ("excluded", None, "draft")
    assert ">    1 user: The deposit for the hall is ⟦$450⟧" in shown
    assert "     0 user: Good morning" in shown
    assert "a accept, e edit, r reject" in shown


def test_the_value_is_shown_however_far_into_a_message_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A draft can only be accepted by who has seen its evidence."""
    text = "So it goes on and on. " * 100 + "The deposit is $450. " + "And on. " * 100
    said = (Message(seq=0, role="user", content=text),)
    write_session(Session(session_id="s", messages=said, language="en"), tmp_path / "s.jsonl")
    write(tmp_path / "d.jsonl", {**PROBE, "evidence": [[0, 0]], "status": "draft"})
    monkeypatch.setattr(typer, "getchar", lambda: "q")
    review_file(tmp_path / "d.jsonl", load_dataset([tmp_path / "s.jsonl"]))
    (line,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith(">")]
    assert "The deposit is ⟦$450⟧." in line
    assert len(line) < 500


def test_rejected_probes_are_not_linted(here: Workspace) -> None:
    """What is never asked may be at fault."""
    write(here.path / "p.jsonl", {**PROBE, "status": "excluded"})
    done = here.call("probes", "lint", "p.jsonl", "--sessions", "s.jsonl")
    assert (done.code, done.out) == (0, "1 probe (1 excluded: not asked), 0 findings\n")


def test_a_review_without_a_terminal_is_one_sentence(here: Workspace) -> None:
    """No key can be read: exit code 2, the file stays, and there is no traceback."""
    write(here.path / "d.jsonl", {**PROBE, "status": "draft"})
    before = (here.path / "d.jsonl").read_bytes()
    done = subprocess.run(
        here.command("probes", "review", "d.jsonl", "--sessions", "s.jsonl"),
        cwd=here.path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False, start_new_session=True,
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "must have a terminal to read keys from, got none" in done.stderr
    assert (here.path / "d.jsonl").read_bytes() == before


def test_a_draft_is_edited_until_lint_is_content(
    here: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Acceptance is refused while lint finds something; the edited probe is what is frozen."""
    write(here.path / "d.jsonl", {**PROBE, "status": "draft"})
    keys, lines = iter("aea"), iter(["How much is the deposit?", "$450 | 450 USD", "-", "1"])
    monkeypatch.setattr(typer, "getchar", lambda: next(keys))
    monkeypatch.setattr(typer, "prompt", lambda *a, **k: next(lines))
    review_file(here.path / "d.jsonl", load_dataset([here.path / "s.jsonl"]))
    (probe,) = read_probes(here.path / "d.jsonl")
    assert "lint must find nothing" in capsys.readouterr().out
    assert (probe.question, probe.expect, probe.evidence_seqs, probe.status) == (
        "How much is the deposit?", (("$450", "450 USD"),), (1,), "accepted"
    )  # fmt: skip


def test_an_edit_that_makes_no_sense_changes_nothing(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans that are none, or beyond the session, are told and the probe stays as it was."""
    write(here.path / "d.jsonl", {**PROBE, "status": "draft"})
    before = (here.path / "d.jsonl").read_bytes()
    for evidence in ("one", "3-1", "99"):
        keys, lines = iter("eq"), iter(["Q?", "$450", "-", evidence])
        monkeypatch.setattr(typer, "getchar", lambda keys=keys: next(keys))
        monkeypatch.setattr(typer, "prompt", lambda *a, lines=lines, **k: next(lines))
        review_file(here.path / "d.jsonl", load_dataset([here.path / "s.jsonl"]))
    assert (here.path / "d.jsonl").read_bytes() == before


def test_a_plan_from_assumptions(here: Workspace) -> None:
    """A drop of ten points at 2 % noise: 116 pairs or so, more where probes are tied."""
    alone = here.call("probes", "plan", "--correlation", "0", "--per-session", "1", "--json")
    tied = here.call("probes", "plan", "--correlation", "0.3", "--per-session", "9", "--json")
    assert alone.json["probes"] == alone.json["independent_pairs"]
    assert tied.json["probes"] == 9 * tied.json["sessions"] > 3 * alone.json["probes"]
    shown = here.call("probes", "plan", "--effect", "0.005").out
    assert "no number up to 5000" in shown
    assert all(
        len(line) <= 100
        for line in [*shown.splitlines(), *here.call("probes", "plan").out.splitlines()]
    )


def test_a_plan_from_a_pilot_says_on_how_little_it_rests(tmp_path: Path) -> None:
    """And which arms were compared, and why these."""
    made_run(tmp_path / "reports", sessions=8)
    done = Workspace(path=tmp_path).call("probes", "plan", "--run", "latest")
    assert "(the first other arm; --against names another)" in done.err
    lines = " ".join(done.out.split())
    assert "of 4 probes alone: too few to plan by" in lines
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_judges_are_calibrated_on_labels(here: Workspace) -> None:
    """One block a judge, the literal scorer first; unclear labels are left out."""
    base = {"question": "Deposit?", "kind": "number", "expect": [["$450"]]}
    answers = [("$450", "right"), ("$45", "wrong"), ("$450", "unclear"), ("It is $450.", "right")]
    write(
        here.path / "labels.jsonl",
        *({**base, "answer": a, "human": h, "judges": {"kind": "right"}} for a, h in answers),
    )
    done = here.call("judge", "calibrate", "labels.jsonl")
    assert "literal: 3 decided, 0 undecided; both right 2" in done.out
    assert "kappa 1.00 (no interval: 3 answers, it needs 10)" in done.out
    assert "kappa 0.00 (no interval: the judge gave one verdict only)" in done.out


@pytest.mark.parametrize(
    ("record", "part"),
    [
        ({"answer": "x", "expect": []}, "human must be one of"),
        ({"answer": "x", "human": "right"}, "must have expect"),
        ({"human": "right"}, "with an answer"),
        ({"answer": "x", "human": "right", "expect": "y"}, "must be lists"),
        ({"answer": "x", "expect": [], "human": "right", "judges": {"a": "yes"}}, "judges must be"),
    ],
)
def test_a_faulty_label_is_one_clear_line(
    here: Workspace, record: dict[str, Any], part: str
) -> None:
    """File, line and rule; exit code 2."""
    write(here.path / "labels.jsonl", record)
    done = here.call("judge", "calibrate", "labels.jsonl")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "labels.jsonl:1" in done.err
    assert part in done.err
