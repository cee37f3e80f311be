"""Artifacts: what compaction wrote, conditional writes, staleness as of a seq."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.artifacts import Artifact, ArtifactKind
from ctxeng.core.errors import Conflict, StoreError
from ctxeng.store import Store
from ctxeng.store.artifacts import derived_from
from tests.store.examples import HOSTILE, artifact, conversation_of, entry, item

NEVER = 2**62


async def insert(store: Store, made: Artifact, **more: int) -> None:
    """Insert an artifact on condition that its version is the next one."""
    match made.kind:
        case "rolling":
            await store.insert_rolling(made, expected_version=made.version - 1, **more)
        case "memory":
            await store.insert_memory(made, expected_version=made.version - 1, **more)
        case _:
            await store.insert_nodes([made], **more)


def ids(artifacts: Sequence[Artifact]) -> list[str]:
    """Return the ids without the conversation's name."""
    return [a.artifact_id.partition("/")[2] for a in artifacts]


# reading


async def test_artifacts_come_back_as_they_were_written(store: Store) -> None:
    """Every field of every kind is read back equal."""
    await conversation_of(store, "c", 9)
    items = (
        item("a", "予算は3,000円", speaker="佐伯", source_seqs=(0, 3), confidence_share=0.25),
        item("b", "old", status="superseded", superseded_by="a", scope="project"),
        item("c", "no sources", scope="user", status="retracted"),
    )
    made = [
        artifact("c", "episode", 0, 3, text="one", meta={"z": 1, "a": [None, "예산"]}),
        artifact("c", "memory", 0, 3, text="- fact", items=items, parents=("c/episode/0/0-3/v1",)),
        artifact("c", "node", 0, 3, level=0, text="chunk", lossless=True),
        artifact("c", "node", 0, 8, level=2, text="top", visible=NEVER, superseded_from_seq=None),
        artifact("c", "rolling", 0, 5, read_from=2, text="state", visible=7),
    ]
    for one in made:
        await insert(store, one)
    assert await store.all_artifacts("c") == made


async def test_any_summary_text_is_stored_whole(store: Store) -> None:
    """Hostile text from a model is data; what Postgres cannot hold is replaced, ids included."""
    await conversation_of(store, "c", 40)
    texts = list(HOSTILE.values())
    episodes = [artifact("c", "episode", i, i, text=text) for i, text in enumerate(texts)]
    await store.insert_nodes(episodes)
    assert [a.text for a in await store.all_artifacts("c")] == texts
    dirty = item("i\0d", "a\0b\ud800", speaker="M\0ira", superseded_by="o\0", source_seqs=(1,))
    await insert(
        store, artifact("c", "memory", 0, 1, text="\0x", items=(dirty,), meta={"\0": "\ud800"})
    )
    memory = await store.latest("c", "memory")
    assert memory is not None
    assert (memory.text, memory.meta) == ("x", {"": "\ufffd"})
    clean = item("id", "ab\ufffd", speaker="Mira", superseded_by="o", source_seqs=(1,))
    assert memory.items == (clean,)


async def test_kinds_select_what_is_read(store: Store) -> None:
    """``kinds`` limits the reading; episodes and nodes share a table and are still told apart."""
    await conversation_of(store, "c", 9)
    kinds: tuple[ArtifactKind, ...] = ("episode", "memory", "node", "rolling")
    for kind in kinds:
        await insert(store, artifact("c", kind, 0, 2))
    for kind in kinds:
        assert [a.kind for a in await store.all_artifacts("c", kinds=[kind])] == [kind]
        assert [a.kind for a in await store.artifacts("c", as_of=2, kinds={kind})] == [kind]
    assert [a.kind for a in await store.artifacts("c", as_of=2)] == list(kinds)
    assert await store.all_artifacts("c", kinds=[]) == []
    assert await store.all_artifacts("nobody") == []


async def test_a_prompt_sees_what_was_visible_then(store: Store) -> None:
    """As of a seq, only artifacts visible by then and not yet replaced are read (by hand)."""
    await conversation_of(store, "c", 12)
    await insert(store, artifact("c", "rolling", 0, 3, version=1, visible=4))
    await insert(store, artifact("c", "rolling", 0, 6, version=2, visible=8))
    await insert(store, artifact("c", "rolling", 0, 9, version=3, visible=NEVER))
    await insert(store, artifact("c", "episode", 0, 3, visible=5))
    seen = {as_of: ids(await store.artifacts("c", as_of=as_of)) for as_of in (3, 4, 5, 7, 8, 11)}
    assert seen == {
        3: [],
        4: ["rolling/0/0-3/v1"],
        5: ["episode/0/0-3/v1", "rolling/0/0-3/v1"],
        7: ["episode/0/0-3/v1", "rolling/0/0-3/v1"],
        8: ["episode/0/0-3/v1", "rolling/0/0-6/v2"],
        11: ["episode/0/0-3/v1", "rolling/0/0-6/v2"],
    }


async def test_superseded_versions_stay_readable(store: Store) -> None:
    """All versions are kept; the newest is the latest, visible or not."""
    await conversation_of(store, "c", 6)
    assert await store.latest("c", "rolling") is None
    assert await store.latest("c", "memory") is None
    for version in (1, 2, 3):
        fact = item("i", f"fact {version}")
        await insert(store, artifact("c", "rolling", 0, version, version=version, visible=NEVER))
        await insert(store, artifact("c", "memory", 0, version, version=version, items=(fact,)))
    everything = await store.all_artifacts("c")
    assert [(a.kind, a.version) for a in everything] == [
        (kind, version) for kind in ("memory", "rolling") for version in (1, 2, 3)
    ]
    assert [a.items[0].text for a in everything[:3]] == ["fact 1", "fact 2", "fact 3"]
    assert await store.latest("c", "rolling") == everything[5]
    assert await store.latest("c", "memory") == everything[2]


async def test_a_new_generation_replaces_the_old_from_its_visible_seq(store: Store) -> None:
    """Reprocessing a range writes generation 2: earlier prompts keep generation 1."""
    await conversation_of(store, "c", 9)
    await store.insert_nodes([artifact("c", "episode", s, s + 2) for s in (0, 3)])
    await insert(store, artifact("c", "episode", 3, 5, version=2, visible=7))
    before, after = (
        ["episode/0/0-2/v1", "episode/0/3-5/v1"],
        ["episode/0/0-2/v1", "episode/0/3-5/v2"],
    )
    assert ids(await store.artifacts("c", as_of=6)) == before
    assert ids(await store.artifacts("c", as_of=7)) == after


# races


@pytest.mark.parametrize("kind", ["rolling", "memory", "episode", "node"])
async def test_one_of_several_racing_writers_wins(store: Store, kind: ArtifactKind) -> None:
    """Of tasks that write the same version or range at once, one succeeds, all others conflict."""
    await conversation_of(store, "c", 4)
    made = [artifact("c", kind, 0, 2, text=f"by task {i}") for i in range(8)]
    results = await asyncio.gather(*(insert(store, a) for a in made), return_exceptions=True)
    assert sum(result is None for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 7
    (stored,) = await store.all_artifacts("c")
    assert stored == made[results.index(None)]


@pytest.mark.parametrize("kind", ["rolling", "memory"])
async def test_a_loser_gets_through_from_the_new_state(store: Store, kind: ArtifactKind) -> None:
    """Tasks that retry after a conflict from the newest state write versions 1 to n, none lost."""
    await conversation_of(store, "c", 4)

    async def write(name: str) -> None:
        while True:
            last = await store.latest("c", kind)
            version = 1 if last is None else last.version + 1
            made = artifact("c", kind, 0, 2, version=version, text=name, items=())
            try:
                return await insert(store, made)
            except Conflict:
                continue

    names = [f"task {i}" for i in range(6)]
    await asyncio.gather(*(write(name) for name in names))
    written = await store.all_artifacts("c")
    assert [a.version for a in written] == [1, 2, 3, 4, 5, 6]
    assert sorted(a.text for a in written) == names


@pytest.mark.parametrize(
    ("stored", "version", "expected"),
    [(0, 2, 1), (0, 2, 0), (1, 1, 0), (1, 3, 2), (1, 3, 1), (2, 2, 1), (1, 2, 0)],
)
async def test_only_the_next_version_is_taken(
    store: Store, stored: int, version: int, expected: int
) -> None:
    """A version that does not follow the newest one is a Conflict, and nothing is written."""
    await conversation_of(store, "c", 4)
    for number in range(1, stored + 1):
        await insert(store, artifact("c", "rolling", 0, 2, version=number))
    late = artifact("c", "rolling", 0, 3, version=version)
    with pytest.raises(Conflict, match=f"rolling version must follow {stored}, got {version}"):
        await store.insert_rolling(late, expected_version=expected)
    assert [a.superseded_from_seq for a in await store.all_artifacts("c")] == [2] * (stored - 1) + [
        None
    ] * (stored > 0)


async def test_nodes_are_written_all_or_none(store: Store) -> None:
    """A batch that meets one existing range leaves nothing behind."""
    await conversation_of(store, "c", 12)
    await insert(store, artifact("c", "episode", 3, 5))
    batch = [artifact("c", "episode", s, s + 2) for s in (0, 3, 6)]
    with pytest.raises(Conflict, match="episode range must be new"):
        await store.insert_nodes(batch)
    assert ids(await store.all_artifacts("c")) == ["episode/0/3-5/v1"]
    await store.insert_nodes([])
    await store.insert_nodes([batch[0], batch[2]])
    assert [a.from_seq for a in await store.all_artifacts("c")] == [0, 3, 6]


async def test_the_same_range_may_stand_on_two_levels(store: Store) -> None:
    """A range is new within its kind and level only."""
    await conversation_of(store, "c", 4)
    made = [artifact("c", "node", 0, 2, level=level) for level in (0, 1, 2)]
    await store.insert_nodes([*made, artifact("c", "episode", 0, 2)])
    assert len(await store.all_artifacts("c")) == 4


async def test_an_artifact_needs_its_conversation(store: Store) -> None:
    """Writing for a conversation that is gone is a StoreError that is no Conflict."""
    for kind in ("rolling", "memory", "episode"):
        with pytest.raises(StoreError, match="conversation must exist, got 'gone'") as caught:
            await insert(store, artifact("gone", kind, 0, 2))  # type: ignore[arg-type]
        assert not isinstance(caught.value, Conflict)
        with pytest.raises(Conflict, match="messages must be as they were read"):
            await insert(store, artifact("gone", kind, 0, 2), read_at_stamp=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", ["edit", "redact", "append", "artifact"])
async def test_what_was_made_from_old_words_is_not_written(store: Store, change: str) -> None:
    """A write that names when it read the messages loses to an edit or redaction since then."""
    await conversation_of(store, "c", 4)
    stamp = (await store.conversation("c")).stamp
    changes: dict[str, Awaitable[object]] = {
        "edit": store.edit_message("c", 1, "other words"),
        "redact": store.redact_message("c", 1),
        "append": store.append("c", "user", "more"),
        "artifact": insert(store, artifact("c", "node", 0, 1)),
    }
    for name, action in changes.items():
        if name == change:
            await action
        else:
            action.close()  # type: ignore[attr-defined]
    writes = [
        insert(store, artifact("c", kind, 0, 2), read_at_stamp=stamp)
        for kind in ("rolling", "memory", "episode", "node")
    ]  # type: ignore[list-item]
    writes.append(store.index("c", [entry(1, "message")], read_at_stamp=stamp))
    results = await asyncio.gather(*writes, return_exceptions=True)
    if change in ("edit", "redact"):
        assert all(isinstance(result, Conflict) for result in results)
        assert await store.all_artifacts("c") == []
        newest = (await store.conversation("c")).stamp
        await insert(store, artifact("c", "rolling", 0, 2), read_at_stamp=newest)
    else:
        assert results[0] is None and results[4] is None


async def test_every_write_but_an_append_shows_in_the_stamp(store: Store) -> None:
    """The stamp grows with last_seq while messages are appended, and apart from it otherwise."""

    async def apart() -> int:
        head = await store.conversation("c")
        return head.stamp - head.last_seq

    await conversation_of(store, "c", 5)
    await store.append("c", "user", "one more")
    distance = await apart()
    assert distance == 1  # six messages: stamp 6, last seq 5
    episode = artifact("c", "episode", 0, 2)
    for write in (
        lambda: store.insert_nodes([episode]),
        lambda: store.mark_stale([episode.artifact_id]),
        lambda: insert(store, artifact("c", "rolling", 0, 2)),
        lambda: insert(store, artifact("c", "memory", 0, 2)),
        lambda: store.edit_message("c", 0, "x"),
        lambda: store.redact_message("c", 1),
    ):
        before, _ = await apart(), await write()
        assert await apart() > before


# staleness


async def test_an_edit_stales_what_read_the_old_words_from_then_on(store: Store) -> None:
    """Prompts as of the edit drop derived artifacts; prompts as of earlier seqs keep them."""
    await conversation_of(store, "c", 8)
    first = artifact("c", "episode", 0, 2)
    second = artifact("c", "episode", 3, 5, read_from=2)
    third = artifact("c", "episode", 6, 7)
    fact = item("i", "fact", source_seqs=(1,))
    memory = artifact("c", "memory", 0, 2, parents=(first.artifact_id,), items=(fact,))
    await store.insert_nodes([first, second, third])
    await insert(store, memory)
    await store.edit_message("c", 2, "other words")
    assert ids(await store.artifacts("c", as_of=7)) == ["episode/0/6-7/v1"]
    assert ids(await store.artifacts("c", as_of=6)) == [
        "episode/0/0-2/v1",
        "episode/0/3-5/v1",
        "memory/0/0-2/v1",
    ]
    status = {a.artifact_id: a.status for a in await store.all_artifacts("c")}
    assert status == {
        first.artifact_id: "stale",
        second.artifact_id: "stale",  # it read message 2 as overlap
        third.artifact_id: "active",
        memory.artifact_id: "stale",
    }
    kept = [a for a in await store.all_artifacts("c") if a.kind == "memory"]
    assert kept[0].items == (fact,)


async def test_a_later_edit_does_not_revive_an_artifact(store: Store) -> None:
    """An artifact is stale from the first edit on, however many follow."""
    await conversation_of(store, "c", 4)
    await insert(store, artifact("c", "episode", 0, 2))
    await store.edit_message("c", 0, "x")
    await conversation_of(store, "c", 4)
    await store.edit_message("c", 1, "y")
    assert [bool(await store.artifacts("c", as_of=s)) for s in (2, 3, 6, 7)] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("order", ["edit first", "redaction first"])
async def test_redaction_hides_an_artifact_for_good(store: Store, order: str) -> None:
    """Whatever else was edited, no prompt of any time sees what read a redacted message."""
    await conversation_of(store, "c", 6)
    await insert(store, artifact("c", "episode", 0, 2, text="secret"))
    if order == "edit first":
        await store.edit_message("c", 1, "x")
        await store.redact_message("c", 0)
    else:
        await store.redact_message("c", 0)
        await store.edit_message("c", 1, "x")
    assert [await store.artifacts("c", as_of=s) for s in range(7)] == [[]] * 7
    assert [a.text for a in await store.all_artifacts("c")] == [""]


async def test_mark_stale_hides_artifacts_for_good(store: Store) -> None:
    """Marked artifacts of every kind leave all prompts; unknown ids are no error."""
    await conversation_of(store, "c", 6)
    made = [artifact("c", kind, 0, 2) for kind in ("rolling", "memory", "node", "episode")]  # type: ignore[arg-type]
    for one in made:
        await insert(store, one)
    await store.mark_stale([made[0].artifact_id, made[2].artifact_id, "nobody"])
    assert {a.kind for a in await store.artifacts("c", as_of=5)} == {"memory", "episode"}
    await store.mark_stale([a.artifact_id for a in made])
    assert [await store.artifacts("c", as_of=s) for s in range(6)] == [[]] * 6
    assert [a.status for a in await store.all_artifacts("c")] == ["stale"] * 4


def test_derivation_goes_through_parents() -> None:
    """Whatever has a derived artifact among its ancestors is derived too (by hand)."""
    leaf = artifact("c", "node", 0, 2)
    other = artifact("c", "node", 3, 5)
    parent = artifact(
        "c", "node", 0, 5, level=1, read_from=99, parents=(leaf.artifact_id, other.artifact_id)
    )
    top = replace(parent, artifact_id="top", parents=(parent.artifact_id,))
    chain = [top, parent, other, leaf]
    assert derived_from(chain, 1) == sorted(["top", parent.artifact_id, leaf.artifact_id])
    assert derived_from(chain, 4) == sorted(["top", parent.artifact_id, other.artifact_id])
    assert derived_from(chain, 6) == []
    assert derived_from([], 0) == []


@settings(max_examples=50, deadline=None)
@given(
    data=st.data(),
    ranges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=8),
    seq=st.integers(0, 12),
)
def test_derivation_is_closed(data: st.DataObject, ranges: list[tuple[int, int]], seq: int) -> None:
    """Exactly the artifacts that read the message or have a derived parent are derived."""
    made: list[Artifact] = []
    for i, (start, size) in enumerate(ranges):
        known = [a.artifact_id for a in made]
        parents = data.draw(st.lists(st.sampled_from(known), max_size=2)) if known else []
        one = artifact("c", "node", start, start + size, parents=tuple(parents))
        made.append(replace(one, artifact_id=f"n{i}"))
    derived = set(derived_from(made, seq))
    for a in made:
        reads = a.read_from_seq <= seq <= a.read_to_seq
        assert (a.artifact_id in derived) == (reads or bool(derived & set(a.parents)))


# a user's memories over conversations


async def _remember(store: Store, name: str, version: int, *facts: str, scope: str = "user") -> str:
    items = tuple(item(f"{name}{i}", fact, scope=scope) for i, fact in enumerate(facts))
    made = artifact(name, "memory", 0, 0, version=version, items=items)
    await insert(store, made)
    return made.artifact_id


async def test_a_users_memories_are_those_of_the_newest_snapshots(store: Store) -> None:
    """Of each conversation the newest snapshot counts; only active items of scope user."""
    for name, user in (("a", "mira"), ("b", "mira"), ("z", "other")):
        await store.create_conversation(name, user_id=user)
        await store.append(name, "user", "hello")
    await _remember(store, "a", 1, "old fact")
    await _remember(store, "a", 2, "辛いものは食べない", "second")
    await _remember(store, "b", 1, "from b")
    await _remember(store, "b", 2, "only here", scope="conversation")
    await _remember(store, "z", 1, "somebody else's")
    gone = item("gone", "taken back", scope="user", status="retracted")
    await insert(store, artifact("z", "memory", 0, 0, version=2, items=(gone,)))
    assert [i.text for i in await store.user_memories("mira")] == ["辛いものは食べない", "second"]
    assert await store.user_memories("other") == []
    assert await store.user_memories("nobody") == []


async def test_a_users_memories_are_read_as_of_a_moment(store: Store) -> None:
    """``before`` leaves out what was written later."""
    await store.create_conversation("a", user_id="mira")
    await store.append("a", "user", "hello")
    await _remember(store, "a", 1, "fact")
    past, future = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
    assert await store.user_memories("mira", before=past) == []
    assert [i.text for i in await store.user_memories("mira", before=future)] == ["fact"]


async def test_a_stale_snapshot_is_not_remembered(store: Store) -> None:
    """When the newest snapshot has become stale, the newest true one speaks for the user."""
    await store.create_conversation("a", user_id="mira")
    await store.append("a", "user", "hello")
    await _remember(store, "a", 1, "still true")
    newest = await _remember(store, "a", 2, "no longer true")
    await store.mark_stale([newest])
    assert [i.text for i in await store.user_memories("mira")] == ["still true"]
