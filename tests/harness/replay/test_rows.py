"""Table rows of contexts, artifacts, messages and probes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.artifacts import MemoryItem
from ctxeng.core.context import Block
from ctxeng.core.messages import Message, Session
from ctxeng.harness.replay.rows import (
    artifact_rows,
    context_row,
    message_rows,
    packed,
    probe_row,
    relative_id,
)
from ctxeng.harness.results.tables import ARTIFACTS, CONTEXTS, MESSAGES, PROBES
from tests.harness.attribution.made import (
    CONVERSATION,
    artifact,
    context,
    left,
    made_of,
    probe,
    raw,
)

EPISODE = artifact("episode", 6, 11, "予算: 3,000円")
MEMORY = artifact(
    "memory",
    0,
    11,
    "- [constraint] 予算 3,000円",
    parents=(EPISODE.artifact_id, "elsewhere/episode/0/0-5/v1"),
    items=(MemoryItem(item_id="i1", kind="constraint", text="予算 3,000円", source_seqs=(7,)),),
    meta={"refused": 1},
)
ADDED = {"run_id", "arm", "session_id", "replicate"}


def unpacked(row: dict[str, Any], column: str) -> Any:
    """Return the JSON value in a column."""
    return orjson.loads(row[column])


def test_a_context_row_tells_where_every_block_came_from() -> None:
    """Ranges of seqs and relative artifact ids; texts stay in the other tables if they are there."""
    built = context(
        Block(kind="system", text="You are kind.", tokens=4, cache_breakpoint=True),
        made_of(EPISODE),
        raw(12, "tail"),
        left_out=[left(made_of(MEMORY), "over_budget")],
        gap_seqs=(13, 14),
        retrieval={"retrieve": False, "reasons": ["短い質問"]},
        skipped=("episodes",),
        as_of=17,
    )
    row = context_row(built, probe((7, 8)), build_seconds=0.25)
    assert unpacked(row, "blocks") == [
        {
            "kind": "system",
            "tokens": 4,
            "seqs": [],
            "artifacts": [],
            "text": "You are kind.",
            "cache_breakpoint": True,
        },
        {"kind": "episode", "tokens": 10, "seqs": [[6, 11]], "artifacts": ["episode/0/6-11/v1"]},
        {"kind": "tail", "tokens": 10, "seqs": [[12, 12]], "artifacts": []},
        {"kind": "question", "tokens": 3, "seqs": [], "artifacts": []},
    ]
    assert unpacked(row, "left_out") == [
        {
            "kind": "memory",
            "reason": "over_budget",
            "tokens": 10,
            "seqs": list(range(12)),
            "artifacts": ["memory/0/0-11/v1"],
            "detail": "",
        }
    ]
    assert unpacked(row, "gap_seqs") == [13, 14]
    assert unpacked(row, "retrieval") == {"retrieve": False, "reasons": ["短い質問"]}
    assert unpacked(row, "skipped") == ["episodes"]
    assert (row["as_of"], row["tokens"], row["budget_tokens"], row["reserve_tokens"]) == (
        17,
        27,
        1000,
        100,
    )
    assert (row["probe_id"], row["build_seconds"]) == ("p", 0.25)


def test_a_shortened_block_keeps_the_text_that_was_sent() -> None:
    """What the prompt showed differs from the message, so it is written down."""
    built = context(raw(7, text="予算は […]", shortened=True))
    (block, _question) = unpacked(context_row(built, probe(), build_seconds=0.0), "blocks")
    assert (block["shortened"], block["text"]) == (True, "予算は […]")


@pytest.mark.parametrize(
    ("seqs", "ranges"),
    [
        ((), []),
        ((3,), [[3, 3]]),
        ((3, 4, 5), [[3, 5]]),
        ((3, 5, 6, 9), [[3, 3], [5, 6], [9, 9]]),
        ((5, 4), [[5, 5], [4, 4]]),
    ],
)
def test_seqs_are_written_as_ranges(seqs: tuple[int, ...], ranges: list[list[int]]) -> None:
    """Runs are joined, gaps and steps back start a new range."""
    built = context(Block(kind="retrieved", text="x", tokens=1, message_seqs=seqs))
    (block, _question) = unpacked(context_row(built, probe(), build_seconds=0.0), "blocks")
    assert block["seqs"] == ranges


def test_an_artifact_row_is_the_artifact_with_ids_that_runs_share() -> None:
    """Ids and parents lose the conversation they belong to; foreign ids stay whole."""
    (row,) = artifact_rows([MEMORY])
    assert row["artifact_id"] == "memory/0/0-11/v1"
    assert unpacked(row, "parents") == ["episode/0/6-11/v1", "elsewhere/episode/0/0-5/v1"]
    (item,) = unpacked(row, "items")
    assert (item["item_id"], item["text"], item["source_seqs"]) == ("i1", "予算 3,000円", [7])
    assert unpacked(row, "meta") == {"refused": 1}
    assert (row["from_seq"], row["to_seq"], row["visible_from_seq"]) == (0, 11, 12)
    assert row["text"] == MEMORY.text
    assert set(row) == set(ARTIFACTS) - ADDED


def test_artifacts_of_two_runs_have_the_same_rows() -> None:
    """Only the conversation's name differs between runs, and it is not in the row."""
    other = replace(
        EPISODE,
        conversation_id="run2/arm/0/s",
        artifact_id=EPISODE.artifact_id.replace(CONVERSATION, "run2/arm/0/s"),
    )
    assert artifact_rows([EPISODE]) == artifact_rows([other])


def test_no_artifacts_no_rows() -> None:
    """An arm that compacts nothing writes an empty table."""
    assert artifact_rows([]) == []


def test_message_rows_are_what_the_store_kept() -> None:
    """Speaker, tokens and time, and tool traffic as text."""
    said = [
        Message(seq=0, role="user", content="予算は？", speaker="佐伯", tokens=4, timestamp=datetime(2024, 3, 15, 10, tzinfo=UTC)),
        Message(
            seq=1,
            role="assistant",
            content="",
            blocks=({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}},),
        ),
    ]  # fmt: skip
    rows = message_rows(Session(session_id="s", messages=tuple(said)), said)
    assert rows[0] == {
        "session_id": "s",
        "seq": 0,
        "role": "user",
        "speaker": "佐伯",
        "text": "予算は？",
        "tokens": 4,
        "timestamp": "2024-03-15T10:00:00+00:00",
    }
    assert rows[1]["text"] == "[tool call: read path=a]"
    assert (rows[1]["speaker"], rows[1]["tokens"], rows[1]["timestamp"]) == (None, None, None)
    assert set(rows[0]) == set(MESSAGES) - {"run_id"}


def test_a_probe_row_is_the_ruler_that_was_used() -> None:
    """Spans, groups and forbidden values survive as JSON."""
    asked = probe(
        (7, 8),
        (12, 12),
        expect=(("¥3,000", "三千円"), ("Kestrel",)),
        forbid=("5000円",),
        ask_at_seq=17,
    )
    row = probe_row(asked)
    assert unpacked(row, "evidence") == [[7, 8], [12, 12]]
    assert unpacked(row, "expect") == [["¥3,000", "三千円"], ["Kestrel"]]
    assert unpacked(row, "forbid") == ["5000円"]
    assert (row["ask_at_seq"], row["answerable"], row["category"]) == (17, True, None)
    assert set(row) == set(PROBES) - {"run_id"}


def test_a_context_row_has_the_columns_of_its_table() -> None:
    """Nothing is written that the table does not know, and nothing is left out."""
    row = context_row(context(), probe(), build_seconds=0.0)
    assert set(row) == set(CONTEXTS) - ADDED


@pytest.mark.parametrize(
    ("artifact_id", "relative"),
    [
        (f"{CONVERSATION}/episode/0/0-5/v1", "episode/0/0-5/v1"),
        ("other/episode/0/0-5/v1", "other/episode/0/0-5/v1"),
        (f"x/{CONVERSATION}/y", f"x/{CONVERSATION}/y"),
        ("", ""),
    ],
)
def test_an_id_loses_its_own_conversation_only(artifact_id: str, relative: str) -> None:
    """A conversation's name elsewhere in an id is left alone."""
    assert relative_id(artifact_id, CONVERSATION) == relative


def test_numbers_and_times_of_any_kind_can_be_packed() -> None:
    """Scores come from numpy, times from the session."""
    value = {"score": np.float32(0.5), "at": datetime(2024, 3, 15, tzinfo=UTC), "seqs": (1, 2)}
    assert orjson.loads(packed(value)) == {
        "score": 0.5,
        "at": "2024-03-15T00:00:00+00:00",
        "seqs": [1, 2],
    }


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 60), unique=True, max_size=30).map(sorted))
def test_ranges_hold_the_seqs_and_nothing_else(seqs: list[int]) -> None:
    """Unfolding the ranges gives back what went in."""
    built = context(Block(kind="recent", text="x", tokens=1, message_seqs=tuple(seqs)))
    (block, _question) = unpacked(context_row(built, probe(), build_seconds=0.0), "blocks")
    assert [seq for low, high in block["seqs"] for seq in range(low, high + 1)] == seqs
