"""Anthropic Messages API logs."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from ctxeng.core.pairs import call_ids, result_ids
from tests.harness.importers.conftest import Import, Write

USER = {"role": "user", "content": "予算は？"}
CALL = {"type": "tool_use", "id": "t1", "name": "read", "input": {"p": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "out"}]}
SUMMARY = {"type": "compaction", "content": "Earlier: a budget was set."}


def record(*messages: Any, answer: list[Any] | None = None, **request: Any) -> dict[str, Any]:
    """Return a logged request with its response."""
    body: dict[str, Any] = {"request": {"model": "m", "messages": list(messages), **request}}
    if answer is not None:
        body["response"] = {"type": "message", "id": "msg", "role": "assistant", "content": answer}
    return body


def text(words: str) -> dict[str, str]:
    """Return a text block."""
    return {"type": "text", "text": words}


@pytest.mark.parametrize("wrapping", ["request", "body", None])
def test_a_request_and_its_response_are_one_session(
    wrapping: str | None, imported: Import, source: Write
) -> None:
    """The request may stand under a key or be the record itself."""
    whole = record(USER, answer=[text("3,000円")], system=[text("Be brief."), text("予算表")])
    given = {**whole["request"], "response": whole["response"]}
    if wrapping:
        given = {wrapping: whole["request"], "response": whole["response"]}
    found = imported("anthropic-messages", source(given, name="log.jsonl"))
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]
    assert found.session.session_id == "log-00001"
    assert found.session.meta == {"model": "m", "system": "Be brief.\n予算表"}
    assert found.messages[1].message_id == "msg"


def test_results_are_the_tool_speaking_unless_a_person_does(
    imported: Import, source: Write
) -> None:
    """A user message of results only has the role tool; with words it stays the user's."""
    found = imported(
        "anthropic-messages",
        source(
            record(
                USER,
                {"role": "assistant", "content": [CALL]},
                {"role": "user", "content": [RESULT]},
                {"role": "assistant", "content": [{**CALL, "id": "t2"}]},
                {"role": "user", "content": [{**RESULT, "tool_use_id": "t2"}, text("and?")]},
            )
        ),
    )
    assert [m.role for m in found.messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert found.messages[4].content == "and?"
    assert found.messages[4].blocks[0]["content"] == "out"


@pytest.mark.parametrize(
    ("view", "first", "answer"),
    [
        ("raw", "Earlier: a budget was set.", "3,000円"),
        ("recorded", "Earlier: a budget was set.", "Earlier: a budget was set.\n\n3,000円"),
    ],
)
def test_a_server_side_summary_is_dropped_where_the_history_is_there(
    view: str, first: str, answer: str, imported: Import, source: Write
) -> None:
    """As all there is it stays; beside the history it stays only in the recorded view, marked."""
    given = record({"role": "assistant", "content": [SUMMARY]}, USER, answer=[text("3,000円")])
    found = imported("anthropic-messages", source(given), view=view)
    assert found.messages[0].content == first
    assert found.messages[0].meta == {"compaction_summary": True}
    history = record(USER, {"role": "assistant", "content": [SUMMARY, text("3,000円")]}, USER)
    found = imported("anthropic-messages", source(history, name="h.jsonl"), view=view)
    assert found.messages[1].content == answer
    assert bool(found.messages[1].meta) == (view == "recorded")


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        {},
        {"role": "moderator", "content": "x"},
        {"role": "user", "content": ""},
        {"role": "user", "content": []},
        {"role": "user", "content": None},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
    ],
)
def test_messages_that_say_nothing_take_no_place(
    message: Any, imported: Import, source: Write
) -> None:
    """The rest of the request is numbered without a hole."""
    found = imported("anthropic-messages", source(record(message, USER, message)))
    assert found.said == [("user", "予算は？")]


def test_a_record_without_messages_is_reported(imported: Import, source: Write) -> None:
    """Its line is named, and the account balances."""
    found = imported("anthropic-messages", source(record(USER), record(), {"error": "x"}, b"{cut"))
    assert dict(found.report.skipped) == {"no messages": 2, "damaged line": 1}
    assert [line for line, _ in found.findings] == [2, 3, 4]


def test_a_real_log_keeps_every_call_with_its_result(imported: Import, shared_data) -> None:
    """120 records by `wc -l`; a server's own tools answer within the message that calls them."""
    found = imported("auto", shared_data / "anthropic-messages" / "requests-120.jsonl")
    assert found.report.format == "anthropic-messages"
    assert found.report.read == 120
    assert not found.findings
    for session in found.sessions.values():
        made: set[str] = set()
        for message in session.messages:
            made |= call_ids(message)
            assert result_ids(message) <= made


def test_no_words_of_a_real_log_are_lost(imported: Import, shared_data) -> None:
    """Every text that any request sends stands in some session, as found by hand-written JSON access."""
    path = shared_data / "anthropic-messages" / "requests-120.jsonl"
    sent: set[str] = set()
    for line in path.read_bytes().split(b"\n"):
        if not line.strip():
            continue
        for message in orjson.loads(line)["request"]["messages"]:
            content = message["content"]
            blocks = [text(content)] if isinstance(content, str) else content
            sent |= {b["text"].strip() for b in blocks if b["type"] == "text"}
    found = imported("auto", path)
    kept = "\n".join(m.content for s in found.sessions.values() for m in s.messages)
    assert sent
    assert [words for words in sent if words not in kept] == []
