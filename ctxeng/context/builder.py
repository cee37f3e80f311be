"""The Context Builder: one path from a stored conversation and a question to a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ctxeng.context.budget import Section, left_out
from ctxeng.context.dedupe import fit_once
from ctxeng.context.history import RawHistory, raw_history, usable, without_question
from ctxeng.context.recent import FittedRecent, fit_recent
from ctxeng.context.retrieved import (
    cut_around,
    not_searched,
    retrieval_record,
    retrieved_blocks,
)
from ctxeng.context.sections import finest_mix, frame_tokens, framed, priced, shared_block
from ctxeng.context.snapshot import Snapshot, SnapshotReader
from ctxeng.core.artifacts import ArtifactKind
from ctxeng.core.context import Block, BlockKind, Context, LeftOut, LeftOutReason
from ctxeng.core.errors import BudgetTooSmall
from ctxeng.core.messages import Message
from ctxeng.core.protocols import TokenCounter
from ctxeng.core.settings import StrategySettings
from ctxeng.retrieval import Retrieval, Retriever, SharedMemories
from ctxeng.store import Store
from ctxeng.store.text import clean_text

MIN_CACHEABLE_TOKENS = 1024


class ContextBuilder:
    """Builds prompts for one strategy. Stateless but for a cache that can never be stale."""

    def __init__(
        self,
        store: Store,
        settings: StrategySettings,
        *,
        counter: TokenCounter,
        retriever: Retriever | None = None,
        memories: SharedMemories | None = None,
        min_cacheable_tokens: int = MIN_CACHEABLE_TOKENS,
    ) -> None:
        self._settings = settings
        self._count = counter.count
        self._retriever = retriever
        self._memories = memories if settings.memory.cross_conversation else None
        self._store = store
        self._reader = SnapshotReader(store, counter)
        self._min_cacheable_tokens = min_cacheable_tokens

    async def build(
        self,
        conversation_id: str,
        question: str,
        *,
        as_of: int | None = None,
        system: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        now: datetime | None = None,
        pinned_seqs: Sequence[int] = (),
    ) -> Context:
        """Return the prompt for a question.

        Args:
            as_of: last seq the prompt may know of, inclusive; None: everything stored.
            system: the product's system text; never shown to a summariser.
            now: told to the model behind the cached head, so that "yesterday" can be resolved.
            pinned_seqs: messages to show raw just before the question, whatever their place.

        Raises:
            BudgetTooSmall: system text, question and reserve alone exceed the budget.
            StoreError: there is no such conversation.
        """
        question, system = clean_text(question), clean_text(system)  # as the store has it
        snapshot = await self._reader.load(conversation_id, as_of)
        messages = without_question(snapshot.messages, question)
        fixed = self._fixed(system, question, now)
        wanted = set(pinned_seqs)
        pinned = [snapshot.raw("pinned", m) for m in messages if m.seq in wanted]
        pinned = framed(pinned, self._count)
        room = self._room([*fixed, *pinned], tools)
        raw = raw_history(messages, snapshot, self._settings)
        recent, tail = self._raw_parts(snapshot, raw, room)
        shown = [*recent.kept, *tail.kept, *pinned]
        found = await self._retrieve(snapshot, messages, question, raw, _seqs(shown))
        if recent.dropped or tail.dropped:  # what the search does not use of its share is theirs
            asked = sum(b.tokens for b in self._retrieved(snapshot, found, shown))
            recent, tail = self._raw_parts(snapshot, raw, room, retrieved_tokens=asked)
            shown = [*recent.kept, *tail.kept, *pinned]
        if room is not None:
            room -= recent.tokens + tail.tokens
        shared = await self._shared(snapshot, question, as_of)
        blocks, omitted = self._background(snapshot, found, shown, room, shared, question)
        if as_of is None and self._settings.compacts:  # a prompt of production, now
            self._store.note_build(conversation_id, as_of=snapshot.as_of, skipped=raw.late)
        return self._context(
            snapshot,
            fixed=fixed,
            background=blocks,
            recent=recent,
            tail=tail,
            pinned=pinned,
            raw=raw,
            omitted=omitted,
            found=found,
            tools=tools,
            messages=messages,
        )

    def _fixed(self, system: str, question: str, now: datetime | None) -> list[Block]:
        blocks = []
        if system:
            blocks.append(priced(Block(kind="system", text=system, tokens=0), self._count))
        if now is not None:
            stamp = f"Current time: {now.isoformat(timespec='minutes')}"
            blocks.append(priced(Block(kind="now", text=stamp, tokens=0), self._count))
        blocks.append(priced(Block(kind="question", text=question, tokens=0), self._count))
        return blocks

    def _room(self, required: Sequence[Block], tools: Sequence[Mapping[str, Any]]) -> int | None:
        budget = self._settings.budget
        if budget.total_tokens is None:
            return None
        needed = sum(block.tokens for block in required) + sum(self._count(str(t)) for t in tools)
        room = budget.total_tokens - budget.reserve_tokens - needed
        if room < 0:
            raise BudgetTooSmall(
                budget_tokens=budget.total_tokens,
                needed_tokens=needed + budget.reserve_tokens,
                detail=f"reserve {budget.reserve_tokens}, question and system text {needed}",
            )
        return room

    def _raw_parts(
        self,
        snapshot: Snapshot,
        raw: RawHistory,
        room: int | None,
        *,
        retrieved_tokens: int | None = None,
    ) -> tuple[FittedRecent, FittedRecent]:
        """Return what fits of the window, and of the uncovered messages before it.

        Args:
            retrieved_tokens: of what was found; None before the search: its whole share is kept.
        """
        found = self._claimed_by_search(retrieved_tokens)
        recent = fit_recent(
            [snapshot.raw("recent", m) for m in raw.recent],
            room_tokens=self._recent_room(snapshot, raw, room, found),
            min_messages=self._settings.window.min_messages,
            count=self._count,
        )
        left = found if raw.late or snapshot.head.keep_raw else 0
        tail = fit_recent(
            [snapshot.raw("tail", m) for m in raw.tail],
            room_tokens=None if room is None else max(0, room - recent.tokens - left),
            min_messages=0,
            count=self._count,
        )
        return recent, tail

    def _claimed_by_search(self, retrieved_tokens: int | None) -> int:
        """Return what found messages claim of their share; before the search (None) all of it."""
        if self._retriever is None or not self._settings.retrieval.enabled:
            return 0
        share = self._settings.budget.retrieved_tokens
        return share if retrieved_tokens is None else min(share, retrieved_tokens)

    def _recent_room(
        self, snapshot: Snapshot, raw: RawHistory, room: int | None, found_tokens: int
    ) -> int | None:
        """Return the window's share, and what the shares of the sections beside it leave.

        While compaction is late, or where the conversation is kept raw, only found messages have a
        share beside it: nothing else reaches what no longer fits.
        """
        if room is None:
            return None
        budget, claimed = self._settings.budget, found_tokens
        if not raw.late:
            artifacts = usable(snapshot, self._settings)
            made = {a.artifact_id: snapshot.made(_KIND_OF[a.kind], a).tokens for a in artifacts}
            memory = sum(made[a.artifact_id] for a in artifacts if a.kind == "memory")
            claimed += min(budget.memory_tokens, memory)
            claimed += min(budget.summary_tokens, sum(made.values()) - memory)
        return min(room, max(budget.recent_tokens, room - claimed))

    async def _retrieve(
        self,
        snapshot: Snapshot,
        messages: Sequence[Message],
        question: str,
        raw: RawHistory,
        shown: set[int],
    ) -> Retrieval | None:
        if self._retriever is None or not self._settings.retrieval.enabled:
            return None
        return await self._retriever.retrieve(
            snapshot.head.conversation_id,
            question,
            as_of=snapshot.as_of,
            history=messages,
            recent=raw.recent,
            exclude_seqs=shown,
        )

    async def _shared(self, snapshot: Snapshot, question: str, as_of: int | None) -> list[Block]:
        """Return what other conversations remember of the user, one block an item."""
        if self._memories is None:
            return []
        until = None if as_of is None else snapshot.as_of
        found = await self._memories.relevant(snapshot.head, question, as_of=until)
        return [shared_block(memory, self._count) for memory in found]

    def _background(
        self,
        snapshot: Snapshot,
        found: Retrieval | None,
        shown: Sequence[Block],
        room: int | None,
        shared: Sequence[Block],
        question: str,
    ) -> tuple[list[Block], list[LeftOut]]:
        """Return the compacted and retrieved blocks that fit, and what was left out."""
        retrieved = Section(
            name="retrieved",
            blocks=self._retrieved(snapshot, found, shown),
            share_tokens=self._settings.budget.retrieved_tokens,
            cut=cut_around(question, self._count),
        )
        summary, *others = self._compacted(snapshot, shared, room)
        wants_exact = found is not None and found.decision.exact
        first = [retrieved, summary] if wants_exact else [summary, retrieved]
        sections = [*first, *others]
        if room is not None:
            candidates = [block for section in sections for block in section.blocks]
            room = max(0, room - frame_tokens(candidates, self._count))
        fitted = fit_once(sections, shown, room)
        blocks = [block for kept in fitted.kept.values() for block in kept]
        return framed(blocks, self._count), [*fitted.left_out, *not_searched(found)]

    def _compacted(
        self, snapshot: Snapshot, shared: Sequence[Block], room: int | None
    ) -> list[Section]:
        """Return what was made of old messages: summaries, memory, and episodes it has folded."""
        budget, artifacts = self._settings.budget, usable(snapshot, self._settings)
        memory = [snapshot.made("memory", a) for a in artifacts if a.kind == "memory"]
        folded_until = max((b.message_seqs[-1] for b in memory if b.message_seqs), default=-1)
        episodes = [snapshot.made("episode", a) for a in artifacts if a.kind == "episode"]
        episodes = sorted(episodes, key=lambda b: -b.message_seqs[0])
        summary_room = None if room is None else min(room, max(budget.summary_tokens, room // 2))
        nodes = finest_mix(
            [a for a in artifacts if a.kind == "node"], room_tokens=summary_room, count=self._count
        )
        summaries = [snapshot.made("summary", a) for a in artifacts if a.kind == "rolling"]
        summaries += [snapshot.made("node", a) for a in reversed(nodes)]
        summaries += [b for b in episodes if b.message_seqs[-1] > folded_until]
        return [
            Section(name="summary", blocks=summaries, share_tokens=budget.summary_tokens),
            Section(name="memory", blocks=[*memory, *shared], share_tokens=budget.memory_tokens),
            Section(
                name="folded",
                blocks=[b for b in episodes if b.message_seqs[-1] <= folded_until],
                share_tokens=0,
                reason="folded",
            ),
        ]

    def _retrieved(
        self, snapshot: Snapshot, found: Retrieval | None, shown: Sequence[Block]
    ) -> list[Block]:
        return [] if found is None else retrieved_blocks(found.groups, snapshot, _seqs(shown))

    def _context(
        self,
        snapshot: Snapshot,
        *,
        fixed: Sequence[Block],
        background: Sequence[Block],
        recent: FittedRecent,
        tail: FittedRecent,
        pinned: Sequence[Block],
        raw: RawHistory,
        omitted: Sequence[LeftOut],
        found: Retrieval | None,
        tools: Sequence[Mapping[str, Any]],
        messages: Sequence[Message],
    ) -> Context:
        blocks = _in_prompt_order([*fixed, *background, *tail.kept, *recent.kept, *pinned])
        blocks = _with_breakpoint(blocks, self._min_cacheable_tokens)
        shown = {seq for b in blocks if b.is_raw for seq in b.message_seqs}
        reason: LeftOutReason = "keep_raw" if snapshot.head.keep_raw else "over_budget"
        dropped = [left_out(b, reason) for b in (*tail.dropped, *recent.dropped)]
        dropped += [left_out(snapshot.raw("tail", m), "late") for m in raw.hidden]
        budget = self._settings.budget
        return Context(
            conversation_id=snapshot.head.conversation_id,
            as_of=snapshot.as_of,
            blocks=tuple(blocks),
            left_out=(*dropped, *omitted),
            budget_tokens=budget.total_tokens,
            reserve_tokens=budget.reserve_tokens,
            gap_seqs=tuple(
                m.seq for m in messages if m.seq not in shown and m.seq not in raw.covered
            ),
            tools=tuple(tools),
            retrieval=retrieval_record(found),
            skipped=raw.late,
            notices=self._notices(fixed),
        )

    def _notices(self, fixed: Sequence[Block]) -> tuple[str, ...]:
        """Return what to say of fixed text over its share: it is neither cut nor refused for it."""
        budget = self._settings.budget
        needed = sum(block.tokens for block in fixed if block.kind == "system")
        over = needed - budget.system_tokens
        if budget.total_tokens is None or over <= 0:
            return ()
        return (
            f"the system text takes {needed} tokens, budget.system_tokens foresees "
            f"{budget.system_tokens}: {over} are taken from the other sections.",
        )


_KIND_OF: Mapping[ArtifactKind, BlockKind] = {
    "rolling": "summary", "node": "node", "episode": "episode", "memory": "memory",
}  # fmt: skip
_ORDER = ("system", "memory", "now", "node", "summary", "episode", "retrieved", "tail", "recent",
          "pinned", "question")  # fmt: skip


def _in_prompt_order(blocks: Sequence[Block]) -> list[Block]:
    def place(block: Block) -> tuple[int, int, int]:
        group = int(block.meta.get("group", 0)) if block.kind == "retrieved" else 0
        return _ORDER.index(block.kind), group, block.message_seqs[0] if block.message_seqs else 0

    return sorted(blocks, key=place)


def _with_breakpoint(blocks: Sequence[Block], min_tokens: int) -> list[Block]:
    """Put a cache breakpoint after the stable head, if it is long enough to be cached."""
    head = [
        i
        for i, block in enumerate(blocks)
        if block.kind in ("system", "memory") and not block.meta.get("shared")
    ]  # what other conversations remember depends on the question
    if not head or sum(blocks[i].tokens for i in head) < min_tokens:
        return list(blocks)
    last = head[-1]
    return [replace(b, cache_breakpoint=True) if i == last else b for i, b in enumerate(blocks)]


def _seqs(blocks: Sequence[Block]) -> set[int]:
    return {seq for block in blocks for seq in block.message_seqs}
