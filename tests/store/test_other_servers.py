"""A server without pgvector and with pg_trgm (Debian's PostgreSQL): the other half of the searches."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ctxeng.core.settings import RetrievalSettings
from ctxeng.embedding import open_embedder
from ctxeng.retrieval import Indexer, Retriever
from ctxeng.store import Store
from tests.store.examples import HOSTILE, entry, said, unit

pytestmark = pytest.mark.server


@pytest.fixture
async def plain(plain_url: str) -> AsyncIterator[Store]:
    """Open an empty store on that server."""
    async with await Store.open(plain_url, disposable=True) as opened:
        async with opened._pool.connection() as connection:
            await connection.execute("DELETE FROM conversations")
        yield opened


async def test_capabilities_are_those_of_the_server(plain: Store) -> None:
    """No pgvector there, pg_trgm created on the way, a version of at least 14."""
    assert (plain.capabilities.vector, plain.capabilities.trigram) == (False, True)
    assert plain.capabilities.server_version >= 140000


async def test_without_pgvector_vectors_are_let_be(plain: Store) -> None:
    """Entries with vectors are indexed by their terms; the semantic search is empty."""
    await plain.append_many("c", said("the rack", "ok"))
    await plain.index("c", [entry(0, "rack", vectors=[unit(1.0)]), entry(1, "ok")])
    assert [h.seq for h in await plain.search_lexical("c", ["rack"], as_of=1, limit=9)] == [0]
    assert await plain.search_semantic("c", unit(1.0), as_of=1, limit=9) == []
    await plain.edit_message("c", 0, "other")
    await plain.redact_message("c", 0)
    assert [m.seq for m in await plain.unindexed("c")] == [0, 1]


async def test_misspelt_words_are_found_by_trigrams(plain: Store) -> None:
    """The message with the most similar words comes first; excluded and later ones do not come."""
    await plain.append_many(
        "c", said("the Kestrel rack", "lunch", "a Kestrell", "the kestrel rack")
    )
    hits = await plain.search_trigram("c", "kestrle rack", as_of=2, limit=9)
    assert hits[0].seq == 0
    assert {hit.seq for hit in hits} <= {0, 1, 2}
    assert all(0 < hit.score <= 1 for hit in hits)
    rest = await plain.search_trigram("c", "kestrle rack", as_of=2, limit=1, exclude=[0])
    assert [hit.seq for hit in rest] == [2]
    assert await plain.search_trigram("c", "", as_of=2, limit=9) == []
    assert await plain.search_trigram("nobody", "kestrel", as_of=2, limit=9) == []


async def test_trigrams_are_those_of_the_words_then(plain: Store) -> None:
    """As of a seq before an edit, the old words are compared."""
    await plain.append_many("c", said("zanzibarium", "ok"))
    await plain.edit_message("c", 0, "kestrel")
    for as_of, word in ((0, "zanzibarium"), (1, "kestrel")):
        assert [h.seq for h in await plain.search_trigram("c", word, as_of=as_of, limit=9)] == [0]
    assert await plain.search_trigram("c", "kestrel", as_of=0, limit=9) == []


async def test_any_text_is_safe_for_trigrams(plain: Store) -> None:
    """Hostile text, NUL and lone surrogates are data."""
    await plain.append_many("c", said(*HOSTILE.values()))
    for text in (*HOSTILE.values(), "\0", "\ud800"):
        hits = await plain.search_trigram("c", text, as_of=99, limit=3)
        assert len(hits) <= 3


async def test_a_misspelt_question_falls_back_to_trigrams(plain: Store) -> None:
    """Where no term is known, the retriever finds the message by similar spelling."""
    embedder = open_embedder("hashing")
    await plain.append_many("c", said("lunch", "the Kestrel", "well"))
    await Indexer(plain, embedder).index_due("c")
    settings = RetrievalSettings(enabled=True, gate="always", around=0, groups=1)
    history = await plain.messages("c")
    found = await Retriever(plain, embedder, settings).retrieve(
        "c", "kestrle?", as_of=2, history=history
    )
    assert [m.content for m in found.groups[0].messages] == ["the Kestrel"]
    assert set(found.ranked[0].terms) == {"trigram"}
