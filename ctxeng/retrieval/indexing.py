"""Index messages off the request path: analysed terms and vectors."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import numpy as np

from ctxeng.core.errors import Conflict
from ctxeng.core.messages import Message
from ctxeng.core.protocols import Embedder, Vectors
from ctxeng.retrieval.analyser import analyse
from ctxeng.store import IndexEntry, Store

BATCH = 256
MAX_CHUNKS = 16  # a pasted log of megabytes is found by its terms; its head is embedded


class Indexer:
    """Keeps a conversation's index up to date.

    Each message is indexed together with the one before it and the speakers' names: an answer is
    found by the words of its question.
    """

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder if store.capabilities.vector else None

    async def index_due(self, conversation_id: str) -> int:
        """Index every message that is not indexed yet; return how many were.

        Words that are edited or redacted meanwhile are never written: the batch is read again.
        """
        total = 0
        while due := await self._store.unindexed(conversation_id, limit=BATCH):
            head = await self._store.conversation(conversation_id)
            read = await self._store.messages(
                conversation_id, from_seq=due[0].seq - 1, to_seq=due[-1].seq
            )
            known = {message.seq: message for message in read}
            batch = [known[message.seq] for message in due if message.seq in known]
            vectors = await asyncio.to_thread(self._vectors, batch)
            entries = [
                IndexEntry(
                    seq=message.seq,
                    terms=index_terms(message, known.get(message.seq - 1)),
                    vectors=rows,
                )
                for message, rows in zip(batch, vectors, strict=True)
            ]
            with contextlib.suppress(Conflict):
                await self._store.index(conversation_id, entries, read_at_stamp=head.stamp)
                total += len(batch)
        return total

    def _vectors(self, messages: Sequence[Message]) -> list[Vectors | None]:
        if self._embedder is None:
            return [None] * len(messages)
        pieces = [self._embedder.split(named_text(m))[:MAX_CHUNKS] for m in messages]
        flat = [piece for group in pieces for piece in group]
        if not flat:
            return [None] * len(messages)
        rows = self._embedder.embed(flat, kind="passage")
        borders = np.cumsum([len(group) for group in pieces])[:-1]
        return list(np.split(rows, borders))


def named_text(message: Message) -> str:
    """Return a message's text, led by its speaker's name where one is known."""
    return f"{message.speaker}: {message.text}" if message.speaker else message.text


def index_terms(message: Message, previous: Message | None) -> list[str]:
    """Return what a message is found by: its terms, its speaker's, the previous message's."""
    before = analyse(named_text(previous)) if previous is not None else []
    return before + analyse(named_text(message))
