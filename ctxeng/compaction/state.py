"""What compaction knows of a conversation when it looks for due work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ctxeng.core.artifacts import Artifact, ArtifactKind
from ctxeng.core.messages import Message
from ctxeng.core.protocols import TokenCounter
from ctxeng.core.settings import StrategySettings
from ctxeng.core.windows import window_start
from ctxeng.store import Conversation, Store

NEVER_VISIBLE = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A conversation, its artifacts, and the border between old and recent messages.

    Args:
        messages: from seq 0, tokens counted.
        old_until: index of the first message of the recent window; what is before may be compacted.
        artifacts: every version that is not stale.
    """

    conversation: Conversation
    messages: tuple[Message, ...]
    old_until: int
    artifacts: tuple[Artifact, ...]

    @property
    def conversation_id(self) -> str:
        """Return the conversation's id."""
        return self.conversation.conversation_id

    @property
    def speakers(self) -> tuple[str, ...]:
        """Return every speaker's name once, in order of first appearance."""
        return tuple(dict.fromkeys(m.name for m in self.messages if m.role != "tool"))

    def of_kind(self, kind: ArtifactKind, level: int | None = None) -> list[Artifact]:
        """Return the current artifacts of a kind (the newest generation of each), in order."""
        newest: dict[tuple[int, int], Artifact] = {}
        for artifact in self.artifacts:
            if artifact.kind != kind or (level is not None and artifact.level != level):
                continue
            key = (artifact.level, artifact.from_seq)
            if key not in newest or newest[key].version < artifact.version:
                newest[key] = artifact
        return sorted(newest.values(), key=lambda a: (a.level, a.from_seq))

    def visible_from(self, settings: StrategySettings) -> int:
        """Return the first seq as of which something written now may be used."""
        lag = settings.compaction.lag_messages
        return NEVER_VISIBLE if lag is None else self.conversation.last_seq + lag


class StateReader:
    """Reads conversations as they are now, fetching only what is new where that is safe.

    The conversation's ``stamp`` decides: it has grown by as much as ``last_seq`` only if nothing
    but appends has happened since. Anything else, by whatever process, reads everything anew.
    """

    def __init__(self, store: Store, settings: StrategySettings, counter: TokenCounter) -> None:
        self._store = store
        self._window = settings.window
        self._counter = counter
        self._known: State | None = None

    async def load(self, conversation_id: str) -> State:
        """Return the conversation's state."""
        head = await self._store.conversation(conversation_id)
        known = self._known
        if known is None or known.conversation_id != conversation_id or not _only_grew(known, head):
            messages: tuple[Message, ...] = ()
            everything = await self._store.all_artifacts(conversation_id)
            artifacts = tuple(a for a in everything if a.status != "stale")
        else:
            messages, artifacts = known.messages, known.artifacts
        if len(messages) <= head.last_seq:
            more = await self._store.messages(
                conversation_id, from_seq=len(messages), to_seq=head.last_seq
            )
            messages = (*messages, *(self._counted(m) for m in more))
        start = window_start(
            messages,
            budget_tokens=self._window.tokens,
            min_messages=self._window.min_messages,
        )
        self._known = State(
            conversation=head, messages=messages, old_until=start, artifacts=artifacts
        )
        return self._known

    def _counted(self, message: Message) -> Message:
        if message.tokens is not None:
            return message
        return replace(message, tokens=self._counter.count(message.text))


def _only_grew(known: State, head: Conversation) -> bool:
    before = known.conversation
    grown = head.stamp - before.stamp
    return head.created_at == before.created_at and grown == head.last_seq - before.last_seq


def contiguous_end(artifacts: Sequence[Artifact]) -> int:
    """Return the first seq that a contiguous run of artifacts from seq 0 does not cover."""
    end = 0
    for artifact in sorted(artifacts, key=lambda a: a.from_seq):
        if artifact.from_seq != end:
            break
        end = artifact.to_seq + 1
    return end
