"""OpenAI chat records, logs and bare lists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.importers.conftest import Import, Write

USER = {"role": "user", "content": "予算は？"}
ANSWER = {"role": "assistant", "content": "3,000円"}
MORE = {"role": "user", "content": "예산은?"}


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([{"messages": [USER, ANSWER]}], "x.jsonl"),
        ([{"messages": [USER, ANSWER]}], "x.json"),
        ([[{"messages": [USER, ANSWER]}]], "x.json"),
        ([{"request": {"messages": [USER]}, "response": {"choices": [{"message": ANSWER}]}}], "x.jsonl"),
        ([{"trajectory": [USER, ANSWER], "info": {}}], "x.json"),
        ([[USER, ANSWER]], "x.json"),
        ([USER, ANSWER], "x.jsonl"),
        ([{"messages": [USER, None, {"role": "x", "content": "y"}, ANSWER]}], "x.jsonl"),
    ],
)  # fmt: skip
def test_a_chat_is_the_same_in_every_wrapping(
    values: list[Any], name: str, imported: Import, source: Write
) -> None:
    """Training records, logs, trajectories and bare lists give the same two messages."""
    found = imported("openai-chat", source(*values, name=name))
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]
    assert found.report.read == found.report.imported


def test_a_log_becomes_a_session_for_every_longest_request(imported: Import, source: Write) -> None:
    """Names come from the file and the line; the model is kept."""
    found = imported(
        "openai-chat",
        source(
            {"request": {"model": "m", "messages": [USER]}, "response": {"choices": [{"message": ANSWER}]}},
            {"request": {"model": "m", "messages": [USER, ANSWER, MORE]}, "response": {}},
            {"request": {"messages": [MORE]}, "response": {"error": "overloaded"}},
            name="log.jsonl",
        ),
    )  # fmt: skip
    assert {name: len(s.messages) for name, s in found.sessions.items()} == {
        "log-00002": 3,
        "log-00003": 1,
    }
    assert found.sessions["log-00002"].meta == {"model": "m"}
    assert (found.report.imported, found.report.merged) == (2, 1)


def test_tool_traffic_keeps_its_pairs(imported: Import, source: Write) -> None:
    """A call and its result share their id, whatever stands between."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"p": 1}'}}
    found = imported(
        "openai-chat",
        source(
            {
                "messages": [
                    USER,
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c1", "content": "out"},
                    ANSWER,
                ]
            }
        ),
    )
    assert [m.role for m in found.messages] == ["user", "assistant", "tool", "assistant"]
    assert found.messages[1].blocks[0]["id"] == found.messages[2].blocks[0]["tool_use_id"] == "c1"
    assert found.messages[2].content == ""


def test_bare_lines_that_say_nothing_are_skipped(imported: Import, source: Write) -> None:
    """Each line is a record of its own."""
    found = imported("openai-chat", source(USER, {"role": "assistant", "content": ""}, ANSWER))
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]
    assert dict(found.report.skipped) == {"empty message": 1}


@pytest.mark.parametrize(
    "record",
    [{}, {"messages": []}, {"messages": "hi"}, {"messages": [None]}, {"request": {"messages": {}}}, {"a": 1}],
)  # fmt: skip
def test_a_record_without_messages_is_reported_with_its_line(
    record: dict[str, Any], imported: Import, source: Write
) -> None:
    """The other records are imported."""
    found = imported("openai-chat", source({"messages": [USER]}, record))
    assert dict(found.report.skipped) == {"no messages": 1}
    assert found.findings == [(2, "a record without messages")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "lone_surrogate_message.jsonl",
            "Hi! Hope youre having a great day so far! Its great to meet you \ufffd",
        ),
        (
            "nul_escape_message.jsonl",
            "Hi! Hope youre having a great day so far! Its great to meet you \U0001f604",
        ),
    ],
)
def test_hostile_characters_of_real_files_become_storable(
    name: str, content: str, imported: Import, shared_data
) -> None:
    """Read off the files by eye: one holds half an emoji, the other a NUL before its words."""
    found = imported("auto", shared_data / "damaged" / name)
    assert [message.content for message in found.messages] == [content]


def test_a_real_log_of_seventy_requests_is_accounted_for(imported: Import, shared_data) -> None:
    """Every request is a session, part of one, a retry, or answered otherwise."""
    found = imported("auto", shared_data / "openai-chat" / "requests-70.jsonl")
    assert found.report.read == 70
    assert found.report.imported == found.report.sessions
    assert set(found.report.skipped) <= {
        *("answered otherwise in a longer request", "same request twice")
    }


def test_training_records_are_one_session_each(imported: Import, shared_data) -> None:
    """Five records by `wc -l`; system lines are kept as such."""
    found = imported("auto", shared_data / "openai-chat" / "toy_chat_fine_tuning.jsonl")
    assert found.report.sessions == 5
    assert {m.role for s in found.sessions.values() for m in s.messages} <= {
        *("system", "user", "assistant")
    }


@pytest.mark.parametrize(("name", "count"), [("d40_C1.json", 805), ("d40_C4.json", 810)])
def test_a_compacted_context_is_a_list_of_messages(
    name: str, count: int, imported: Import, shared_data
) -> None:
    """A bare JSON list of the size that `json.load` gives is one session, in order."""
    found = imported("openai-chat", shared_data / "lost-in-compaction" / name)
    assert found.report.read == count
    assert [message.seq for message in found.messages] == list(range(count))
