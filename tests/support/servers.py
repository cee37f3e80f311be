"""A PostgreSQL server of the operating system (no pgvector, with pg_trgm), started for the tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest


class PlainServer:
    """A server over a data folder of its own; ``kill`` it and ``start`` it as often as you like."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._home = Path(tempfile.mkdtemp(prefix="ctxeng-test-"))
        account = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
        if account:
            shutil.chown(self._home, "nobody")
        silent = subprocess.DEVNULL
        self._options = {"cwd": self._home, "stdout": silent, "stderr": silent, **account}
        self._process: subprocess.Popen[bytes] | None = None
        arguments = ["-N", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-D"]
        command = [str(binaries / "initdb"), *arguments, str(self._home / "data")]
        subprocess.run(command, check=True, **self._options)  # type: ignore[call-overload]

    @property
    def dsn(self) -> str:
        """Return the connection string of its first database."""
        return f"host={self._home} user=postgres dbname=postgres"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = ("listen_addresses=", f"unix_socket_directories={self._home}", "fsync=off",
                    "max_connections=200")  # fmt: skip
        self._process = subprocess.Popen(
            [str(self._binaries / "postgres"), "-D", str(self._home / "data"),
             *(part for setting in settings for part in ("-c", setting))],
            **self._options,  # type: ignore[call-overload]
        )  # fmt: skip
        while self._process.poll() is None:
            try:
                psycopg.connect(self.dsn, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                os.sched_yield()
        raise RuntimeError(f"the server has left with {self._process.returncode}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT orderly, SIGQUIT as in a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()

    def remove(self) -> None:
        """Stop the server and remove its data."""
        self.stop()
        shutil.rmtree(self._home)


@contextmanager
def plain_server() -> Iterator[PlainServer]:
    """Start the newest installed server; skip where there is none, fail where CI has none."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not binaries:
        reason = "no PostgreSQL server: set CTXENG_TEST_SERVER_URL or install postgresql"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    server = PlainServer(binaries[-1])
    try:
        server.start()
        yield server
    finally:
        server.remove()
