"""The tree of summaries: what is due next, and what a node is made from."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng.compaction import hierarchy
from ctxeng.compaction.hierarchy import DueNode
from ctxeng.core.artifacts import Artifact
from ctxeng.store import Store
from tests.compaction.fakes import (
    ScriptedSummariser,
    answer,
    artifact,
    call,
    settings_with,
    state_of,
    talk,
    tools_with,
)


def chunks(*ranges: tuple[int, int], level: int = 0, **more: Any) -> list[Artifact]:
    """Return nodes of one level."""
    return [artifact("node", *r, level=level, **more) for r in ranges]


def due(
    size: int, *written: Artifact, old_until: int | None = None, **table: Any
) -> DueNode | None:
    """Return the next node of a talk with chunks of two and three children to a parent."""
    hierarchy_table = {"enabled": True, "chunk_messages": 2, **table}
    tools = tools_with(settings_with(hierarchy=hierarchy_table))
    return hierarchy.due(state_of(talk(size), *written, old_until=old_until), tools)


def found(node: DueNode | None) -> tuple[int, int, int] | None:
    """Return level and range."""
    return None if node is None else (node.level, node.from_seq, node.to_seq)


def test_chunks_are_due_when_all_their_messages_are_old() -> None:
    """Chunks of two: the second one waits for the fourth message to leave the window."""
    assert found(due(6, old_until=1)) is None
    assert found(due(6, old_until=2)) == (0, 0, 1)
    assert found(due(6, *chunks((0, 1)), old_until=3)) is None
    assert found(due(6, *chunks((0, 1)), old_until=4)) == (0, 2, 3)


def test_a_chunk_ends_after_the_result_of_its_last_call() -> None:
    """The call at index 1 takes its result at index 2 with it."""
    tools = tools_with(settings_with(hierarchy={"enabled": True, "chunk_messages": 2}))
    messages = [*talk(1), call(1, "a"), answer(2, "a"), *talk(6)[3:]]
    assert found(hierarchy.due(state_of(messages), tools)) == (0, 0, 2)
    assert found(hierarchy.due(state_of(messages, old_until=2), tools)) is None


def test_the_lowest_level_comes_first_and_parents_wait_for_all_children() -> None:
    """Three children make a parent, three parents a grandparent."""
    assert found(due(7, *chunks((0, 1), (2, 3)))) == (0, 4, 5)
    assert found(due(7, *chunks((0, 1), (2, 3), (4, 5)))) == (1, 0, 5)
    level_0 = chunks(*((i, i + 1) for i in range(0, 18, 2)))
    level_1 = chunks((0, 5), (6, 11), level=1)
    assert found(due(18, *level_0, *level_1)) == (1, 12, 17)
    level_1 += chunks((12, 17), level=1)
    assert found(due(18, *level_0, *level_1)) == (2, 0, 17)
    assert found(due(18, *level_0, *level_1, *chunks((0, 17), level=2))) is None


def test_no_level_is_built_beyond_the_settings() -> None:
    """With two levels there are chunks and parents; with one there are chunks only."""
    level_0 = chunks(*((i, i + 1) for i in range(0, 18, 2)))
    level_1 = chunks((0, 5), (6, 11), (12, 17), level=1)
    assert found(due(18, *level_0, *level_1, levels=2)) is None
    assert found(due(18, *level_0, levels=1)) is None


def test_a_stale_chunk_is_written_again_within_its_old_borders() -> None:
    """A hole ends where the next current chunk begins, even where chunks are longer by now."""
    written = [*chunks((0, 1)), *chunks((2, 3), status="stale"), *chunks((4, 5))]
    assert found(due(6, *written)) == (0, 2, 3)
    assert found(due(6, *written, chunk_messages=3)) == (0, 2, 3)


def test_a_hole_between_parents_is_filled_with_the_children_there_are() -> None:
    """Two children stand where three stood: their parent ends where the next parent begins."""
    level_0 = chunks((0, 1), (2, 3), (4, 5), (6, 8), (9, 11), (12, 13), (14, 15), (16, 17))
    level_1 = [
        *chunks((0, 5), level=1),
        *chunks((6, 11), level=1, status="stale"),
        *chunks((12, 17), level=1),
    ]
    node = due(18, *level_0, *level_1)
    assert found(node) == (1, 6, 11)
    assert node is not None
    assert [c.from_seq for c in node.children] == [6, 9]


def test_a_parent_waits_while_its_children_have_a_hole() -> None:
    """The chunk that cannot be written yet holds up its parent and no other kind of work."""
    level_0 = [*chunks((0, 1)), *chunks((4, 5), (6, 7))]
    assert found(due(8, *level_0, old_until=1)) is None


@pytest.mark.parametrize(
    ("level", "level_tokens", "expected"),
    [
        (0, [300, 350], 250),
        (1, [300, 350], 300),
        (2, [300, 350], 350),
        (3, [300, 350], 350),  # the last value serves every higher level
        (1, [], 250),  # none at all: as long as a chunk
    ],
)
async def test_each_level_has_its_own_length(
    store: Store, level: int, level_tokens: list[int], expected: int
) -> None:
    """Target lengths come from chunk_tokens for chunks, from level_tokens above."""
    await store.create_conversation("c")
    table = {"enabled": True, "chunk_messages": 2, "fan_in": 2, "level_tokens": level_tokens}
    written: list[Artifact] = []
    for below in range(level):
        width = 2 ** (below + 1)
        written += chunks(*((i, i + width - 1) for i in range(0, 16, width)), level=below)
    summariser = ScriptedSummariser()
    tools = tools_with(settings_with(hierarchy=table), summariser)
    node = await hierarchy.step(store, state_of(talk(16), *written), tools)
    assert node is not None
    assert node.level == level
    assert summariser.tasks[0].target_tokens == expected


async def test_a_parent_is_made_from_its_childrens_texts_alone(store: Store) -> None:
    """No message is read again above level 0; the children are the parents of the artifact."""
    await store.create_conversation("c")
    summariser = ScriptedSummariser("room and budget")
    tools = tools_with(settings_with(hierarchy={"enabled": True, "chunk_messages": 2}), summariser)
    children = chunks((0, 1), (2, 3), (4, 5))
    node = await hierarchy.step(store, state_of(talk(6), *children), tools)
    assert node is not None
    assert node.artifact_id == "c/node/1/0-5/v1"
    assert node.parents == tuple(c.artifact_id for c in children)
    assert (node.read_from_seq, node.read_to_seq) == (0, 5)
    (task,) = summariser.tasks
    assert task.messages == ()
    assert task.parts == tuple(c.text for c in children)


async def test_a_chunk_is_made_from_its_messages(store: Store) -> None:
    """A chunk reads its core range and nothing else; the stored node is what was returned."""
    await store.create_conversation("c")
    summariser = ScriptedSummariser()
    tools = tools_with(settings_with(hierarchy={"enabled": True, "chunk_messages": 2}), summariser)
    stale = artifact("node", 0, 1, status="stale")
    node = await hierarchy.step(store, state_of(talk(3), stale), tools)
    assert node is not None
    assert (node.version, node.read_from_seq, node.read_to_seq) == (2, 0, 1)
    assert [m.seq for m in summariser.tasks[0].messages] == [0, 1]
    assert summariser.tasks[0].parts == ()
    assert await store.all_artifacts("c") == [node]
    assert await hierarchy.step(store, state_of(talk(3), node), tools) is None
