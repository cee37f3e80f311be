"""What the README says is true: its code runs, its commands and options exist, and none is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from ctxeng.cli import main
from ctxeng.cli.app import app
from ctxeng.cli.workspaces import samples
from tests.support.databases import remove_database

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> dict[str, typer.core.TyperCommand]:
    main.register()
    found = {}
    stack = [("", get_command(app))]
    while stack:
        prefix, group = stack.pop()
        for name, command in group.commands.items():  # type: ignore[attr-defined]
            path = f"{prefix}{name}"
            if hasattr(command, "commands"):
                stack.append((f"{path} ", command))
            else:
                found[path] = command
    return found


def test_every_command_is_documented() -> None:
    """A command that the README does not name does not exist for its user."""
    assert [name for name in commands() if f"ctxeng {name}" not in README] == []


def test_every_argument_and_option_says_what_it_does() -> None:
    """``--help`` is where options are looked up: none may stand there without a word."""
    silent = [
        f"{name} {parameter.name}"
        for name, command in commands().items()
        for parameter in command.params
        if not (getattr(parameter, "help", None) or "").strip()
    ]
    assert silent == []


@pytest.mark.parametrize("code", blocks("python"))
def test_python_of_the_readme_runs(code: str, tmp_path: Path) -> None:
    """The library example builds a context over a fresh embedded database."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    remove_database(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "question" in done.stdout


def test_toml_of_the_readme_is_a_valid_experiment(tmp_path: Path) -> None:
    """The smallest experiment of the README passes the schema and names built-in strategies."""
    from ctxeng.harness.experiments.arms import resolve_arms
    from ctxeng.harness.experiments.toml import read_experiment

    (text,) = blocks("toml")
    (tmp_path / "mine.toml").write_text(text, "utf-8")
    arms = resolve_arms(read_experiment(tmp_path / "mine.toml"))
    assert [arm.name for arm in arms] == ["three_tier", "rolling", "full", "none"]


def test_the_experiment_of_the_first_steps_extends_what_ships(tmp_path: Path) -> None:
    """What the README writes to experiments/mine.toml is read, asks own probes, needs no key."""
    from ctxeng.harness.experiments.toml import read_experiment

    (text,) = re.findall(r"<<'END'\n(.*?)END\n", README, flags=re.DOTALL)
    shutil.copy(ROOT / "experiments" / "quickstart.toml", tmp_path)
    (tmp_path / "mine.toml").write_text(text, "utf-8")
    found = read_experiment(tmp_path / "mine.toml")
    assert (found.name, list(found.probes), found.models.reader) == (
        "mine", ["probes/mine.jsonl"], "offline"
    )  # fmt: skip


def test_json_of_the_readme_is_a_valid_probe(tmp_path: Path) -> None:
    """The probe of the README can be read."""
    from ctxeng.harness.probes.io import read_probes

    (text,) = blocks("json")
    (tmp_path / "p.jsonl").write_text(" ".join(text.split()) + "\n", "utf-8")
    (probe,) = read_probes(tmp_path / "p.jsonl")
    assert probe.expect == (("CB-20418",),)


def test_a_wheel_holds_the_package_and_the_sample_workspace_alone(tmp_path: Path) -> None:
    """Nothing but `ctxeng` is installed at top level; the samples travel inside it."""
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ctxeng"}
    assert {name for name in names if name.startswith("ctxeng/_workspace/")} == {
        f"ctxeng/_workspace/{file.relative_to(ROOT)}" for file in samples(ROOT)
    }
    for needed in ("py.typed", "models/prices.json"):
        assert f"ctxeng/{needed}" in names
    templates = ROOT / "ctxeng" / "harness" / "reports" / "templates"
    assert {str(file.relative_to(ROOT)) for file in templates.iterdir()} <= set(names)


def test_the_worked_example_of_results_runs() -> None:
    """The page's code runs from the top of the checkout on the sample run."""
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/frames.md").read_text("utf-8"), flags=re.DOTALL
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"hybrid, interior: 95%, 95 % 84% to 99%", done.stdout), done.stdout


def test_the_nightly_workflow_calls_commands_that_exist() -> None:
    """Every `ctxeng` line of the workflow names a command and its options; no secret in forks."""
    text = (ROOT / "docs/ci/nightly.yml").read_text("utf-8")
    found = commands()
    lines = re.findall(r"^\s+ctxeng (\S+)(.*)$", text, flags=re.MULTILINE)
    assert [name for name, _ in lines] == ["nightly"]
    for name, rest in lines:
        options = {o for p in found[name].params for o in p.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options
    assert "pull_request_target" not in text


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import ctxeng` and the builder's modules load no harness and no heavy package."""
    code = (
        "import sys, ctxeng; heavy = {'duckdb','pandas','pyarrow','matplotlib','anthropic',"
        "'onnxruntime','psycopg','scipy'}; found = heavy & set(sys.modules); assert not found, found;"
        "import ctxeng.context, ctxeng.strategies.wiring, ctxeng.compaction, ctxeng.retrieval;"
        "found = {'duckdb','pandas','pyarrow','matplotlib'} & set(sys.modules); assert not found, found;"
        "assert not [m for m in sys.modules if m.startswith('ctxeng.harness')]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
