"""init, import and doctor."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ctxeng.cli.workspaces import FOLDERS, sample_root, samples
from ctxeng.harness.importers.registry import format_names
from tests.cli.conftest import Workspace

ROOT = Path(__file__).resolve().parents[2]


def test_doctor_finds_a_working_installation(workspace: Workspace) -> None:
    """Database, embedder and tokenizer are really used; a missing key is no fault."""
    done = workspace.call("doctor", "--json")
    assert done.code == 0, done.out + done.err
    found = {check["name"]: check for check in done.json}  # type: ignore[union-attr]
    assert {name for name, check in found.items() if check["ok"]} >= {
        "disk", "database", "embedder", "tokenizer", "workspace"
    }  # fmt: skip
    assert "PostgreSQL 18; vector search yes" in found["database"]["detail"]


def test_doctor_says_what_does_not_work(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unreachable server is told, with exit code 2 and no traceback."""
    monkeypatch.setenv("CTXENG_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    done = workspace.call("doctor")
    assert done.code == 2
    assert "no  database" in done.out
    assert "Traceback" not in done.out + done.err


def test_init_lays_out_every_sample(workspace: Workspace) -> None:
    """The four folders, byte for byte the samples that travel with the package."""
    shipped = samples(sample_root())
    assert {file.relative_to(sample_root()).parts[0] for file in shipped} == set(FOLDERS)
    for file in shipped:
        copy = workspace.path / file.relative_to(sample_root())
        assert copy.read_bytes() == file.read_bytes()
    assert (workspace.path / "reports").is_dir()


def test_what_ships_is_what_is_tracked_and_never_the_users_own() -> None:
    """`.gitignore`, the wheel and `init` draw the same line between samples and own data."""
    tracked = _git("ls-files", *FOLDERS).split()
    assert [str(file.relative_to(ROOT)) for file in samples(ROOT)] == sorted(tracked)
    assert _git("check-ignore", "--no-index", *tracked) == ""
    own = ["datasets/mine", "probes/mine.jsonl", "experiments/mine.toml"]
    assert _git("check-ignore", *own).split() == own


def test_own_data_of_a_checkout_is_no_sample(tmp_path: Path) -> None:
    """What was imported, drafted and written beside the samples stays where it is."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    expected = samples(tmp_path)
    for own in ("datasets/mine/sessions/a.jsonl", "probes/mine.jsonl", "experiments/mine.toml"):
        (tmp_path / own).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / own).write_text("own", "utf-8")
    assert samples(tmp_path) == expected


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        pytest.skip(f"no git checkout: {done.stderr}")
    return done.stdout


def test_import_accounts_for_every_record(workspace: Workspace) -> None:
    """One JSON line: read = imported + merged + skipped; a second import changes nothing."""
    source = workspace.path / "chat.json"
    turns = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]
    source.write_text(json.dumps([{"id": "a", "conversations": turns}]), "utf-8")
    arguments = ("import", "auto", "chat.json", "--out", "datasets/mine", "--json")
    first, second = workspace.call(*arguments), workspace.call(*arguments)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    report = first.json
    assert report["read"] == report["imported"] + report["merged"] + sum(report["skipped"].values())
    assert (report["sessions"], report["messages"]) == (1, 2)
    assert second.json == report
    assert list(report) == [
        *("format", "files", "read", "imported", "merged", "skipped"),
        *("sessions", "messages", "probes", "findings"),
    ]


def test_an_import_of_nothing_prints_its_account_too(workspace: Workspace) -> None:
    """A script that reads the JSON line learns what was seen; the exit code says it failed."""
    (workspace.path / "chat.jsonl").write_text("[1]\n{broken\n", "utf-8")
    done = workspace.call("import", "claude-code", "chat.jsonl", "--out", "datasets/none", "--json")
    assert done.code == 2
    assert "nothing to import among 2 records" in done.err
    assert (done.json["read"], done.json["imported"], done.json["sessions"]) == (2, 0, 0)
    assert sum(done.json["skipped"].values()) == 2
    assert any(one["line"] == 2 for one in done.json["findings"])


def test_a_format_may_be_left_out(workspace: Workspace) -> None:
    """A path alone is told by its content; a format alone is told what is missing."""
    (workspace.path / "chat.json").write_text('[{"role": "user", "content": "Hi"}]', "utf-8")
    bare = workspace.call("import", "chat.json", "--out", "datasets/a", "--json")
    named = workspace.call("import", "openai-chat", "chat.json", "--out", "datasets/b", "--json")
    assert bare.code == named.code == 0
    assert bare.json == named.json
    alone = workspace.call("import", "openai-chat", "--out", "datasets/c")
    assert alone.code == 2
    assert "a path must follow the format, got 'openai-chat' alone" in alone.err


def test_an_unknown_format_names_the_known_ones(workspace: Workspace) -> None:
    """One line, exit code 2."""
    done = workspace.call("import", "wordperfect", "x", "--out", "datasets/mine")
    assert done.code == 2
    assert all(name in done.err for name in format_names())


def test_every_format_is_named_in_the_readme() -> None:
    """A format that the README does not name does not exist for its user."""
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in format_names() if f"`{name}`" not in readme] == []
