"""What a build loads, kept while the conversation has not changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ctxeng.context.sections import artifact_block, raw_block
from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Block, BlockKind
from ctxeng.core.messages import Message
from ctxeng.core.protocols import TokenCounter
from ctxeng.store import Conversation, Store

KEPT = 8


@dataclass(slots=True)
class Snapshot:
    """A conversation as of a seq, with the blocks made of it so far."""

    head: Conversation
    as_of: int
    messages: tuple[Message, ...]
    artifacts: tuple[Artifact, ...]
    count: Callable[[str], int]
    _raw: dict[tuple[BlockKind, int], Block] = field(default_factory=dict)
    _made: dict[tuple[BlockKind, str], Block] = field(default_factory=dict)

    def raw(self, kind: BlockKind, message: Message) -> Block:
        """Return a message as a block, made once."""
        key = (kind, message.seq)
        if key not in self._raw:
            self._raw[key] = raw_block(kind, message, self.count)
        return self._raw[key]

    def made(self, kind: BlockKind, artifact: Artifact) -> Block:
        """Return an artifact as a block, made once."""
        key = (kind, artifact.artifact_id)
        if key not in self._made:
            self._made[key] = artifact_block(kind, artifact, self.count)
        return self._made[key]


class SnapshotReader:
    """Loads conversations; a snapshot is used again only while the store's stamp is the same."""

    def __init__(self, store: Store, counter: TokenCounter) -> None:
        self._store = store
        self._counter = counter
        self._known: OrderedDict[tuple[str, int, int, object], Snapshot] = OrderedDict()

    async def load(self, conversation_id: str, as_of: int | None) -> Snapshot:
        """Return the conversation as of a seq (None: as it is now)."""
        head = await self._store.conversation(conversation_id)
        upto = head.last_seq if as_of is None else max(-1, min(as_of, head.last_seq))
        key = (conversation_id, upto, head.stamp, head.created_at)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        messages = await self._store.messages(conversation_id, as_of=upto)
        artifacts = await self._store.artifacts(conversation_id, as_of=upto)
        snapshot = Snapshot(
            head=head,
            as_of=upto,
            messages=tuple(self._counted(m) for m in messages),
            artifacts=tuple(artifacts),
            count=self._counter.count,
        )
        self._known[key] = snapshot
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return snapshot

    def _counted(self, message: Message) -> Message:
        if message.tokens is not None:
            return message
        return replace(message, tokens=self._counter.count(message.text))
