"""The scorer alone, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Workspace


@pytest.mark.parametrize(
    ("expect", "answer", "verdict"),
    [
        ("$500", "It is $5,000.", "fail"),
        ("$500", "The budget is 500 dollars.", "pass"),
        ("$500", "It is not $500 any more.", "ambiguous"),
        ("¥3,000", "3000円です", "pass"),
        ("PX-2291", "UNKNOWN", "fail"),
    ],
)
def test_one_answer_is_scored(tmp_path: Path, expect: str, answer: str, verdict: str) -> None:
    """The verdict and the rule that decided are printed as one JSON line."""
    done = Workspace(path=tmp_path).call(
        "score", "--expect", expect, "--answer", answer, "--json"
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["verdict"] == verdict
    assert done.json["rule"]


def test_a_file_of_answers_is_scored_line_by_line(tmp_path: Path) -> None:
    """One JSON verdict a line, with the id of its answer; absent facts want an abstention."""
    records = [
        {"id": "a", "question": "Which part?", "kind": "identifier", "expect": [["PX-2291"]],
         "forbid": ["PX-1"], "answer": "PX-2291"},
        {"id": "b", "question": "Which?", "kind": "absent", "expect": [], "answer": "UNKNOWN"},
        {"id": "c", "question": "Which?", "kind": "absent", "expect": None, "answer": "Blue."},
    ]  # fmt: skip
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in records), "utf-8")
    done = Workspace(path=tmp_path).call("score", "answers.jsonl")
    verdicts = [json.loads(line) for line in done.out.splitlines()]
    assert [(v["id"], v["verdict"]) for v in verdicts] == [
        ("a", "pass"), ("b", "pass"), ("c", "fail")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "part"),
    [("{no", "answers.jsonl:1"), ('{"id": 1}', "with an answer"),
     ('{"answer": "x"}', "a line must have expect; null or [] where the fact was never stated"),
     ('{"answer": "x", "expect": "y"}', "must be lists"),
     ('{"answer": "x", "expect": [5]}', "must be lists"),
     ('{"answer": "x", "expect": [[5]]}', "must be lists"),
     ('{"answer": "x", "expect": [[]]}', "one or more"),
     ('{"answer": "x", "expect": ["x"], "forbid": [3]}', "must be lists"),
     ('{"answer": "x", "expect": ["x"], "question": 7}', "question must be a text"),
     ('{"answer": "x", "expect": ["x"], "answerable": "no"}', "must be true or false"),
     ('["x"]', "with an answer")],
)  # fmt: skip
def test_a_damaged_line_is_one_clear_line(tmp_path: Path, line: str, part: str) -> None:
    """File, line number and rule are named; exit code 2."""
    (tmp_path / "answers.jsonl").write_text(line + "\n", "utf-8")
    done = Workspace(path=tmp_path).call("score", "answers.jsonl")
    assert done.code == 2
    assert part in done.err
    assert len(done.err.splitlines()) == 1
