"""Fixtures: one embedded server for the whole run, one clean database for every test."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ctxeng.embedding import open_embedder
from ctxeng.store import EmbeddingSpec, Store, embedded
from tests.support.databases import empty
from tests.support.servers import plain_server

ROOT = Path(__file__).resolve().parent.parent
SERVER_HOME = ROOT / ".ctxeng" / "tests"
SHARED_DATA = ROOT.parent / "shared" / "data"
HASHING = EmbeddingSpec(embedder_id="hashing-384", dimensions=384)
TABLES = "conversations"


def pytest_configure() -> None:
    """Listen for Ctrl-C, which tests press, also where the suite runs as a shell's background job."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: made bytes may differ in each worker that collects them."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def worker(worker_id: str) -> str:
    """Return the name of this pytest-xdist worker."""
    return worker_id


@pytest.fixture(scope="session")
def server() -> AsyncIterator[Path]:
    """Keep the embedded server attached while this worker runs; return its workspace."""
    embedded.attach(SERVER_HOME)
    yield SERVER_HOME  # type: ignore[misc]
    embedded.detach(SERVER_HOME)


@pytest.fixture
async def store(server: Path, worker: str) -> AsyncIterator[Store]:
    """Open an empty store with a vector index for the hashing embedder."""
    database = f"test_{worker}"
    async with await Store.open(
        workspace=server, database=database, disposable=True, embedding=HASHING
    ) as opened:
        await empty(opened)
        yield opened


@pytest.fixture(scope="session")
def plain_url() -> Iterator[str]:
    """Return a server without pgvector: the one the environment names, or the system's own."""
    if named := os.environ.get("CTXENG_TEST_SERVER_URL"):
        yield named
        return
    with plain_server() as server:
        yield server.dsn


@pytest.fixture(params=["embedded", pytest.param("plain", marks=pytest.mark.server)])
async def either_store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Open an empty store: once with pgvector, once without it and with pg_trgm."""
    if request.param == "plain":
        where = {"dsn": request.getfixturevalue("plain_url")}
    else:
        where = {
            "workspace": request.getfixturevalue("server"),
            "database": f"test_{request.getfixturevalue('worker')}",
        }
    async with await Store.open(**where, disposable=True, embedding=HASHING) as opened:
        await empty(opened)
        yield opened


@pytest.fixture
def embedder():
    """Return the embedder without a model: good for tests that are not about ranking."""
    return open_embedder("hashing")


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of real recordings; skip where it is not at hand."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real recordings are not at hand ({SHARED_DATA})")
    return SHARED_DATA
