"""What compaction knows of a conversation when it looks for due work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ctxeng.core.artifacts import Artifact, ArtifactKind
from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts, call_ids, result_ids, snap_back
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
        written: every version ever written, stale ones included.
    """

    conversation: Conversation
    messages: tuple[Message, ...]
    old_until: int
    written: tuple[Artifact, ...]

    @property
    def conversation_id(self) -> str:
        """Return the conversation's id."""
        return self.conversation.conversation_id

    @property
    def speakers(self) -> tuple[str, ...]:
        """Return every speaker's name once, in order of first appearance."""
        return tuple(dict.fromkeys(m.name for m in self.messages if m.role != "tool"))

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """Return every version that is not stale."""
        return tuple(a for a in self.written if a.status != "stale")

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

    def newest(self, kind: ArtifactKind) -> Artifact | None:
        """Return the newest rolling version or memory snapshot that is not stale."""
        versions = (a for a in self.artifacts if a.kind == kind)
        return max(versions, key=lambda a: a.version, default=None)

    def next_version(self, kind: ArtifactKind, *, level: int = 0, from_seq: int = 0) -> int:
        """Return the version after the last one written for a range, stale ones included."""
        known = [
            a.version
            for a in self.written
            if a.kind == kind and a.level == level and a.from_seq == from_seq
        ]
        return max(known, default=0) + 1

    def uncovered(self, kind: ArtifactKind, level: int = 0) -> tuple[int, int | None]:
        """Return the first seq without a current artifact, and where the next one begins.

        The second is None at the end of the tiling; a number where a stale artifact left a hole.
        """
        current = self.of_kind(kind, level)
        run = run_from(current, 0, limit=len(current))
        start = run[-1].to_seq + 1 if run else 0
        return start, min((a.from_seq for a in current if a.from_seq > start), default=None)

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
        known = self._known
        if known is not None and known.conversation_id == conversation_id:
            head, more = await self._store.news(conversation_id, from_seq=len(known.messages))
            if _only_grew(known, head):
                return self._keep(head, (*known.messages, *map(self._counted, more)), known.written)
        head = await self._store.conversation(conversation_id)
        written = await self._store.all_artifacts(conversation_id)
        messages = await self._store.messages(conversation_id, to_seq=head.last_seq)
        return self._keep(head, tuple(map(self._counted, messages)), tuple(written))

    def _keep(
        self, head: Conversation, messages: tuple[Message, ...], written: tuple[Artifact, ...]
    ) -> State:
        start = window_start(
            messages,
            budget_tokens=self._window.tokens,
            min_messages=self._window.min_messages,
        )
        self._known = State(
            conversation=head,
            messages=messages,
            old_until=min(start, settled_until(messages)),
            written=written,
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


def settled_until(messages: Sequence[Message]) -> int:
    """Return the index up to which no tool call still waits for its result.

    A call may be answered while its assistant turn and the results after it are the newest
    messages; once anybody has said anything else, a call without a result stays without.
    """
    turn = len(messages)
    while turn and result_ids(messages[turn - 1]):
        turn -= 1
    while turn and messages[turn - 1].role == "assistant":
        turn -= 1
    answered = {call for m in messages[turn:] for call in result_ids(m)}
    for i in range(turn, len(messages)):
        if call_ids(messages[i]) - answered:
            return snap_back(atomic_starts(messages), i)
    return len(messages)


def run_from(artifacts: Sequence[Artifact], start: int, *, limit: int) -> list[Artifact]:
    """Return up to ``limit`` artifacts that follow each other without a gap from ``start``."""
    run: list[Artifact] = []
    for artifact in sorted(artifacts, key=lambda a: a.from_seq):
        if len(run) == limit:
            break
        if artifact.from_seq == (run[-1].to_seq + 1 if run else start):
            run.append(artifact)
    return run
