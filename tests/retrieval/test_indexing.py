"""The indexer: every message once, by its own words and those of the message before it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from ctxeng.core.messages import Message
from ctxeng.core.protocols import Embedder, Vectors
from ctxeng.retrieval import Indexer
from ctxeng.retrieval.analyser import analyse
from ctxeng.retrieval.indexing import BATCH, MAX_CHUNKS, index_terms, named_text
from ctxeng.store import Store
from ctxeng.store.messages import REDACTED


async def found(store: Store, question: str, *, as_of: int = 10**6, name: str = "c") -> list[int]:
    """Return the seqs that hold any term of a question, in order."""
    hits = await store.search_lexical(name, analyse(question), as_of=as_of, limit=10**6)
    return sorted(hit.seq for hit in hits)


async def nearest(store: Store, embedder: Embedder, question: str) -> int:
    """Return the seq of the message most like a question."""
    vector = embedder.embed([question], kind="query")[0]
    hits = await store.search_semantic("c", vector, as_of=10**6, limit=1)
    return hits[0].seq


async def test_every_message_is_indexed_once(store: Store, embedder: Embedder) -> None:
    """The indexer says how many messages were due, and finds nothing due afterwards."""
    indexer = Indexer(store, embedder)
    assert await indexer.index_due("c") == 0
    for text in ("hello", "the Kestrel rack", "budget"):
        await store.append("c", "user", text)
    assert await indexer.index_due("c") == 3
    assert await indexer.index_due("c") == 0
    await store.append("c", "user", "more")
    assert await indexer.index_due("c") == 1
    assert await store.unindexed("c") == []


async def test_an_answer_is_found_by_the_words_of_its_question(store: Store) -> None:
    """A message carries the terms of the one before it and of both speakers, no farther."""
    await store.append("c", "user", "What is the budget?", speaker="Mira")
    await store.append("c", "assistant", "1,850.", speaker="佐伯")
    await store.append("c", "user", "Thanks")
    await store.append("c", "user", "Bye")
    await Indexer(store, None).index_due("c")
    assert await found(store, "budget") == [0, 1]
    assert await found(store, "Mira") == [0, 1]
    assert await found(store, "佐伯") == [1, 2]
    assert await found(store, "1850") == []
    assert await found(store, "1,850") == [1, 2]


async def test_tool_traffic_is_indexed(store: Store) -> None:
    """Tool calls and results are found by what they say."""
    call = {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "src/rack.py"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "class Kestrel: ..."}
    await store.append("c", "assistant", "", blocks=[call])
    await store.append("c", "tool", "", blocks=[result])
    await Indexer(store, None).index_due("c")
    assert await found(store, "src/rack.py") == [0, 1]
    assert await found(store, "Kestrel") == [1]


async def test_batches_meet_without_a_seam(store: Store) -> None:
    """The first message of a batch still carries the words of the last one of the batch before."""
    texts = [str(1000 + i) for i in range(2 * BATCH + 3)]
    await store.append_many("c", [Message(seq=0, role="user", content=t) for t in texts])
    assert await Indexer(store, None).index_due("c") == len(texts)
    for border in (BATCH, 2 * BATCH):
        assert await found(store, texts[border - 1]) == [border - 1, border]
    assert await found(store, texts[-1]) == [len(texts) - 1]


async def test_without_an_embedder_words_alone_are_indexed(store: Store) -> None:
    """No embedder: the lexical search works, the semantic one is empty."""
    await store.append("c", "user", "the Kestrel rack")
    assert await Indexer(store, None).index_due("c") == 1
    assert await found(store, "kestrel") == [0]
    vector = np.ones(384, dtype=np.float32)
    assert await store.search_semantic("c", vector, as_of=0, limit=9) == []


async def test_a_server_without_vectors_embeds_nothing(store: Store) -> None:
    """Where the server has no pgvector the embedder is not even called."""
    await store.append("c", "user", "the Kestrel rack")
    store.capabilities = replace(store.capabilities, vector=False)
    assert await Indexer(store, Scripted()).index_due("c") == 1


@pytest.mark.parametrize("text", ["", "   \n", "\u3000!", "😀"])
async def test_a_message_without_words_is_indexed_all_the_same(
    store: Store, embedder: Embedder, text: str
) -> None:
    """Blank and wordless messages are done after one run, and spoil no search."""
    await store.append("c", "user", text)
    await store.append("c", "user", "the Kestrel rack")
    assert await Indexer(store, embedder).index_due("c") == 2
    assert await nearest(store, embedder, "Kestrel rack") == 1
    assert await found(store, "kestrel") == [1]


class Scripted:
    """An embedder that splits at lines, remembers what it embedded, and may be interrupted."""

    embedder_id = "hashing-384"
    dimensions = 384

    def __init__(self, before: Callable[[], None] | None = None) -> None:
        self.embedded: list[str] = []
        self._before = before

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
        """Return the same direction for every text."""
        if self._before is not None:
            self._before()
        self.embedded += texts
        rows = np.zeros((len(texts), 384), dtype=np.float32)
        rows[:, 0] = 1
        return rows

    def split(self, text: str) -> list[str]:
        """Return the lines."""
        return [line for line in text.split("\n") if line.strip()]


async def test_only_the_head_of_a_long_message_is_embedded(store: Store) -> None:
    """A pasted log is embedded up to a limit of chunks, and found by any of its terms."""
    lines = [f"line{i}" for i in range(MAX_CHUNKS + 50)]
    embedder = Scripted()
    await store.append("c", "user", "\n".join(lines))
    await store.append("c", "user", "short")
    await Indexer(store, embedder).index_due("c")
    assert embedder.embedded == [*lines[:MAX_CHUNKS], "short"]
    assert await found(store, lines[-1]) == [0, 1]


async def test_long_key_material_is_indexed(store: Store, embedder: Embedder) -> None:
    """A pasted blob without a space neither fails nor keeps later messages from the index."""
    rng = np.random.default_rng(7)
    blob = "".join(rng.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"), 40_000))
    await store.append("c", "user", blob)
    await store.append("c", "user", "the Kestrel rack")
    assert await Indexer(store, embedder).index_due("c") == 2
    assert await found(store, "kestrel") == [1]
    assert await found(store, blob) == [0, 1]


async def test_indexers_may_run_at_once(store: Store, embedder: Embedder) -> None:
    """Several indexers of one conversation do no harm, and nothing stays due."""
    await store.append_many(
        "c", [Message(seq=0, role="user", content=f"{1000 + i} rack") for i in range(40)]
    )
    await asyncio.gather(*(Indexer(store, embedder).index_due("c") for _ in range(4)))
    assert await store.unindexed("c") == []
    assert await found(store, "rack") == list(range(40))
    assert await found(store, "1007") == [7, 8]


async def test_an_edited_message_is_found_by_its_new_words(
    store: Store, embedder: Embedder
) -> None:
    """After an edit the next run indexes the message and the one after it anew."""
    for text in ("hello", "the budget is 500", "noted", "bye"):
        await store.append("c", "user", text)
    indexer = Indexer(store, embedder)
    await indexer.index_due("c")
    await store.edit_message("c", 1, "the deadline is in March")
    await store.append("c", "user", "more")
    assert await indexer.index_due("c") == 3
    assert await found(store, "deadline") == [1, 2]
    assert await found(store, "budget") == []
    assert await found(store, "budget", as_of=2) == [1, 2]
    assert await nearest(store, embedder, "deadline in March") == 1


async def test_a_redacted_message_is_found_by_nothing(store: Store, embedder: Embedder) -> None:
    """After redaction and a new run no search leads to the message or its neighbour."""
    for text in ("hello", "the word is zanzibarium", "noted", "bye"):
        await store.append("c", "user", text)
    indexer = Indexer(store, embedder)
    await indexer.index_due("c")
    await store.redact_message("c", 1)
    assert await indexer.index_due("c") == 2
    assert await found(store, "zanzibarium") == []
    assert await found(store, "noted") == [2, 3]
    assert await found(store, REDACTED) == [1, 2]


CHANGES: dict[str, Callable[[Store], Awaitable[Any]]] = {
    "edited": lambda store: store.edit_message("c", 1, "nothing"),
    "redacted": lambda store: store.redact_message("c", 1),
    "deleted": lambda store: store.delete_conversation("c"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_words_that_go_while_they_are_indexed_stay_gone(
    store: Store, change: Callable[[Store], Awaitable[Any]]
) -> None:
    """A message edited, redacted or deleted while it is being embedded leaves no old words."""
    for text in ("hello", "the word is zanzibarium", "noted"):
        await store.append("c", "user", text)
    loop = asyncio.get_running_loop()
    waiting = [change]

    def interrupt() -> None:
        while waiting:
            asyncio.run_coroutine_threadsafe(waiting.pop()(store), loop).result()  # type: ignore[arg-type]

    await Indexer(store, Scripted(interrupt)).index_due("c")
    assert await found(store, "zanzibarium") == []
    assert await store.unindexed("c") == []


@pytest.mark.parametrize(
    ("speaker", "content", "expected"),
    [
        ("Mira", "hello", "Mira: hello"),
        (None, "hello", "hello"),
        ("", "hello", "hello"),
        ("佐伯", "", "佐伯: "),
    ],
)
def test_a_text_is_led_by_its_speakers_name(
    speaker: str | None, content: str, expected: str
) -> None:
    """A known name is part of what a message is found by; a role is not (by hand)."""
    assert named_text(Message(seq=0, role="user", content=content, speaker=speaker)) == expected


def test_index_terms_are_those_of_both_messages() -> None:
    """The previous message's terms come first; the first message has only its own."""
    first = Message(seq=0, role="user", content="Budget?", speaker="Mira")
    second = Message(seq=1, role="assistant", content="1,850")
    assert index_terms(second, first) == ["mira", "budget", "1", "850"]
    assert index_terms(first, None) == ["mira", "budget"]
