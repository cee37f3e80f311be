"""The embedded server: processes that start, share, leave and are killed."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from ctxeng.core.errors import StoreError
from ctxeng.store import Store, embedded

ROOT = Path(__file__).resolve().parents[2]

# A process that uses a workspace's server as told by the lines on its standard input.
USER = """
import os, sys
from pathlib import Path
import psycopg
from ctxeng.store import embedded

workspace = Path(sys.argv[1])
layout = None
for line in sys.stdin:
    match line.split():
        case ["attach"]:
            layout = embedded.attach(workspace)
            answer = str(layout.data)
        case ["detach"]:
            answer = str(embedded.detach(workspace))
        case ["query", *words]:
            with psycopg.connect(layout.dsn("postgres"), autocommit=True) as connection:
                cursor = connection.execute(" ".join(words))
                answer = str(cursor.fetchone()[0]) if cursor.description else "done"
        case ["fork"]:
            read, write = os.pipe()
            if os.fork() == 0:
                embedded.attach(workspace)
                os.write(write, b"attached")
                sys.stdin.buffer.raw.read(1)
                os._exit(0)
            answer = os.read(read, 100).decode()
    print(answer, flush=True)
"""

# The same, but it dies by SIGKILL at the given moment of its first start.
DYING = (
    """
import glob, os, signal, sys, threading
moment, home = sys.argv[2], sys.argv[3]
processes = 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def when_begun():
    while not glob.glob(f"{home}/.init-*/PG_VERSION"):
        pass
    die()

def watch(event, arguments):
    global processes
    if event == "subprocess.Popen":
        processes += 1
        if moment == "during initdb":
            threading.Thread(target=when_begun, daemon=True).start()
    if moment == "while the server starts" and processes == 2 and event == "open":
        if str(arguments[0]).endswith("postmaster.pid"):
            die()

sys.addaudithook(watch)
"""
    + USER
)


class User:
    """A process that uses the server of a workspace."""

    def __init__(self, workspace: Path, *, code: str = USER, **environment: str) -> None:
        arguments = [str(workspace), *environment.pop("arguments", "").split("|")]
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        )

    def tell(self, line: str) -> None:
        """Send a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """Wait for an answer; empty when the process has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def do(self, line: str) -> str:
        """Send a line and wait for the answer."""
        self.tell(line)
        return self.answer()

    def leave(self) -> int:
        """End the process in an orderly way and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()

    def kill(self) -> None:
        """End the process by SIGKILL, and a fork of it by the end of its input."""
        assert self.process.stdin is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class Place:
    """A workspace, and a look at its server from outside."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.users: list[User] = []

    def user(self, **more: str) -> User:
        """Start a process that uses the server."""
        self.users.append(User(self.workspace, **more))
        return self.users[-1]

    @property
    def base(self) -> Path:
        """Return where the server's files lie (elsewhere for root)."""
        home = self.workspace / ".ctxeng"
        told = home / "database-location.txt"
        return Path(told.read_text("utf-8").strip()) if told.exists() else home

    @property
    def server(self) -> psutil.Process | None:
        """Return the running server."""
        try:
            pid = int((self.base / "pg18" / "postmaster.pid").read_text().split("\n")[0])
            process = psutil.Process(pid)
            return process if str(self.base) in " ".join(process.cmdline()) else None
        except (OSError, psutil.Error):
            return None

    def stop(self) -> None:
        """End every user, then the server."""
        for user in self.users:
            user.kill()
        embedded.detach(self.workspace)
        if server := self.server:
            server.send_signal(signal.SIGINT)
            psutil.wait_procs([server], timeout=30)

    def clear(self) -> None:
        """End what still runs and remove every file outside the workspace."""
        self.stop()
        shutil.rmtree(self.base, ignore_errors=True)
        home = str(self.workspace.resolve() / ".ctxeng")
        mark = hashlib.sha256(home.encode()).hexdigest()[:12]
        for sockets in Path("/tmp").glob(f"ctxeng-*/{mark}"):
            shutil.rmtree(sockets)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Place]:
    """Give a workspace where no server has ever run; its path has spaces, quotes and kanji."""
    workspace = tmp_path / "my 作業 'work' $HOME \"q\""
    workspace.mkdir()
    place = Place(workspace)
    yield place
    place.clear()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Give a workspace whose server has run before and does not run now."""
    place = Place(tmp_path_factory.mktemp("long folder name " * 8))
    embedded.attach(place.workspace)
    embedded.detach(place.workspace)
    yield place
    place.clear()


@pytest.fixture
def used(lasting: Place) -> Iterator[Place]:
    """Give the lasting workspace, and stop whatever a test leaves running in it."""
    yield lasting
    lasting.stop()


def asked(layout: embedded.Layout, query: str) -> object:
    """Return the first value of a query's answer."""
    with psycopg.connect(layout.dsn("postgres"), autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        return None if row is None else row[0]


def test_two_first_starts_at_once_share_one_server(fresh: Place) -> None:
    """Both succeed, whatever is in the path; the last to leave stops the server, data stays."""
    first, second = fresh.user(), fresh.user()
    first.tell("attach")
    second.tell("attach")
    assert first.answer() == second.answer() == str(fresh.base / "pg18")
    started = "query SELECT pg_postmaster_start_time()"
    assert first.do(started) == second.do(started)
    assert first.do("query SELECT current_setting('listen_addresses') = ''") == "True"
    assert first.do("query CREATE TABLE kept AS SELECT '予算'::text AS word") == "done"
    assert first.leave() == 0
    assert second.do("query SELECT 1") == "1"
    assert second.leave() == 0
    assert fresh.server is None
    assert asked(embedded.attach(fresh.workspace), "SELECT word FROM kept") == "予算"


@pytest.mark.parametrize("moment", ["during initdb", "while the server starts"])
def test_a_kill_during_the_first_start_leaves_a_working_workspace(
    fresh: Place, moment: str
) -> None:
    """Whenever kill -9 hits the very first start, the next start works and leaves no draft."""
    home = fresh.workspace / ".ctxeng"
    if os.geteuid() == 0:
        home = embedded.ROOT_HOME / "*"
    dying = fresh.user(code=DYING, arguments=f"{moment}|{home}")
    assert dying.do("attach") == ""
    assert dying.process.wait() == -signal.SIGKILL
    layout = embedded.attach(fresh.workspace)
    assert layout.data == fresh.base / "pg18"
    assert asked(layout, "SELECT 1 + 1") == 2
    embedded.detach(fresh.workspace)
    assert fresh.server is None
    assert [entry.name for entry in fresh.base.iterdir() if entry.name.startswith(".init")] == []


def test_a_server_outlives_a_killed_user(used: Place) -> None:
    """After kill -9 of its only user the server goes on; the next user takes it over, stops it."""
    first = used.user()
    first.do("attach")
    server = used.server
    first.kill()
    assert used.server == server is not None
    embedded.attach(used.workspace)
    assert used.server == server
    embedded.detach(used.workspace)
    assert used.server is None


def test_a_killed_server_is_started_again(used: Place) -> None:
    """After kill -9 of the server itself, the next user recovers the data."""
    first = used.user()
    first.do("attach")
    first.do("query DROP TABLE IF EXISTS precious")
    first.do("query CREATE TABLE precious AS SELECT 7 AS n")
    server = used.server
    assert server is not None
    server.kill()
    first.kill()
    psutil.wait_procs([server], timeout=30)
    assert asked(embedded.attach(used.workspace), "SELECT n FROM precious") == 7


@pytest.fixture
def aside() -> Iterator[Path]:
    """Give a temporary folder that, unlike pytest's, an unprivileged user can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def test_processes_with_other_environments_meet(used: Place, aside: Path) -> None:
    """A process whose temporary folders are others finds the running server."""
    other = used.user(TMPDIR=str(aside), XDG_RUNTIME_DIR=str(aside))
    assert other.do("attach") == str(used.base / "pg18")
    layout = embedded.attach(used.workspace)
    assert layout.sockets.is_relative_to(aside)
    assert asked(layout, "SELECT 1") == 1
    assert other.do("query SELECT 1") == "1"


def test_a_folder_that_is_not_ours_holds_no_sockets(
    used: Place, aside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runtime folder that is closed to the server, or that a stranger made first, is passed over."""
    closed = aside / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setenv(
        "XDG_RUNTIME_DIR", str(closed if os.geteuid() == 0 else aside / "missing" / "x")
    )
    if os.geteuid() == 0:
        squatted = aside / "squatted"
        squatted.mkdir()
        (squatted / "ctxeng-0").mkdir()
        shutil.chown(squatted / "ctxeng-0", "nobody")
        monkeypatch.setattr(tempfile, "tempdir", str(squatted))
    layout = embedded.attach(used.workspace)
    assert asked(layout, "SELECT 1") == 1
    assert layout.sockets.parent.stat().st_uid == os.geteuid()
    assert os.geteuid() != 0 or not layout.sockets.is_relative_to(aside)


def test_every_attach_needs_its_detach(used: Place) -> None:
    """A process that attached twice keeps the server until it has detached twice."""
    assert embedded.attach(used.workspace) == embedded.attach(used.workspace)
    embedded.detach(used.workspace)
    assert used.server is not None
    embedded.detach(used.workspace)
    assert used.server is None
    embedded.detach(used.workspace)  # once too often is no error
    assert asked(embedded.attach(used.workspace), "SELECT 1") == 1


async def test_a_refused_store_gives_the_server_back(used: Place) -> None:
    """When opening a store fails, its hold on the server is released."""
    with pytest.raises(StoreError, match="database must be a plain name"):
        await Store.open(workspace=used.workspace, database="no/name")
    assert used.server is None


async def test_a_closed_store_gives_the_server_back(used: Place) -> None:
    """The server runs while a store is open, under the store's own count."""
    async with await Store.open(workspace=used.workspace):
        async with await Store.open(workspace=used.workspace):
            assert used.server is not None
        assert used.server is not None
    assert used.server is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_is_a_user_of_its_own(used: Place) -> None:
    """A fork that attaches keeps the server when its parent detaches."""
    parent = used.user()
    parent.do("attach")
    assert parent.do("fork") == "attached"
    parent.do("detach")
    assert used.server is not None


def test_a_pid_file_may_name_a_stranger(used: Place) -> None:
    """A pid file left by a dead server, its number now another process's, is cleared away."""
    account = {"user": embedded.UNPRIVILEGED} if os.geteuid() == 0 else {}
    with subprocess.Popen(["sleep", "600"], **account) as stranger:  # type: ignore[call-overload]
        left = f"{stranger.pid}\n{used.base}/pg18\n1\n5432\n"
        (used.base / "pg18" / "postmaster.pid").write_text(left)
        assert asked(embedded.attach(used.workspace), "SELECT 1") == 1
        assert stranger.poll() is None
        stranger.kill()


def test_a_server_that_cannot_start_names_its_log(used: Place) -> None:
    """The error says what the server complains of and where its log lies."""
    settings = used.base / "pg18" / "postgresql.conf"
    good = settings.read_text()
    settings.write_text("no_such_setting = on\n")
    try:
        with pytest.raises(StoreError, match=r"does not start.*contains errors") as caught:
            embedded.attach(used.workspace)
    finally:
        settings.write_text(good)
    assert str(used.base / "postgres.log") in str(caught.value)


def test_the_workspace_keeps_its_permissions(used: Place) -> None:
    """No folder of the workspace is opened to others; for root the data lies elsewhere."""
    used.workspace.chmod(0o700)
    embedded.attach(used.workspace)
    assert used.workspace.stat().st_mode & 0o777 == 0o700
    assert (used.base / "pg18").stat().st_mode & 0o077 == 0
    assert used.base.is_relative_to(embedded.ROOT_HOME) == (os.geteuid() == 0)


def test_a_connection_string_survives_any_socket_path() -> None:
    """Quotes and backslashes of a path are escaped as libpq wants them."""
    for path in ("/run/a b", "/run/it's", "/run/back\\slash", "/run/作業"):
        layout = embedded.Layout(
            data=Path("/d/pg18"), sockets=Path(path), binaries=Path("/b"), as_root=False
        )
        parsed = conninfo_to_dict(layout.dsn("ctxeng"))
        assert (parsed["host"], parsed["dbname"]) == (path, "ctxeng")
        assert layout.log == Path("/d/postgres.log")
