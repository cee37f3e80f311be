"""Messages: appended, read as of any seq, edited and redacted."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import InputError, StoreError
from ctxeng.core.messages import Message
from ctxeng.store import Store
from ctxeng.store.messages import REDACTED, check_unedited
from tests.generators import histories, spoken
from tests.store.examples import (
    HOSTILE,
    artifact,
    conversation_of,
    entry,
    item,
    rows_holding,
    said,
    unit,
    with_vectors,
)

few = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_fresh = iter(range(1_000_000))


def fresh(name: str = "c") -> str:
    """Return a conversation id that no other example of this run has."""
    return f"{name}{next(_fresh)}"


@few
@given(history=histories(min_size=1, max_size=12))
async def test_messages_come_back_as_they_were_appended(
    store: Store, history: list[Message]
) -> None:
    """What was appended is read back equal, in words, blocks and the text a model would see."""
    name = fresh()
    stored = await store.append_many(name, history)
    read = await store.messages(name)
    assert read == stored == history
    assert [m.text for m in read] == [m.text for m in history]


async def test_seqs_are_given_by_the_store(store: Store) -> None:
    """Seqs continue from the last one, whatever numbers the appended messages carried."""
    first = await store.append("c", "user", "hello")
    more = await store.append_many("c", [Message(seq=77, role="assistant", content="a")] * 2)
    assert [first.seq, *(m.seq for m in more)] == [0, 1, 2]
    assert [m.seq for m in await store.messages("c")] == [0, 1, 2]
    assert (await store.conversation("c")).last_seq == 2


async def test_appending_nothing_makes_nothing(store: Store) -> None:
    """An empty batch returns an empty list and makes no conversation."""
    assert await store.append_many("c", []) == []
    with pytest.raises(StoreError, match="conversation must exist, got 'c'"):
        await store.conversation("c")


async def test_concurrent_appends_lose_nothing(store: Store) -> None:
    """Tasks that append at once, to a conversation not yet made, get every seq exactly once."""
    stored = await asyncio.gather(*(store.append("c", "user", f"task {i}") for i in range(30)))
    assert sorted(m.seq for m in stored) == list(range(30))
    read = await store.messages("c")
    assert {(m.seq, m.content) for m in read} == {(m.seq, m.content) for m in stored}


async def test_batches_are_not_interleaved(store: Store) -> None:
    """Each of several batches appended at once stays a run of its own."""
    batches = [[f"{batch}-{i}" for i in range(4)] for batch in range(6)]
    await asyncio.gather(*(store.append_many("c", said(*texts)) for texts in batches))
    contents = [m.content for m in await store.messages("c")]
    runs = [contents[i : i + 4] for i in range(0, 24, 4)]
    assert sorted(runs) == sorted(batches)


async def test_any_text_is_stored_whole(store: Store) -> None:
    """Delimiters, control characters and any script are data: they come back unchanged."""
    for text in HOSTILE.values():
        call = {"type": "tool_use", "id": "t", "name": "n", "input": {text: text}}
        await store.append("c", "user", text, blocks=[call], meta={"note": text})
    for text, read in zip(HOSTILE.values(), await store.messages("c"), strict=True):
        assert (read.content, read.meta["note"]) == (text, text)
        assert read.blocks[0]["input"] == {text: text}


async def test_what_postgres_cannot_hold_is_replaced_everywhere(store: Store) -> None:
    """NUL and lone surrogates are cleaned from every field, in what is returned and stored."""
    dirty = "a\0b\ud800"
    stored = await store.append(
        "c",
        "user",
        dirty,
        speaker=dirty,
        message_id=dirty,
        blocks=[{"type": "tool_result", "tool_use_id": dirty, "content": [dirty]}],
        meta={dirty: [dirty, float("nan")]},
    )
    clean = "ab\ufffd"
    assert (stored.content, stored.speaker, stored.message_id) == (clean, clean, clean)
    assert stored.blocks == ({"type": "tool_result", "tool_use_id": clean, "content": [clean]},)
    assert stored.meta == {clean: [clean, None]}
    assert await store.messages("c") == [stored]


async def test_a_long_message_is_stored_whole(store: Store) -> None:
    """A message of a megabyte of Japanese comes back character for character."""
    long = "予算は三千円です。" * 40_000
    await store.append("c", "tool", long)
    assert (await store.messages("c"))[0].content == long


async def test_a_tool_call_reads_as_it_was_written(store: Store) -> None:
    """The arguments of a stored tool call keep their order, however it was appended."""
    call = {"type": "tool_use", "id": "t", "name": "write", "input": {"path": "x", "a": 1}}
    sent = [await store.append("c", "assistant", "", blocks=[call], meta=call) for _ in range(2)]
    sent += await store.append_many("c", sent)
    await store.edit_message("c", 0, "")
    for before, read in zip(sent, await store.messages("c"), strict=True):
        assert read.text == before.text == "[tool call: write path=x, a=1]"
        assert list(read.meta) == list(before.meta) == list(call)
    assert (await store.messages("c", as_of=0))[0].text == sent[0].text


async def test_timestamps_are_kept_to_the_microsecond(store: Store) -> None:
    """A timestamp comes back as the same instant, in UTC; none stays none."""
    moments = [
        datetime(2026, 3, 17, 9, 30, 0, 123456, tzinfo=UTC),
        datetime(2026, 3, 17, 18, 30, tzinfo=timezone(timedelta(hours=9))),
        datetime(1970, 1, 1, tzinfo=UTC),
        None,
    ]
    for moment in moments:
        await store.append("c", "user", "hello", timestamp=moment)
    read = [m.timestamp for m in await store.messages("c")]
    assert read == moments
    assert {moment.tzinfo for moment in read if moment is not None} == {UTC}


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs tzset")
async def test_a_timestamp_without_a_zone_counts_as_utc(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A naive timestamp is taken as UTC, whatever the zone of the machine."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        stored = await store.append("c", "user", "hello", timestamp=datetime(2026, 1, 2, 3, 4))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert stored.timestamp == datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    assert await store.messages("c") == [stored]


BOUNDS: list[tuple[dict[str, int], list[int]]] = [
    ({}, [0, 1, 2, 3, 4]),
    ({"from_seq": 2}, [2, 3, 4]),
    ({"to_seq": 2}, [0, 1, 2]),
    ({"from_seq": 1, "to_seq": 3}, [1, 2, 3]),
    ({"from_seq": 3, "to_seq": 1}, []),
    ({"from_seq": -4, "to_seq": 0}, [0]),
    ({"as_of": 0}, [0]),
    ({"as_of": -1}, []),
    ({"as_of": 4}, [0, 1, 2, 3, 4]),
    ({"as_of": 2**40}, [0, 1, 2, 3, 4]),
    ({"to_seq": 2**40}, [0, 1, 2, 3, 4]),
    ({"from_seq": 2**40}, []),
    ({"from_seq": 1, "to_seq": 3, "as_of": 2}, [1, 2]),
]


async def test_bounds_are_inclusive(store: Store) -> None:
    """``from_seq``, ``to_seq`` and ``as_of`` are inclusive and may lie anywhere (by hand)."""
    await conversation_of(store, "c", 5)
    for bounds, expected in BOUNDS:
        assert [m.seq for m in await store.messages("c", **bounds)] == expected, bounds


async def test_an_unknown_conversation_has_no_messages(store: Store) -> None:
    """Reading what does not exist gives an empty list."""
    assert await store.messages("nobody") == []
    assert await store.messages("nobody", as_of=3) == []


async def test_a_refused_message_leaves_no_trace(store: Store) -> None:
    """A role the schema does not know is a StoreError without the words, and the batch is undone."""
    await store.append("c", "user", "first")
    batch = [
        Message(seq=0, role="user", content="fine"),
        Message(seq=1, role="robot", content="s3cret"),
    ]  # type: ignore[arg-type]
    with pytest.raises(StoreError) as caught:
        await store.append_many("c", batch)
    assert "s3cret" not in str(caught.value)
    assert [m.content for m in await store.messages("c")] == ["first"]
    assert (await store.conversation("c")).last_seq == 0


async def test_an_id_that_cannot_be_stored_is_refused(store: Store) -> None:
    """An id is never altered into another conversation's: what cannot be stored is a StoreError."""
    await store.append("ab", "user", "hello")
    for name in ("a\0b", "a\ud800b"):
        for refused in (
            store.append(name, "user", "x"),
            store.messages(name),
            store.conversation(name),
            store.delete_user(name),
            store.create_conversation("fine", user_id=name),
        ):
            with pytest.raises(StoreError):
                await refused
    assert len(await store.messages("ab")) == 1


# edits


async def test_an_edit_appends_a_revision(store: Store) -> None:
    """After an edit the new words are current, and the old ones are read as of earlier seqs."""
    await conversation_of(store, "c", 3)
    edited = await store.edit_message("c", 1, "新しい言葉", tokens=7)
    await store.append("c", "assistant", "message 3")
    assert (edited.content, edited.revision, edited.tokens) == ("新しい言葉", 1, 7)
    assert (await store.messages("c"))[1] == edited
    assert (await store.messages("c", as_of=3))[1] == edited
    assert (await store.messages("c", as_of=2))[1] == edited
    old = (await store.messages("c", as_of=1))[1]
    assert (old.content, old.revision) == ("message 1", 0)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), spoken),
        st.tuples(st.integers(0, 5), spoken),
    ),
    max_size=14,
)


@few
@given(first=spoken, operations=operations)
async def test_every_past_state_can_be_read_again(
    store: Store, first: str, operations: list[tuple[str | int, str]]
) -> None:
    """Reading as of a seq gives the words that stood when that seq was last the newest."""
    name = fresh()
    words = [first]
    await store.append(name, "user", first)
    past = {0: list(words)}
    for where, text in operations:
        if isinstance(where, str):
            await store.append(name, "user", text)
            words.append(text)
        else:
            await store.edit_message(name, where % len(words), text)
            words[where % len(words)] = text
        past[len(words) - 1] = list(words)
    for as_of, expected in past.items():
        assert [m.content for m in await store.messages(name, as_of=as_of)] == expected
    assert [m.content for m in await store.messages(name)] == words


async def test_an_edit_changes_nothing_but_the_words(store: Store) -> None:
    """Role, speaker, time, blocks and meta of an edited message stay."""
    call = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
    before = await store.append(
        "c", "assistant", "old", speaker="Mira", blocks=[call], meta={"k": 1}, message_id="m"
    )
    await store.edit_message("c", 0, "new\0")
    (after,) = await store.messages("c")
    assert after == before.with_(content="new", revision=1)


async def test_only_a_message_that_exists_can_be_edited(store: Store) -> None:
    """Editing or redacting a seq that is not there is a StoreError, and changes nothing."""
    await conversation_of(store, "c", 3)
    before = await store.conversation("c")
    for seq in (-1, 3, 2**31):
        with pytest.raises(StoreError, match=f"message must exist, got seq {seq} of"):
            await store.edit_message("c", seq, "x")
        with pytest.raises(StoreError, match=f"message must exist, got seq {seq} of"):
            await store.redact_message("c", seq)
    with pytest.raises(StoreError, match="message must exist, got seq 0 of conversation 'none'"):
        await store.edit_message("none", 0, "x")
    assert await store.conversation("c") == before


async def test_token_counts_fill_gaps_only(store: Store) -> None:
    """A stored count is never overwritten; an edit without a count clears it."""
    await store.append("c", "user", "one", tokens=1)
    await store.append("c", "user", "two")
    await store.set_tokens("c", {0: 50, 1: 60, 9: 70})
    assert [m.tokens for m in await store.messages("c")] == [1, 60]
    await store.edit_message("c", 0, "other words")
    assert [m.tokens for m in await store.messages("c")] == [None, 60]
    await store.append("c", "user", "three")
    await store.set_tokens("c", {0: 5})
    assert [m.tokens for m in await store.messages("c")] == [5, 60, None]


async def test_counts_belong_to_their_revision(store: Store) -> None:
    """As of a seq before the edit, the old revision comes with the old count."""
    await store.append("c", "user", "one", tokens=1)
    await store.append("c", "user", "two", tokens=2)
    await store.edit_message("c", 0, "other words")
    assert [m.tokens for m in await store.messages("c", as_of=0)] == [1]
    assert [m.tokens for m in await store.messages("c", as_of=1)] == [None, 2]


@pytest.mark.parametrize("blocks", [["str"], "str", [{"type": "text", "text": "x"}, None], [["a"]]])
async def test_blocks_that_are_no_objects_are_refused(store: Store, blocks: Any) -> None:
    """Stored, they would be in the way of everything that reads the conversation."""
    await conversation_of(store, "c", 2)
    for name in ("c", "made with its first message"):
        with pytest.raises(InputError, match=r"message\.blocks must be a list of objects, got "):
            await store.append(name, "user", "hello", blocks=blocks)
    with pytest.raises(InputError, match="index"):
        await store.append_many(
            "c", [*said("a"), *(m.with_(blocks=tuple(blocks)) for m in said("b"))]
        )
    assert len(await store.messages("c")) == 2
    assert not await store.has_conversation("made with its first message")


# redaction and deletion

SECRET = "zanzibarium"


async def _with_secret(store: Store, name: str, *, user_id: str | None = None) -> None:
    """Make a conversation whose message 1 states a secret that everything derived repeats."""
    await store.create_conversation(name, user_id=user_id, meta={"about": SECRET})
    await store.append("other", "user", "unrelated")
    texts = ["hello", f"the word is {SECRET}", "noted", "more", "and more"]
    call = {"type": "tool_use", "id": SECRET, "name": "n", "input": {"q": SECRET}}
    for seq, message in enumerate(said(*texts)):
        extra = {"blocks": [call], "meta": {"k": SECRET}} if seq == 1 else {}
        await store.append(name, message.role, message.content, **extra)  # type: ignore[arg-type]
    await store.edit_message(name, 1, f"the word was {SECRET}")
    rows = [unit(1.0), unit(0.0, 1.0)]
    await store.index(name, [entry(s, "x", vectors=rows) for s in (0, 3, 4)])
    await store.index(name, [entry(s, SECRET, vectors=rows) for s in (1, 2)])
    rolling = artifact(name, "rolling", 0, 1, text=f"summary: {SECRET}", meta={"x": SECRET})
    await store.insert_rolling(rolling, expected_version=0)
    after = artifact(
        name, "rolling", 0, 4, version=2, read_from=2, parents=(rolling.artifact_id,), text=SECRET
    )
    await store.insert_rolling(after, expected_version=1)
    episode = artifact(name, "episode", 0, 2, text=f"episode: {SECRET}")
    untouched = artifact(name, "episode", 3, 4, text="about something else")
    await store.insert_nodes([episode, untouched])
    memory = artifact(
        name,
        "memory",
        0,
        2,
        parents=(episode.artifact_id,),
        text=SECRET,
        items=(item("i", f"it is {SECRET}", source_seqs=(1,), scope="user"),),
    )
    await store.insert_memory(memory, expected_version=0)


async def test_redaction_destroys_the_words_everywhere(store: Store) -> None:
    """A redacted message's words are in no table: revisions, index, artifacts, memory."""
    await _with_secret(store, "c")
    holding = await rows_holding(store, SECRET)
    assert {"conversation_messages", "message_revisions", "message_postings", "summary_nodes",
            "conversation_summaries", "memory_snapshots", "user_memories"} <= set(holding)  # fmt: skip
    await store.redact_message("c", 1)
    assert await rows_holding(store, SECRET) == {"conversations": 1}  # the product's own meta
    (message,) = await store.messages("c", from_seq=1, to_seq=1)
    assert (message.content, message.blocks, message.meta) == (REDACTED, (), {})
    assert (await store.messages("c", as_of=1))[1].content == REDACTED


async def test_redaction_blanks_and_stales_what_was_derived(store: Store) -> None:
    """Every artifact that read the message, directly or through parents, is empty and stale."""
    await _with_secret(store, "c")
    await store.redact_message("c", 1)
    state = {a.artifact_id: (a.status, a.text, a.items) for a in await store.all_artifacts("c")}
    assert state == {
        "c/rolling/0/0-1/v1": ("stale", "", ()),
        "c/rolling/0/0-4/v2": ("stale", "", ()),
        "c/episode/0/0-2/v1": ("stale", "", ()),
        "c/episode/0/3-4/v1": ("active", "about something else", ()),
        "c/memory/0/0-2/v1": ("stale", "", ()),
    }
    for as_of in range(6):
        assert all(a.from_seq == 3 for a in await store.artifacts("c", as_of=as_of))


@with_vectors
async def test_redaction_takes_the_vectors_too(store: Store) -> None:
    """A redacted message is found by no search until it is indexed anew; the others still are."""
    await _with_secret(store, "c")
    await store.redact_message("c", 1)
    hits = await store.search_semantic("c", unit(1.0), as_of=4, limit=9)
    assert [hit.seq for hit in hits] == [0, 3, 4]
    assert [m.seq for m in await store.unindexed("c")] == [1, 2]


async def test_a_redacted_message_can_be_redacted_again(store: Store) -> None:
    """Redaction is idempotent in its effect and keeps the message's place."""
    await conversation_of(store, "c", 2)
    await store.redact_message("c", 0)
    await store.redact_message("c", 0)
    assert [(m.seq, m.content) for m in await store.messages("c")] == [
        (0, REDACTED),
        (1, "message 1"),
    ]


async def test_deleting_a_conversation_leaves_nothing(store: Store) -> None:
    """After deletion no row of any table names the conversation; others stay whole."""
    await _with_secret(store, "doomed-one")
    assert len(await rows_holding(store, "doomed-one")) >= 9
    await store.delete_conversation("doomed-one")
    assert await rows_holding(store, "doomed-one") == {}
    assert await rows_holding(store, SECRET) == {}
    assert [m.content for m in await store.messages("other")] == ["unrelated"]


async def test_deleting_a_user_leaves_nothing(store: Store) -> None:
    """All conversations of a user go with everything made from them; the ids are returned."""
    await _with_secret(store, "doomed-one", user_id="mira@example.com")
    await store.create_conversation("doomed-two", user_id="mira@example.com")
    await store.create_conversation("kept", user_id="佐伯")
    await store.append("kept", "user", "hello")
    assert await store.user_memories("mira@example.com")
    assert sorted(await store.delete_user("mira@example.com")) == ["doomed-one", "doomed-two"]
    assert await rows_holding(store, "mira@example.com") == {}
    assert await rows_holding(store, "doomed") == {}
    assert len(await store.messages("kept")) == 1
    assert await store.delete_user("mira@example.com") == []


async def test_a_discarded_conversation_leaves_nothing_and_no_record(store: Store) -> None:
    """What a replay leaves behind is nobody's words: they may be said again elsewhere."""
    await _with_secret(store, "doomed-one")
    await store.discard_conversation("doomed-one")
    assert await rows_holding(store, "doomed-one") == {}
    assert await rows_holding(store, SECRET) == {}
    assert await store.deleted_conversations() == {}
    assert [m.content for m in await store.messages("other")] == ["unrelated"]
    await store.discard_conversation("nobody")


async def test_deleting_what_is_not_there_is_no_error(store: Store) -> None:
    """Deletion can be repeated."""
    await store.delete_conversation("nobody")
    assert await store.delete_user("nobody") == []


async def test_a_deletion_takes_the_model_calls_along(store: Store) -> None:
    """At once, by the hash of the conversation; where nothing was deleted nothing is asked for."""
    asked: list[set[str]] = []

    class Calls:
        def forget_deleted(self, deleted: Mapping[str, float]) -> int:
            asked.append(set(deleted))
            return len(deleted)

    await _with_secret(store, "c")
    await conversation_of(store, "d", 2)
    store._calls = Calls()
    await store.delete_conversation("nobody")
    await store.edit_message("c", 0, "an edit keeps the old words readable")
    assert asked == []
    await store.redact_message("c", 1)
    await store.delete_conversation("d")
    c, d = (hashlib.sha256(name.encode()).hexdigest() for name in "cd")
    assert asked == [{c}, {c, d}]
    assert await store.forget_calls() == 2


async def test_a_redaction_is_noted_when_nobody_may_send_the_words_any_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last look at the words, by this machine's clock: here 1,000 s before the server's."""
    await conversation_of(store, "c", 2)
    behind = time.time() - 1000
    monkeypatch.setattr("ctxeng.store.deletion.time.time", lambda: behind)
    async with store._transaction() as looking:
        await check_unedited(looking, "c", None)
        redacting = asyncio.create_task(store.redact_message("c", 0))
        await asyncio.sleep(0.5)
        cursor = await looking.execute("SELECT extract(epoch FROM clock_timestamp())::float")
        looked = await cursor.fetchone()
    await redacting
    assert looked is not None
    async with store._connection() as connection:
        cursor = await connection.execute(
            "SELECT extract(epoch FROM deleted_at)::float FROM deletions"
        )
        noted = await cursor.fetchone()
    assert noted is not None
    assert noted[0] > looked[0]
    (told,) = (await store.deleted_conversations()).values()
    assert behind - 60 < told < behind


async def test_a_name_can_be_used_again(store: Store) -> None:
    """A conversation made anew under a deleted one's id begins at seq 0, and is told apart."""
    await conversation_of(store, "c", 3)
    before = await store.conversation("c")
    await store.delete_conversation("c")
    await conversation_of(store, "c", 3)
    after = await store.conversation("c")
    assert (after.last_seq, after.stamp) == (before.last_seq, before.stamp)
    assert after.created_at != before.created_at
