"""Gemini CLI sessions: results stand inside the calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.pairs import call_ids, result_ids
from tests.harness.importers.conftest import Import, Write

AT = "2026-03-02T09:14:00.000Z"


def session(*messages: Any, **about: Any) -> dict[str, Any]:
    """Return a session of the messages."""
    return {"sessionId": "s-1", "projectHash": "p", "messages": list(messages), **about}


def said(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a message."""
    return {"id": "m", "type": kind, "content": content, "timestamp": AT, **more}


def call(identity: str = "c1", **more: Any) -> dict[str, Any]:
    """Return a call with its result inside."""
    response = {"functionResponse": {"id": identity, "response": {"output": "a.txt"}}}
    base = {"id": identity, "name": "ls", "args": {"path": "予"}, "status": "success"}
    return {**base, "result": [response], **more}


def test_a_session_is_its_messages_in_order(imported: Import, source: Write) -> None:
    """Ids, times and the model are kept; the name is the session's own."""
    given = session(said("user", "予算は？"), said("gemini", "3,000円", model="g"))
    found = imported("auto", source(given, name="session-x.json"))
    assert found.report.format == "gemini-cli"
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]
    assert found.session.session_id == "s-1"
    assert [m.meta for m in found.messages] == [{}, {"model": "g"}]
    assert found.messages[0].timestamp is not None


def test_a_result_inside_a_call_becomes_a_message_of_its_own(
    imported: Import, source: Write
) -> None:
    """One record gives two messages: the call, then what the tool said, of all calls together."""
    given = session(
        said("gemini", "", toolCalls=[call(), call("c2", status="error")], thoughts=[
            {"subject": "Plan", "description": "Look first."}, {"subject": "Only"}, {}]),
        said("gemini", "done"),
    )  # fmt: skip
    found = imported("gemini-cli", source(given, name="x.json"))
    assert [m.role for m in found.messages] == ["assistant", "tool", "assistant"]
    first, results = found.messages[0].blocks, found.messages[1].blocks
    assert [b.get("thinking") for b in first[:3]] == ["Plan\n\nLook first.", "Only", ""]
    assert first[3] == {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "予"}}
    assert [(b["tool_use_id"], b["content"], b.get("is_error")) for b in results] == [
        ("c1", "a.txt", None),
        ("c2", "a.txt", True),
    ]
    assert (found.report.read, found.report.imported) == (2, 2)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"result": [{"functionResponse": {"response": {"error": "no such file"}}}]}, "no such file"),
        ({"result": [{"functionResponse": {"response": {"output": ""}}}], "resultDisplay": "shown"}, "shown"),
        ({"result": [], "resultDisplay": "shown"}, "shown"),
        ({"result": None, "resultDisplay": {"fileDiff": "x"}}, ""),
        ({"result": "text"}, ""),
        ({"result": [{"functionResponse": {"response": {"output": "a"}}}] * 2}, "a\n\na"),
    ],
)  # fmt: skip
def test_a_result_is_found_in_any_of_its_places(
    changes: dict[str, Any], text: str, imported: Import, source: Write
) -> None:
    """The answer to the model comes first, what was shown to the person stands in."""
    given = session(said("gemini", "x", toolCalls=[call(**changes)]))
    found = imported("gemini-cli", source(given, name="x.json"))
    assert found.messages[1].blocks[0]["content"] == text


def test_a_call_without_a_result_stays_unanswered(imported: Import, source: Write) -> None:
    """A session that ends in a call has no empty result."""
    unanswered = {k: v for k, v in call().items() if k != "result"}
    found = imported(
        "gemini-cli", source(session(said("gemini", "x", toolCalls=[unanswered])), name="x.json")
    )
    assert len(found.messages) == 1


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (["a", {"text": "b"}, {"x": 1}, None], "a\n\nb"),
        (5, "5"),
    ],
)
def test_content_is_text_or_parts(content: Any, text: str, imported: Import, source: Write) -> None:
    """Parts are joined, what is no text leaves no trace."""
    found = imported("gemini-cli", source(session(said("user", content)), name="x.json"))
    assert found.messages[0].content == text


def test_notices_and_empty_messages_are_skipped(imported: Import, source: Write) -> None:
    """Every message of the file is in the account."""
    given = session(
        said("info", "Update available"), said("user", ""), None, {"type": 5}, said("user", "hi")
    )
    found = imported("gemini-cli", source([given, None], name="x.json"))
    assert dict(found.report.skipped) == {
        "no message: info": 1,
        "empty message": 1,
        "no message: without a type": 1,
        "no message: 5": 1,
    }
    assert found.findings == [(0, "session x-1 holds no message")]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("session-2025-10-27T19-55-981c87cb.json", 18),
        ("session-2025-10-29T10-36-453aa339.json", 5),
        ("session-2025-10-29T10-36-9c9a14e1.json", 3),
    ],
)
def test_real_sessions_keep_every_call_with_its_result(
    name: str, count: int, imported: Import, shared_data: Path
) -> None:
    """Numbers of messages by `jq '.messages | length'`; calls counted in the file by themselves."""
    path = shared_data / "gemini-cli" / name
    found = imported("auto", path)
    assert found.report.read == found.report.imported == count
    raw = orjson.loads(path.read_bytes())["messages"]
    wanted = [c["id"] for m in raw for c in m.get("toolCalls", [])]
    assert sorted(c for m in found.messages for c in call_ids(m)) == sorted(wanted)
    assert sorted(c for m in found.messages for c in result_ids(m)) == sorted(wanted)
    assert [m.content for m in found.messages if m.role == "user"] == [
        m["content"] for m in raw if m["type"] == "user"
    ]
