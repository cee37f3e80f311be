"""The built prompt: an ordered list of blocks, each of which knows where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ctxeng.core.messages import Message

BlockKind = Literal[
    "system",
    "memory",
    "now",
    "node",
    "summary",
    "episode",
    "retrieved",
    "tail",
    "recent",
    "pinned",
    "question",
]
HISTORY_KINDS: frozenset[BlockKind] = frozenset(
    {"memory", "node", "summary", "episode", "retrieved", "tail", "recent", "pinned"}
)
RAW_KINDS: frozenset[BlockKind] = frozenset({"retrieved", "tail", "recent", "pinned"})
LeftOutReason = Literal[
    "duplicate", "over_budget", "gated", "below_score", "folded", "late", "keep_raw"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One piece of the prompt.

    Args:
        text: what the model sees of it, speaker tags and delimiters excluded.
        tokens: by the builder's counter, with the markup it is sent in.
        message_seqs: messages this block shows or stands for. For raw kinds: the one message
            shown. For artifacts: its core range.
        artifact_ids: the artifact it was read from; empty for raw kinds.
        message: raw kinds only: the message as sent (its text may be shortened).
        shortened: the text was cut, with a visible mark.
        cache_breakpoint: a prompt-cache breakpoint follows this block.
    """

    kind: BlockKind
    text: str
    tokens: int
    message_seqs: tuple[int, ...] = ()
    artifact_ids: tuple[str, ...] = ()
    message: Message | None = None
    shortened: bool = False
    cache_breakpoint: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_raw(self) -> bool:
        """Return whether the block shows messages in their own words."""
        return self.kind in RAW_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something that was loaded or considered, and is not in the prompt."""

    kind: BlockKind
    reason: LeftOutReason
    tokens: int
    message_seqs: tuple[int, ...] = ()
    artifact_ids: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The prompt for one question, with provenance.

    Args:
        as_of: last seq the prompt may know of, inclusive; -1 for an empty conversation.
        budget_tokens: total limit the build obeyed, response reserve included; None: no limit.
        reserve_tokens: kept free for the answer.
        gap_seqs: messages that are neither raw in the prompt nor covered by a visible artifact.
        retrieval: what the gate decided and the search scored (for `explain`); plain JSON.
        skipped: names of compactions that were late ("compaction_skipped" events).
        notices: what whoever set the budget should know of this prompt, a sentence each.
    """

    conversation_id: str
    as_of: int
    blocks: tuple[Block, ...]
    left_out: tuple[LeftOut, ...] = ()
    budget_tokens: int | None
    reserve_tokens: int
    gap_seqs: tuple[int, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    retrieval: Mapping[str, Any] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Return the tokens of the whole prompt, without the reserve."""
        return sum(block.tokens for block in self.blocks)

    @property
    def history(self) -> tuple[Block, ...]:
        """Return the blocks that carry history (not system, not question)."""
        return tuple(block for block in self.blocks if block.kind in HISTORY_KINDS)

    def of_kind(self, *kinds: BlockKind) -> tuple[Block, ...]:
        """Return the blocks of the given kinds, in prompt order."""
        return tuple(block for block in self.blocks if block.kind in kinds)

    def to_anthropic(self) -> dict[str, Any]:
        """Return ``system``, ``messages`` (and ``tools``) for ``client.messages.create``.

        Pure: equal contexts give equal requests.
        """
        from ctxeng.core.prompt import anthropic_request

        return anthropic_request(self)
