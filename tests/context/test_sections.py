"""Blocks and their prices, and which summary nodes go into the prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.context.sections import (
    artifact_block,
    finest_mix,
    frame_tokens,
    framed,
    priced,
    raw_block,
)
from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Block, BlockKind, Context
from ctxeng.core.messages import Message
from ctxeng.tokens import HeuristicCounter
from tests.compaction.fakes import artifact, say
from tests.generators import histories

COUNT = HeuristicCounter().count


def request_tokens(blocks: list[Block]) -> int:
    """Return the tokens of everything the provider is sent for blocks."""
    context = Context(
        conversation_id="c", as_of=0, blocks=tuple(blocks), budget_tokens=None, reserve_tokens=0
    )
    request = context.to_anthropic()
    texts = [b["text"] for b in request["system"]]
    texts += [part["text"] for message in request["messages"] for part in message["content"]]
    return sum(map(COUNT, texts))


def test_a_raw_block_shows_one_message() -> None:
    """Its text is the message's, its price the line with the speaker's name and its place."""
    message = say(3, "予算は¥3,000", speaker="佐伯")
    block = raw_block("recent", message, COUNT)
    assert (block.text, block.message_seqs, block.message) == (message.text, (3,), message)
    assert block.tokens == COUNT("佐伯: 予算は¥3,000") + 4
    assert block.artifact_ids == ()


def test_an_artifact_block_stands_for_its_core_range() -> None:
    """The read range is for the summariser; the block stands for the core range only."""
    made = artifact("node", 6, 11, level=1, version=2, read_from_seq=4)
    block = artifact_block("node", made, COUNT)
    assert block.message_seqs == (6, 7, 8, 9, 10, 11)
    assert block.artifact_ids == ("c/node/1/6-11/v2",)
    assert block.meta == {"level": 1, "version": 2, "lossless": False}
    assert block.tokens == COUNT('<summary messages="6-11">note on 6 to 11</summary>') + 2


@pytest.mark.parametrize("kind", ["retrieved", "pinned"])
def test_a_quoted_message_is_priced_with_its_tag(kind: BlockKind) -> None:
    """Retrieved and pinned messages are sent in a tag with seq and speaker."""
    block = raw_block(kind, say(3, "예산"), COUNT)
    assert block.tokens == COUNT('<message seq="3" speaker="assistant">예산</message>') + 4


def test_an_escaped_text_costs_what_is_sent() -> None:
    """A defused delimiter is longer than the delimiter."""
    said = Block(kind="recent", text="</memory>", tokens=0, message=say(0, "</memory>"))
    assert priced(said, COUNT).tokens == COUNT("&lt;/memory>") + 4


def test_a_shared_tag_is_paid_once_by_the_first_block_in_it() -> None:
    """Two episodes share one tag; each group of retrieved messages has its own within another."""
    episodes = [artifact_block("episode", artifact("episode", i, i + 5), COUNT) for i in (0, 6)]
    found = [raw_block("retrieved", say(i), COUNT) for i in range(3)]
    groups = [replace(b, meta={"group": g}) for b, g in zip(found, (0, 0, 1), strict=True)]
    plain = [*episodes, *groups, raw_block("recent", say(9), COUNT)]
    extra = [b.tokens - a.tokens for a, b in zip(plain, framed(plain, COUNT), strict=True)]
    tag = COUNT("<episodes>\n\n</episodes>")
    retrieved, group = COUNT("<retrieved>\n\n</retrieved>"), COUNT("<group>\n\n</group>")
    assert extra == [tag, 0, retrieved + group, 0, group, 0]
    assert frame_tokens(plain, COUNT) == sum(extra)
    assert frame_tokens([], COUNT) == 0


@settings(max_examples=50, deadline=None)
@given(history=histories(min_size=1, max_size=10), data=st.data())
def test_priced_blocks_cost_at_least_what_is_sent(
    history: list[Message], data: st.DataObject
) -> None:
    """Whatever the mixture of kinds, the request is never larger than the sum of the prices."""
    kinds: list[BlockKind] = ["recent", "retrieved", "pinned", "tail"]
    blocks = []
    for message in history:
        block = raw_block(data.draw(st.sampled_from(kinds)), message, COUNT)
        group = data.draw(st.integers(0, 2))
        blocks.append(replace(block, meta={"group": group}))
    for made in data.draw(st.lists(st.sampled_from(["node", "summary", "episode", "memory"]))):
        blocks.append(
            artifact_block(made, artifact("episode", 0, 5, text="赤い </episode>"), COUNT)
        )
    assert request_tokens(blocks) <= sum(b.tokens for b in framed(blocks, COUNT))


def tree() -> list[Artifact]:
    """Return nine chunks of two messages, three parents of three, one grandparent."""
    chunks = [artifact("node", i, i + 1, text="x" * 100) for i in range(0, 18, 2)]
    parents = [
        artifact(
            "node",
            i * 6,
            i * 6 + 5,
            level=1,
            text="y" * 100,
            parents=tuple(c.artifact_id for c in chunks[3 * i : 3 * i + 3]),
        )
        for i in range(3)
    ]
    top = artifact(
        "node", 0, 17, level=2, text="z" * 100, parents=tuple(p.artifact_id for p in parents)
    )
    return [*chunks, *parents, top]


def mixed(room: int | None, nodes: list[Artifact] | None = None) -> list[tuple[int, int]]:
    """Return level and first seq of the chosen nodes."""
    chosen = finest_mix(tree() if nodes is None else nodes, room_tokens=room, count=COUNT)
    return [(n.level, n.from_seq) for n in chosen]


# a node costs 34 to 36 tokens: 100 characters, its tag, two for its place
CHUNKS = [(0, i) for i in range(0, 18, 2)]


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (None, CHUNKS),
        (340, CHUNKS),
        (300, [(1, 0), *CHUNKS[3:]]),
        (230, [(1, 0), (1, 6), *CHUNKS[6:]]),
        (120, [(1, 0), (1, 6), (1, 12)]),
        (100, [(2, 0)]),
        (0, [(2, 0)]),  # coarser there is none: the budget decides about the rest
    ],
)
def test_the_oldest_ranges_are_coarsened_first(
    room: int | None, expected: list[tuple[int, int]]
) -> None:
    """Nine chunks cost about 310 tokens; each parent replaces three of them."""
    assert mixed(room) == expected


@pytest.mark.parametrize("room", [None, 310, 200, 100, 0])
def test_any_mix_covers_every_range_once(room: int | None) -> None:
    """Coarser or finer, no message is lost and none is told twice."""
    chosen = finest_mix(tree(), room_tokens=room, count=COUNT)
    covered = [seq for n in chosen for seq in range(n.from_seq, n.to_seq + 1)]
    assert covered == list(range(18))


def test_a_parent_stands_in_for_children_that_are_not_there() -> None:
    """Where only the parent is visible its range is not lost."""
    nodes = [n for n in tree() if n.level > 0 or n.from_seq >= 6]
    assert mixed(None, nodes) == [(1, 0), *CHUNKS[3:]]


def test_no_nodes_make_no_mix() -> None:
    """Nothing to choose from."""
    assert mixed(0, []) == []
