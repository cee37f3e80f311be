"""The commands a product runs: worker, status, reprocess, deletion and verification."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ctxeng.cli.app import app
from ctxeng.cli.db_commands import _delete_user, _verify
from ctxeng.cli.main import register
from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import InputError, ModelUnavailable, StoreError
from ctxeng.harness.results.quotes import quoting_runs
from ctxeng.models import Ledger
from ctxeng.models.offline import OfflineModel
from ctxeng.models.sdk import KEY_VARIABLES
from ctxeng.store import Store, embedded
from tests.support.databases import empty, remove_database

SECRET = "My daughter Philippa goes to the Waldorf school in Kreuzberg, please remember that."
SETTINGS = """
[window]
tokens = 0
min_messages = 2
[episodes]
size = 2
[memory]
every_episodes = 2
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a workspace whose server stays up between the commands."""
    folder = tmp_path_factory.mktemp("product")
    (folder / "settings.toml").write_text(SETTINGS, "utf-8")
    embedded.attach(folder)
    yield folder
    embedded.detach(folder)
    remove_database(folder)


@pytest.fixture
def home(server: Path) -> Path:
    """Return the workspace: its product has talked to two users and done nothing else."""
    for file in (server / ".ctxeng").glob("ledger.sqlite*"):
        file.unlink()
    shutil.rmtree(server / "reports", ignore_errors=True)

    async def talk() -> None:
        async with await Store.open(workspace=server, enqueue=True) as store:
            await empty(store)
            for name, user, secret in (("c1", "ann", SECRET), ("c2", "bob", "Flat colours only.")):
                await store.create_conversation(name, user_id=user)
                for i in range(8):
                    await store.append(
                        name, "user", secret if i == 1 else f"Part {i} of {name} is blue."
                    )

    asyncio.run(talk())
    return server


def ctxeng(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the workspace."""
    return subprocess.run(
        [sys.executable, "-m", "ctxeng", *arguments], cwd=home, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


WIRED = ("--strategy", "episodes_memory", "--settings", "settings.toml", "--embedder", "hashing")


def test_a_products_day(home: Path) -> None:
    """Backlog, worker, reprocessing, lateness, deletion: each command says what is so."""
    waiting = json.loads(ctxeng(home, "status", "--json").stdout)
    assert {job["task"]: job["waiting"] for job in waiting["backlog"]} == {
        "compact": 2, "index": 2, "tokens": 2,
    }  # fmt: skip
    worked = ctxeng(home, "worker", "--once", *WIRED)
    assert worked.returncode == 0, worked.stderr
    assert worked.stdout == "6 jobs waited, none left\n"
    assert "procrastinate" not in worked.stderr
    assert json.loads(ctxeng(home, "status", "--json").stdout)["backlog"] == []
    _age(home)
    named = ctxeng(home, "reprocess", "--dry-run", "--conversation", "c2", *WIRED).stdout
    assert named.splitlines()[0] == "c2: would be rebuilt"
    rebuilt = ctxeng(home, "reprocess", "--now", *WIRED)
    assert rebuilt.stdout.splitlines()[-1] == "2 conversations are out of date"
    assert "not rebuilt" not in rebuilt.stdout
    assert (
        "0 conversations are out of date" in ctxeng(home, "reprocess", "--dry-run", *WIRED).stdout
    )
    assert "0 findings" in ctxeng(home, "db", "verify").stdout


def _age(home: Path) -> None:
    """Make every episode one of an older prompt."""

    async def age() -> None:
        async with await Store.open(workspace=home) as store, store._connection() as connection:
            await connection.execute("UPDATE summary_nodes SET prompt_hash = 'older'")

    asyncio.run(age())


def test_lateness_over_the_limit_is_a_warning_and_an_exit_code(home: Path) -> None:
    """Two of three builds late is over 5 %; a higher limit lets it pass."""

    async def build() -> None:
        async with await Store.open(workspace=home) as store:
            for late in ((), ("episodes",), ("episodes", "rolling")):
                store.note_build("c2", as_of=7, skipped=late)

    asyncio.run(build())
    late = ctxeng(home, "status")
    assert late.returncode == 1
    assert "compaction_skipped: 66.7 %" in late.stderr
    assert "3 prompts built, 2 while compaction was late (66.7 %)" in late.stdout
    rates = json.loads(ctxeng(home, "status", "--json", "--max-skip-rate", "0.7").stdout)
    assert rates["skipped_by_compaction"] == {"episodes": 2, "rolling": 1}
    assert ctxeng(home, "status", "--max-skip-rate", "0.7").returncode == 0


def test_a_deleted_user_is_gone_and_what_quotes_him_is_named(home: Path) -> None:
    """Rows, vectors, jobs and ledger entries go; the run folder that quotes him is listed."""
    assert ctxeng(home, "worker", "--once", *WIRED).returncode == 0
    ledger = home / ".ctxeng" / "ledger.sqlite"
    before = Ledger.open(ledger).counts()["answered"]
    assert any("Philippa" in answer for _, answer in Ledger.open(ledger).answers())
    run = home / "reports" / "run-1"
    run.mkdir(parents=True)
    (run / "report.html").write_text(f"<p>user: {SECRET}</p>", "utf-8")
    (home / "reports" / "run-2").mkdir()
    deleted = ctxeng(home, "db", "delete-user", "ann")
    assert deleted.returncode == 1
    assert deleted.stdout.splitlines()[-1] == f"quoted still: {run} (run folder)"
    assert not any("Philippa" in answer for _, answer in Ledger.open(ledger).answers())
    assert 0 < Ledger.open(ledger).counts()["answered"] < before
    verified = ctxeng(home, "db", "verify", "--json")
    assert verified.returncode == 1
    assert [json.loads(line)["where"] for line in verified.stdout.splitlines()] == [str(run)]
    (run / "report.html").unlink()
    assert ctxeng(home, "db", "verify", "--forget").returncode == 0
    (run / "report.html").write_text(SECRET, "utf-8")
    assert ctxeng(home, "db", "verify").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("worker", "--once", "--strategy", "hybird"), "strategy"),
        (
            ("worker", "--once", "--settings", "absent.toml"),
            "settings must be a readable TOML file",
        ),
        (("worker", "--once", "--model", "claude-haiku-5-5"), "ANTHROPIC_API_KEY must be set"),
        (("reprocess", "--now", "--model", "claude-haiku-5-5"), "ANTHROPIC_API_KEY must be set"),
        (("worker", "--once", "--stalled", "inf"), "--stalled must be from 1 to 86400, got inf."),
        (("status", "--hours", "inf"), "--hours must be from 0 to 87600, got inf."),
        (("status", "--hours", "-1"), "--hours must be from 0 to 87600, got -1."),
        (("status", "--max-skip-rate", "nan"), "--max-skip-rate must be from 0 to 1, got nan."),
    ],
)
def test_what_cannot_run_is_refused_at_start(
    arguments: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One line that says what to do, before anything is opened: no job has failed for it."""
    for name in KEY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    register()
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith(told)
    assert "\n" not in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_leaves_work_behind_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is out of reach: exit code 1, and the jobs wait; a key is not asked for offline."""
    monkeypatch.chdir(home)
    register()

    async def unreachable(*_: object) -> ModelResponse:
        raise ModelUnavailable("status 529: overloaded")

    with monkeypatch.context() as during:
        during.setattr(OfflineModel, "complete", unreachable)
        done = CliRunner().invoke(app, ["worker", "--once", *WIRED])
    assert done.exit_code == 1, done.output
    assert "2 jobs failed or wait to be tried again; see ctxeng status" in done.output
    status = CliRunner().invoke(app, ["status", "--json"])
    waiting = {job["task"]: job for job in json.loads(status.stdout)["backlog"]}
    assert (waiting["compact"]["again"], waiting["compact"]["failed"]) == (2, 0)
    unknown = CliRunner().invoke(app, ["reprocess", "--conversation", "c9", *WIRED])
    assert str(unknown.exception) == "conversation must exist, got 'c9'."


def test_no_reports_quote_nobody(tmp_path: Path) -> None:
    """A workspace without run folders has none that quote."""
    assert quoting_runs(tmp_path / "reports", lambda _: True) == []


def test_a_deletion_killed_after_the_database_leaves_no_calls(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The calls go before the conversations by which they are found."""
    assert ctxeng(home, "worker", "--once", *WIRED).returncode == 0
    ledger = home / ".ctxeng" / "ledger.sqlite"
    assert any("Philippa" in answer for _, answer in Ledger.open(ledger).answers())
    whole = Store.delete_user

    async def killed(store: Store, user: str) -> list[str]:
        assert await whole(store, user) == ["c1"]
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "delete_user", killed)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(_delete_user(home, "ann"))
    assert not any("Philippa" in answer for _, answer in Ledger.open(ledger).answers())


@pytest.mark.parametrize("how", ["delete", "redact"])
def test_words_that_a_product_deleted_leave_the_ledger_with_the_next_worker(
    home: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a worker has run, the audit names the calls; then neither answer nor file has them."""
    monkeypatch.chdir(home)
    register()
    ledger = home / ".ctxeng" / "ledger.sqlite"
    assert CliRunner().invoke(app, ["worker", "--once", *WIRED]).exit_code == 0

    async def product() -> None:
        async with await Store.open(workspace=home, enqueue=True) as store:
            await (
                store.delete_conversation("c1")
                if how == "delete"
                else store.redact_message("c1", 1)
            )

    asyncio.run(product())
    found = asyncio.run(_verify(home, home / "reports", forget=False))
    assert {(f["rule"], f["where"]) for f in found} == {("deleted words are gone", "ledger")}
    assert CliRunner().invoke(app, ["worker", "--once", *WIRED]).exit_code == 0
    assert asyncio.run(_verify(home, home / "reports", forget=False)) == []
    for file in ledger.parent.glob("ledger.sqlite*"):
        assert b"Philippa" not in file.read_bytes()


def test_an_answer_that_quotes_deleted_words_is_seen_however_json_spells_them(home: Path) -> None:
    """Line ends, and letters that JSON escapes, do not hide a quotation from the audit."""
    said = "娘のフィリッパは三月からクロイツベルクの学校に通っています。\n送り迎えは私が火曜と木曜に担当する予定です。"
    ledger = Ledger.open(home / ".ctxeng" / "ledger.sqlite")

    async def product() -> None:
        async with await Store.open(workspace=home, calls=ledger) as store:
            call = {"type": "tool_use", "id": "t", "name": "note", "input": {"text": said}}
            await store.append("c3", "assistant", "", blocks=[call])
            await store.delete_conversation("c3")

    asyncio.run(product())
    asked = ModelRequest(role="reader", model="offline", messages=(), max_tokens=9, prompt_id="x")
    ledger.sending("k" * 64, asked)
    ledger.answered("k" * 64, ModelResponse(text=f"要約: {said}", model="offline"))
    ledger.close()
    found = asyncio.run(_verify(home, home / "reports", forget=False))
    assert [(f["where"], f["detail"]) for f in found] == [("ledger", "k" * 12)]


def test_a_short_message_is_seen_where_others_quote_it_and_not_forgotten(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a longer sentence of another conversation; the audit says what it cannot see."""
    monkeypatch.chdir(home)
    register()
    words = ("My PIN is 4471, Sparkasse Bonn", "私の患者の山田太郎は統合失調症です")

    async def product() -> None:
        async with await Store.open(workspace=home) as store:
            for name, text in zip(("c4", "c5"), words, strict=True):
                await store.append("c2", "assistant", f'You told me: "{text}", and I noted it.')
                await store.append(name, "user", text)
                await store.delete_conversation(name)

    asyncio.run(product())
    for _ in range(2):
        told = CliRunner().invoke(app, ["db", "verify", "--forget"])
        assert told.exit_code == 1
        *found, count, unseen = told.output.splitlines()
        assert [line[-12:] for line in found] == [" (message 8)", " (message 9)"]
        assert count == "2 findings"
        assert "not looked for: deleted texts of under 12 letters and digits (6 in" in unseen


def test_a_worker_brings_its_server_back_and_leaves_while_it_is_away(home: Path) -> None:
    """After kill -9 of the server the work goes on; told to stop in the next such moment, it does."""

    async def left() -> tuple[int, int]:
        async with await Store.open(workspace=home) as store:
            waiting = sum(job.waiting + job.running for job in await store.backlog())
            return waiting, await store.live_workers()

    def until(holds: Callable[[tuple[int, int]], bool]) -> None:
        while True:
            with contextlib.suppress(StoreError):
                if holds(asyncio.run(left())):
                    return
            time.sleep(0.1)

    def kill_server() -> None:
        files = embedded.attach(home)
        embedded.detach(home)
        os.kill(int((files.data / "postmaster.pid").read_text().split("\n")[0]), signal.SIGKILL)

    command = [sys.executable, "-m", "ctxeng", "worker", *WIRED]
    with subprocess.Popen(command, cwd=home, stderr=subprocess.DEVNULL) as worker:
        try:
            until(lambda found: found[1] > 0)
            kill_server()
            until(lambda found: found[0] == 0)
            kill_server()
            worker.terminate()
            assert worker.wait(6) == 0
        finally:
            worker.kill()
            embedded.revive(home)


def test_a_user_nobody_knows_is_said_to_be_unknown(home: Path) -> None:
    """A slip of the pen in a deletion must not look like one that was done."""
    told = ctxeng(home, "db", "delete-user", "an")
    assert told.stdout.splitlines()[0] == "no conversation is known of user 'an'"
