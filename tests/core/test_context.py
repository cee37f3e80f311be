"""Contexts and artifacts: what a prompt says of itself."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import HISTORY_KINDS, RAW_KINDS, Block, BlockKind, Context
from ctxeng.core.messages import Message

KINDS: tuple[BlockKind, ...] = get_args(BlockKind)


def context(*blocks: Block) -> Context:
    """Return a context of these blocks."""
    return Context(
        conversation_id="c", as_of=3, blocks=blocks, budget_tokens=100, reserve_tokens=10
    )


def test_a_contexts_tokens_are_the_sum_of_its_blocks_without_the_reserve() -> None:
    """An empty prompt costs nothing."""
    blocks = [Block(kind="system", text="a", tokens=7), Block(kind="question", text="b", tokens=5)]
    assert context(*blocks).tokens == 12
    assert context().tokens == 0


def test_history_is_everything_but_system_text_and_question() -> None:
    """Presence of a fact is looked for in these blocks only."""
    built = context(*(Block(kind=kind, text=kind, tokens=1) for kind in KINDS))
    assert {block.kind for block in built.history} == set(KINDS) - {"system", "now", "question"}
    assert set(KINDS) - {"system", "now", "question"} == HISTORY_KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_is_raw_when_it_shows_messages_in_their_own_words(kind: BlockKind) -> None:
    """Artifacts, system text and question are not."""
    expected = kind in ("retrieved", "tail", "recent", "pinned")
    assert Block(kind=kind, text="x", tokens=1).is_raw is expected
    assert (kind in RAW_KINDS) is expected


def test_blocks_of_chosen_kinds_keep_their_order_in_the_prompt() -> None:
    """The order of the arguments does not matter."""
    blocks = [
        Block(kind=kind, text=str(i), tokens=1)
        for i, kind in enumerate(("recent", "memory", "recent", "question"))
    ]
    chosen = context(*blocks).of_kind("memory", "recent")  # type: ignore[arg-type]
    assert [block.text for block in chosen] == ["0", "1", "2"]
    assert context(*blocks).of_kind() == ()  # type: ignore[arg-type]


def test_a_built_prompt_cannot_be_changed_afterwards() -> None:
    """Contexts, blocks and messages are values."""
    block = Block(
        kind="recent", text="x", tokens=1, message=Message(seq=0, role="user", content="")
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        block.text = "y"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        context(block).blocks = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("seq", "expected"), [(2, False), (3, True), (5, True), (8, True), (9, False), (-1, False)]
)
def test_an_artifact_covers_its_core_range_at_both_ends_and_not_its_overlap(
    seq: int, expected: bool
) -> None:
    """Core ranges are inclusive; what was read beyond them is not covered."""
    artifact = Artifact(
        artifact_id="c/episode/0/3-8/v1",
        conversation_id="c",
        kind="episode",
        from_seq=3,
        to_seq=8,
        read_from_seq=2,
        read_to_seq=9,
        visible_from_seq=8,
        text="t",
        tokens=1,
        model="offline-1",
        prompt_hash="h",
    )
    assert artifact.covers(seq) is expected
