"""One line of a Claude Code file."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ctxeng.harness.importers.claude_code_lines import read_line
from ctxeng.harness.importers.claude_code_parts import merge_records

AT = "2026-03-02T09:14:00.500Z"
USAGE = {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 0,
         "cache_read_input_tokens": 4451}  # fmt: skip


def user(content: Any, **more: Any) -> dict[str, Any]:
    """Return a user line."""
    return {"type": "user", "uuid": "u1", "timestamp": AT, "message": {"content": content}, **more}


def assistant(content: Any, **message: Any) -> dict[str, Any]:
    """Return an assistant line."""
    body = {"id": "msg_1", "role": "assistant", "content": content, **message}
    return {"type": "assistant", "uuid": "a1", "timestamp": AT, "message": body}


RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "out"}
CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"p": 1}}


def test_what_a_person_typed_is_a_user_message() -> None:
    """Words, time and the line's own id are kept."""
    line = read_line(user("予算は？"))
    assert line.record == {
        "role": "user",
        "content": "予算は？",
        "timestamp": datetime(2026, 3, 2, 9, 14, 0, 500000, tzinfo=UTC),
        "message_id": "u1",
    }
    assert (line.group, line.calls, line.answers, line.is_summary) == ("", (), "", False)


def test_an_api_message_is_known_by_its_id_model_and_usage() -> None:
    """Lines of one API message share a group; usage is kept in four counts."""
    line = read_line(
        assistant(
            [{"type": "text", "text": "a"}, CALL, {**CALL, "id": "t2"}],
            model="m",
            usage={**USAGE, "service_tier": "standard", "iterations": []},
        )
    )
    assert line.record is not None
    assert line.record["message_id"] == line.group == "msg_1"
    assert line.record["meta"] == {"model": "m", "usage": USAGE}
    assert line.calls == ("t1", "t2")


def test_an_assistant_line_without_an_api_id_stands_for_itself() -> None:
    """Old files have none: the line's id is the message's, and it has no group."""
    line = read_line(assistant("a", id=None))
    assert line.record is not None
    assert (line.record["message_id"], line.group) == ("a1", "")


@pytest.mark.parametrize(
    ("content", "role", "answers"),
    [
        ([RESULT], "tool", "t1"),
        ([RESULT, {"type": "text", "text": "and?"}], "user", "t1"),
        ([{"type": "text", "text": "and?"}], "user", ""),
        ([{"type": "image", "source": {"media_type": "image/png"}}], "user", ""),
    ],
)
def test_results_make_the_tool_speak(content: list[Any], role: str, answers: str) -> None:
    """The call that a line answers is known even where a person speaks beside it."""
    line = read_line(user(content, toolUseResult={"stdout": "a copy for the screen"}))
    assert line.record is not None
    assert (line.record["role"], line.answers) == (role, answers)
    assert "a copy" not in str(line.record)


def test_what_a_product_put_in_is_set_apart() -> None:
    """The reminder is kept as metadata, not as the person's words."""
    line = read_line(user("hello<system-reminder>Be brief.</system-reminder>"))
    assert line.record is not None
    assert line.record["content"] == "hello"
    assert line.record["meta"] == {"injected": ["Be brief."]}


def test_a_summary_of_a_compaction_is_marked() -> None:
    """It is a message, and the importer decides by the view whether it stays."""
    line = read_line(user("This session is being continued …", isCompactSummary=True))
    assert line.is_summary
    assert line.record is not None
    assert line.record["meta"] == {"compaction_summary": True}


@pytest.mark.parametrize(
    ("record", "content"),
    [
        ({"type": "queued_command", "prompt": "and then?"}, "and then?"),
        ({"type": "queued_command", "prompt": [{"type": "text", "text": "a"}], "commandMode": "prompt"}, "a"),
    ],
)  # fmt: skip
def test_a_queued_prompt_is_typed_by_a_person(record: dict[str, Any], content: str) -> None:
    """Words typed while the assistant was working arrive as an attachment."""
    line = read_line({"type": "attachment", "uuid": "q", "timestamp": AT, "attachment": record})
    assert line.record is not None
    assert (line.record["role"], line.record["content"]) == ("user", content)
    assert line.record["meta"] == {"queued": True}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (user("x", isMeta=True), "injected text"),
        (user(""), "empty message"),
        (user([]), "empty message"),
        (user(None), "empty message"),
        (user(5), "empty message"),
        ({"type": "user"}, "empty message"),
        ({"type": "user", "message": "hi"}, "empty message"),
        (user("[Request interrupted by user]"), "interruption notice"),
        (user([{"type": "text", "text": "[Request interrupted by user for tool use]"}]), "interruption notice"),
        (user("<local-command-stdout>x</local-command-stdout>"), "injected text"),
        (assistant([]), "empty message"),
        (assistant([{"type": "thinking", "thinking": ""}]), "empty message"),
        (assistant("No response requested.", model="<synthetic>"), "product notice"),
        ({**assistant("API Error: 529"), "isApiErrorMessage": True}, "product notice"),
        ({"type": "system", "subtype": "compact_boundary"}, "system: compact_boundary"),
        ({"type": "system", "content": "x"}, "system: note"),
        ({"type": "attachment", "attachment": {"type": "hook_success"}}, "attachment: hook_success"),
        ({"type": "attachment"}, "attachment: unknown"),
        (
            {"type": "attachment", "attachment": {"type": "queued_command", "commandMode": "task-notification", "prompt": "x"}},
            "attachment: queued_command",
        ),
        ({"type": "attachment", "attachment": {"type": "queued_command", "prompt": ""}}, "empty message"),
        ({"type": "progress"}, "no message: progress"),
        ({"type": "x" * 100}, "no message: " + "x" * 40),
        ({"type": ["user"]}, "no message: without a type"),
        ({}, "no message: without a type"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_message_says_why(record: dict[str, Any], reason: str) -> None:
    """Each kind has a reason of its own in the account."""
    line = read_line(record)
    assert line.record is None
    assert line.reason == reason


def test_unknown_blocks_are_named() -> None:
    """A block of the future is kept in the message and reported."""
    line = read_line(assistant([{"type": "hologram", "x": 1}]))
    assert line.unknown == ["hologram"]
    assert line.record is not None
    assert line.record["blocks"] == [{"type": "hologram", "x": 1}]


def test_the_lines_of_a_message_are_joined_in_order() -> None:
    """Words get a blank line between them, blocks follow each other, the last usage counts."""
    parts = [
        {"role": "assistant", "content": "", "message_id": "m", "blocks": [{"type": "thinking"}],
         "meta": {"usage": {"output_tokens": 1}, "model": "m"}},
        {"role": "assistant", "content": "a", "message_id": "m", "meta": {"usage": {"output_tokens": 7}}},
        {"role": "assistant", "content": "b", "message_id": "m", "blocks": [CALL]},
    ]  # fmt: skip
    assert merge_records(parts) == {
        "role": "assistant",
        "content": "a\n\nb",
        "message_id": "m",
        "blocks": [{"type": "thinking"}, CALL],
        "meta": {"usage": {"output_tokens": 7}, "model": "m"},
    }


def test_a_line_alone_is_merged_into_itself() -> None:
    """No empty fields appear."""
    part = {"role": "assistant", "content": "a"}
    assert merge_records([part]) == part
