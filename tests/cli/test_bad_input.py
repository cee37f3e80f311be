"""Bad input: one clear line on stderr, exit code 2, no traceback, nothing lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Outcome, Workspace

EMPTY_SESSION = '{"schema": "ctxeng.session/1", "session_id": "empty"}\n'
PROBE = (
    '{"id": "x", "session_id": "SESSION", "question": "?", "kind": "number", "evidence": [[SEQ, SEQ]],'
    ' "expect": [["1"]]}\n'
)


def check_one_line(outcome: Outcome, *parts: str) -> None:
    assert outcome.code == 2, outcome.out + outcome.err
    assert "Traceback" not in outcome.err
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("ctxeng: error: ")
    for part in parts:
        assert part in lines[0]


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('strategy = "rolling"', 'strategy = "roling"', ("arms.rolling", "Did you mean rolling?")),
        ("rolling = {", "rollin = {", ("arms.rolling", "rollin is not a known setting")),
        ("threshold_tokens = 400", "treshold_tokens = 400", ("threshold_tokens",)),
        ("threshold_tokens = 400", 'threshold_tokens = "many"', ("rolling.threshold_tokens",)),
        ('"three_tier"\ncontrols', '"nobody"\ncontrols', ("reference_arm", "nobody")),
        ('name = "small"', 'name = "small"\nnaem = 1', ("small.toml:", "naem")),
        ('"full", "none"', '"full", "nothing"', ("controls", "nothing")),
        ("[arms.rolling]", "[arms.full]", ("control names",)),
        ('"probes/small.jsonl"', '"probes/nowhere.jsonl"', ("probes", "nowhere.jsonl")),
        ('embedder = "hashing"', 'embedder = "word2vec"', ("embedder must be", "word2vec")),
        ("[models]", "[models", ("small.toml", "TOML")),
        ("threshold_tokens = 400", "threshold_tokens = 99999999999999999999", ("must be at most",)),
        ('name = "small"', 'name = "small"\nseed = 99999999999999999999', ("must be at most",)),
    ],
)
def test_a_faulty_experiment_file_is_one_line(
    workspace: Workspace, old: str, new: str, parts: tuple[str, ...]
) -> None:
    """The line says which key is wrong and what would be right."""
    assert old in SMALL
    (workspace.path / "experiments" / "small.toml").write_text(SMALL.replace(old, new), "utf-8")
    check_one_line(workspace.call("run", "experiments/small.toml"), *parts)


@pytest.mark.parametrize(
    ("file", "content", "parts"),
    [
        ("probes/small.jsonl", PROBE.replace("SESSION", "nobody").replace("SEQ", "1"),
         ("session_id must name a loaded session", "nobody")),
        ("probes/small.jsonl", PROBE.replace("SESSION", "marathon-plan").replace("SEQ", "999"),
         ("seqs must lie in 0..69", "999")),
        ("probes/small.jsonl", PROBE.replace("SESSION", "marathon-plan").replace("SEQ", "3")
         .replace('"kind"', '"ask_at_seq": 1, "kind"'), ("evidence must not lie after ask_at_seq",)),
        ("probes/small.jsonl", PROBE.replace("SESSION", "marathon-plan").replace("SEQ", "3")
         .replace('"1"', '"  "'), ("expect must be",)),
        ("probes/small.jsonl", PROBE.replace("SESSION", "marathon-plan").replace("SEQ", "3")
         .replace('"number"', '["x"]'), ("kind must be one of",)),
        ("probes/small.jsonl", "{not json\n", ("small.jsonl:1",)),
        ("probes/small.jsonl", "", ("at least one accepted probe",)),
        ("datasets/bundled/sessions/marathon-plan.jsonl", EMPTY_SESSION, ("marathon-plan.jsonl",)),
        ("datasets/bundled/sessions/marathon-plan.jsonl", "", ("marathon-plan.jsonl",)),
    ],
)  # fmt: skip
def test_a_damaged_data_file_is_one_line(
    workspace: Workspace, file: str, content: str, parts: tuple[str, ...]
) -> None:
    """The line says which file, line, probe or seq."""
    (workspace.path / file).write_text(content, "utf-8")
    check_one_line(workspace.call("run", "experiments/small.toml"), *parts)


def test_a_missing_experiment_file_is_one_line(workspace: Workspace) -> None:
    """The line says how to get a workspace."""
    check_one_line(workspace.call("run", "experiments/none.toml"), "none.toml", "ctxeng init")


def test_a_stray_file_in_a_dataset_folder_is_named(workspace: Workspace) -> None:
    """A file that is no session is not read in silence."""
    (workspace.path / "datasets/bundled/sessions/notes.txt").write_text("hello", "utf-8")
    toml = SMALL.replace(
        '["datasets/bundled/sessions/marathon-plan.jsonl", '
        '"datasets/bundled/sessions/crawler-debug-ko.jsonl"]',
        '["datasets/bundled"]',
    )
    (workspace.path / "experiments" / "small.toml").write_text(toml, "utf-8")
    check_one_line(workspace.call("run", "experiments/small.toml"), "notes.txt")


def test_an_unwritable_output_folder_is_told_before_any_work(
    workspace: Workspace, tmp_path: Path
) -> None:
    """A file stands where the folder should be."""
    blocked = tmp_path / "file"
    blocked.write_text("x", "utf-8")
    done = workspace.call("run", "experiments/small.toml", "--out", str(blocked / "reports"))
    check_one_line(done, "output folder must be writable")


def test_a_full_disk_is_one_line_and_the_finished_cells_are_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables cannot be written: one line, no half folder, and the next run makes no call."""

    def full(path: Path, table: str, rows: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    arguments = ("run", "experiments/small.toml", "--sessions", "1", "--json")
    with monkeypatch.context() as patch:
        patch.setattr("ctxeng.harness.results.run_folder.write_table", full)
        check_one_line(workspace.call(*arguments), "No space left on device", "kept")
    assert list((workspace.path / "reports").iterdir()) == []
    done = workspace.call(*arguments)
    assert done.code == 0, done.err
    again = workspace.call(*arguments)
    assert again.json["calls_made"] == 0
    assert len(list((workspace.path / ".ctxeng" / "partial").iterdir())) == 0


def test_init_does_not_overwrite(workspace: Workspace) -> None:
    """A folder that already holds a workspace is left alone."""
    done = Workspace(path=workspace.path.parent).call("init", workspace.path.name)
    check_one_line(done, "workspace must be new")


def test_an_unreachable_database_server_is_one_line(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server by URL that is not there."""
    monkeypatch.setenv("CTXENG_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    done = workspace.call("run", "experiments/small.toml")
    check_one_line(done, "database must be reachable", "CTXENG_DATABASE_URL")


def test_a_model_without_a_key_is_one_line(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names the variable."""
    toml = SMALL.replace("[models]", '[models]\nreader = "claude-haiku-4-5"')
    (workspace.path / "experiments" / "small.toml").write_text(toml, "utf-8")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    done = workspace.call("run", "experiments/small.toml")
    check_one_line(done, "ANTHROPIC_API_KEY must be set")


def test_hostile_file_names_cannot_steer_the_terminal(workspace: Workspace) -> None:
    """Control characters of a path are shown, not sent."""
    name = "experiments/\x1b[31mred.toml"
    if os.name == "nt":
        pytest.skip("such names do not exist there")
    done = workspace.call("run", name)
    check_one_line(done, "\\x1b[31mred.toml")
    assert "\x1b" not in done.err
