"""Opening and closing a store, its schema, and what it says when the database refuses."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from ctxeng.core.errors import EmbedderMismatch, StoreError
from ctxeng.store import EmbeddingSpec, Store, embedded
from ctxeng.store.migrations import LATEST
from tests.store.examples import artifact, conversation_of, entry, unit, with_vectors

HASHING = EmbeddingSpec(embedder_id="hashing-384", dimensions=384)


@pytest.fixture
async def database(server: Path, worker: str) -> AsyncIterator[str]:
    """Return the name of a database that is not there, and drop it afterwards."""
    name = f"opening_{worker}"
    await _admin(server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    yield name
    await _admin(server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


async def _admin(server: Path, *statements: str, database: str = "postgres") -> None:
    async with _connected(server, database) as connection:
        for statement in statements:
            await connection.execute(statement.encode())


@asynccontextmanager
async def _connected(server: Path, database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    dsn = _dsn(server, database)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        yield connection


def _dsn(server: Path, database: str) -> str:
    layout = embedded.attach(server)
    embedded.detach(server)
    return layout.dsn(database)


async def test_a_store_is_opened_closed_and_opened_again(server: Path, database: str) -> None:
    """What was written is there when the database is opened the next time."""
    async with await Store.open(workspace=server, database=database) as store:
        await store.append("c", "user", "予算は3,000円")
        assert store.capabilities.vector
        assert store.capabilities.server_version >= 140000
    async with await Store.open(workspace=str(server), database=database, disposable=True) as store:
        assert [m.content for m in await store.messages("c")] == ["予算は3,000円"]


async def test_a_closed_store_says_so(server: Path, database: str) -> None:
    """Using a store after closing it is a StoreError; closing twice is none."""
    store = await Store.open(workspace=server, database=database)
    await store.close()
    await store.close()
    with pytest.raises(StoreError):
        await store.append("c", "user", "x")
    with pytest.raises(StoreError):
        await store.messages("c")


async def test_a_new_database_can_be_opened_by_several_at_once(server: Path, database: str) -> None:
    """Tasks that open a database not yet made all get it, its schema made once."""
    stores = await asyncio.gather(
        *(Store.open(workspace=server, database=database, max_connections=2) for _ in range(4))
    )
    try:
        await asyncio.gather(*(store.append("c", "user", "hello") for store in stores))
        assert len(await stores[0].messages("c")) == 4
    finally:
        await asyncio.gather(*(store.close() for store in stores))


@pytest.mark.parametrize(
    "name", ["two words", "semi;colon", 'quote"', "ünïcode", "1st", "a" * 64, "a\0b", "line\n"]
)
async def test_a_database_has_a_plain_name(server: Path, name: str) -> None:
    """A name that is no plain identifier is refused before anything is made."""
    with pytest.raises(StoreError, match="database must be a plain name, got"):
        await Store.open(workspace=server, database=name)


UNREACHABLE = {
    "refused": ("postgresql://mira:s3cret@127.0.0.1:1/x", "Connection refused"),
    "no socket": ("host=/nonexistent dbname=x password=s3cret", "No such file or directory"),
    "no such database": ("{server} dbname=nobody_made_this", "does not exist"),
    "no such user": ("{server} user=nobody_made_this", "does not exist"),
    "not a url": ("postgres//mira:s3cret@host/x", "a connection string that cannot be read"),
    "nonsense": ("s3cret", "a connection string that cannot be read"),
    "unknown option": ("host=/tmp s3cret=1", "a connection string that cannot be read"),
}


@pytest.mark.parametrize(("url", "reason"), UNREACHABLE.values(), ids=UNREACHABLE.keys())
async def test_an_unreachable_database_is_one_clear_error(
    server: Path, monkeypatch: pytest.MonkeyPatch, url: str, reason: str
) -> None:
    """The error names the reason and the variable to look at, and never prints a password."""
    url = url.replace("{server}", _dsn(server, "postgres"))
    monkeypatch.setenv("CTXENG_DATABASE_URL", url)
    with pytest.raises(StoreError, match="Check CTXENG_DATABASE_URL") as caught:
        await Store.open(workspace=server)
    assert reason in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_the_variable_names_the_server(
    server: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With CTXENG_DATABASE_URL no embedded server is started; an argument goes before it."""
    await _admin(server, f"CREATE DATABASE {database}")
    monkeypatch.setenv("CTXENG_DATABASE_URL", _dsn(server, database))
    async with await Store.open(workspace=tmp_path) as store:
        await store.append("c", "user", "by variable")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("CTXENG_DATABASE_URL", "host=/nonexistent")
    async with await Store.open(_dsn(server, database)) as store:
        assert [m.content for m in await store.messages("c")] == ["by variable"]


async def test_options_of_the_connection_string_are_kept(server: Path, database: str) -> None:
    """A search path named in the URL holds for every connection, disposable or not."""
    await _admin(server, f"CREATE DATABASE {database}")
    await _admin(server, "CREATE SCHEMA apart", database=database)
    url = f"{_dsn(server, database)} options='-c search_path=apart,public'"
    async with await Store.open(url, disposable=True) as store:
        await store.append("c", "user", "hello")
    async with _connected(server, database) as connection:
        cursor = await connection.execute("SELECT count(*) FROM apart.conversation_messages")
        assert await cursor.fetchone() == (1,)


async def test_more_tasks_than_connections_take_turns(server: Path, database: str) -> None:
    """A pool of one connection serves many tasks at once."""
    async with await Store.open(
        workspace=server, database=database, max_connections=1, disposable=True
    ) as store:
        await asyncio.gather(*(store.append(f"c{i % 3}", "user", "x") for i in range(20)))
        assert sum([len(await store.messages(f"c{i}")) for i in range(3)]) == 20


# the embedder of an index


async def test_another_embedders_index_is_refused(server: Path, database: str) -> None:
    """A database keeps to the embedder it was first opened with; without one anybody may read."""
    other = EmbeddingSpec(embedder_id="other", dimensions=384)
    shorter = EmbeddingSpec(embedder_id="hashing-384", dimensions=128)
    async with await Store.open(workspace=server, database=database, embedding=HASHING):
        pass
    for wrong in (other, shorter):
        with pytest.raises(EmbedderMismatch, match=r"got (other|hashing-384) \(\d+ dimensions\)"):
            await Store.open(workspace=server, database=database, embedding=wrong)
    for right in (HASHING, None):
        async with await Store.open(workspace=server, database=database, embedding=right) as store:
            assert await store.messages("c") == []


# the schema


async def test_a_newer_schema_is_refused(server: Path, database: str) -> None:
    """A database made by a newer version is not touched: the error says to upgrade."""
    async with await Store.open(workspace=server, database=database):
        pass
    newer = f"INSERT INTO schema_version (version) VALUES ({LATEST + 1})"
    await _admin(server, newer, database=database)
    with pytest.raises(StoreError, match=f"at most {LATEST}, got {LATEST + 1}. Upgrade ctxeng"):
        await Store.open(workspace=server, database=database)


def _first_schema(name: str) -> str:
    return files("ctxeng.store.migrations").joinpath(name).read_text("utf-8")


async def test_an_older_schema_is_brought_up_to_date(server: Path, database: str) -> None:
    """A database of schema 1 keeps its conversations, and is indexed anew."""
    await _admin(server, f"CREATE DATABASE {database}")
    await _admin(
        server,
        _first_schema("0001_initial.sql"),
        _first_schema("0001_vector.sql"),
        "CREATE TABLE schema_version (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO schema_version (version) VALUES (1)",
        "INSERT INTO conversations (conversation_id, last_seq, stamp) VALUES ('c', 1, 2)",
        "INSERT INTO conversation_messages (conversation_id, seq, role, content, blocks, meta, since_seq) "
        """VALUES ('c', 0, 'user', '予算', '[{"type": "image"}]', '{"a": 1}', 0), ('c', 1, 'assistant', 'b', '[]', '{}', 1)""",
        "INSERT INTO message_terms VALUES ('c', 0, 1)",
        "INSERT INTO message_postings VALUES ('c', 't', 0, 1)",
        "INSERT INTO message_embeddings VALUES ('c', 0, 0, '[1,2]')",
        database=database,
    )
    async with await Store.open(workspace=server, database=database, embedding=HASHING) as store:
        first, second = await store.messages("c")
        assert (first.content, first.blocks, first.meta) == ("予算", ({"type": "image"},), {"a": 1})
        assert (second.content, second.blocks) == ("b", ())
        assert [m.seq for m in await store.unindexed("c")] == [0, 1]
        await store.index("c", [entry(0, "t", vectors=[unit(1.0)])])
        assert len(await store.search_semantic("c", unit(1.0), as_of=1, limit=9)) == 1
        await store.edit_message("c", 0, "edited")
        assert [m.content for m in await store.messages("c", as_of=0)] == ["予算"]


_MIGRATE = """
import asyncio, sys
from ctxeng.store import Store

async def main():
    async with await Store.open(sys.argv[1], enqueue=True, max_connections=2) as store:
        await store.append("c", "user", sys.argv[2])

asyncio.run(main())
"""


async def test_processes_that_migrate_at_once_do_no_harm(server: Path, database: str) -> None:
    """Two open a database of schema 1, with jobs: each step is applied once, no message lost."""
    await _admin(server, f"CREATE DATABASE {database}")
    await _admin(
        server,
        _first_schema("0001_initial.sql"),
        "CREATE TABLE schema_version (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO schema_version (version) VALUES (1)",
        database=database,
    )
    url = _dsn(server, database)
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", _MIGRATE, url, word)
        for word in ("a", "b")
    ]
    assert [await process.wait() for process in processes] == [0, 0]
    async with await Store.open(workspace=server, database=database) as store:
        assert sorted(m.content for m in await store.messages("c")) == ["a", "b"]
        assert [job.waiting for job in await store.backlog()] == [1, 1, 1]
        assert await store.verify() == []


async def test_a_role_that_may_not_add_extensions_searches_words_only(
    server: Path, database: str
) -> None:
    """Without the right to create pgvector the store opens with lexical search alone."""
    role = f"plain_{database}"
    await _admin(
        server,
        f"DROP ROLE IF EXISTS {role}",
        f"CREATE ROLE {role} LOGIN",
        f"CREATE DATABASE {database}",
    )
    await _admin(server, f"GRANT CREATE, USAGE ON SCHEMA public TO {role}", database=database)
    try:
        url = _dsn(server, database).replace("user=postgres", f"user={role}")
        async with await Store.open(url, embedding=HASHING) as store:
            assert not store.capabilities.vector
            await conversation_of(store, "c", 2)
            await store.index("c", [entry(0, "t", vectors=[unit(1.0)]), entry(1, "u")])
            assert [h.seq for h in await store.search_lexical("c", ["t"], as_of=1, limit=9)] == [0]
            assert await store.search_semantic("c", unit(1.0), as_of=1, limit=9) == []
            await store.redact_message("c", 0)
            await store.delete_conversation("c")
            assert await store.messages("c") == []
    finally:
        await _admin(
            server, f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", f"DROP ROLE {role}"
        )


# conversations


async def test_making_a_conversation_twice_changes_nothing(store: Store) -> None:
    """Creation is idempotent: what stands is kept."""
    await store.create_conversation(
        "c", user_id="mira", project_id="p", keep_raw=True, language="ja", meta={"題": "予算"}
    )
    first = await store.conversation("c")
    await store.create_conversation("c", user_id="other", language="ko")
    assert await store.conversation("c") == first
    assert (first.user_id, first.project_id, first.keep_raw) == ("mira", "p", True)
    assert (first.language, first.meta, first.last_seq, first.stamp) == (
        "ja",
        {"題": "予算"},
        -1,
        0,
    )


async def test_a_conversation_is_made_by_its_first_message(store: Store) -> None:
    """Appending to a name not seen before makes the conversation with plain settings."""
    await store.append("新しい", "user", "hello")
    head = await store.conversation("新しい")
    assert (head.user_id, head.keep_raw, head.language, head.last_seq) == (None, False, "und", 0)


@with_vectors
async def test_conversations_do_not_see_each_other(store: Store) -> None:
    """Ids that differ by case, accents, spaces or pattern characters are different conversations."""
    names = ["c", "C", "c ", "ç", "%", "_", "c/episode", "'", "", "予算", "예산"]
    for name in names:
        await store.append(name, "user", name)
        await store.insert_nodes([artifact(name, "episode", 0, 0, text=name)])
        await store.index(name, [entry(0, "t", vectors=[unit(1.0)])])
    for name in names:
        assert [m.content for m in await store.messages(name)] == [name]
        assert [a.text for a in await store.all_artifacts(name)] == [name]
        assert len(await store.search_lexical(name, ["t"], as_of=9, limit=99)) == 1
        assert len(await store.search_semantic(name, unit(1.0), as_of=9, limit=99)) == 1


REFUSED: dict[str, Callable[[Store], object]] = {
    "a count too large": lambda s: s.append("c", "user", "s3cret", tokens=2**40),
    "a version too large": lambda s: s.insert_nodes([artifact("c", "episode", 0, 2**40)]),
    "a kind of memory unknown to the schema": lambda s: s.insert_nodes(
        [artifact("c", "episode", 0, 0, status=None)]
    ),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED.keys())
async def test_what_the_database_refuses_is_a_store_error(
    store: Store, refused: Callable[[Store], object]
) -> None:
    """Callers need no driver's errors: each is a StoreError, one line, without the row."""
    await store.append("c", "user", "hello")
    with pytest.raises(StoreError, match="database must accept the request, got: ") as caught:
        await refused(store)  # type: ignore[misc]
    assert "\n" not in str(caught.value) and "s3cret" not in str(caught.value)
    assert len(await store.messages("c")) == 1
