"""Messages in OpenAI's shape and its relatives."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from ctxeng.core.messages import Message
from ctxeng.harness.importers.openai_shape import arguments_of, read_all, read_message

PIXEL = base64.b64encode(bytes(30)).decode("ascii")
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"p": "予"}'}}
USE = {"type": "tool_use", "id": "c1", "name": "read", "input": {"p": "予"}}


def read(**message: Any) -> Message:
    """Return the message, which must be one."""
    found = read_message(message)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("message", "role", "text"),
    [
        ({"role": "user", "content": "予算は？"}, "user", "予算は？"),
        ({"role": "developer", "content": "Be brief."}, "system", "Be brief."),
        (
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, "b"]},
            "assistant",
            "a\n\nb",
        ),
        ({"role": "assistant", "content": {"type": "text", "text": "a"}}, "assistant", "a"),
        ({"role": "assistant", "content": None, "refusal": "I cannot."}, "assistant", "I cannot."),
        (
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            "assistant",
            "No.",
        ),
        ({"role": "user", "content": [{"type": "input_text", "text": "a"}]}, "user", "a"),
        (
            {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
            "assistant",
            "a",
        ),
        ({"role": "user", "content": [{"text": "a"}]}, "user", "a"),
        ({"role": "model", "parts": [{"type": "text", "content": "a"}]}, "assistant", "a"),
        ({"role": "user", "text": "a"}, "user", "a"),
        ({"type": "HumanMessage", "content": "a"}, "user", "a"),
        ({"role": "function", "name": "f", "content": "a"}, "tool", "a"),
        ({"role": "user", "content": 5}, "user", "5"),
    ],
)
def test_words_are_found_in_every_spelling(message: dict[str, Any], role: str, text: str) -> None:
    """Content may be text, null, a part, parts, or stand under another key."""
    found = read(**message)
    assert (found.role, found.content, found.blocks) == (role, text, ())


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        "hi",
        [],
        {},
        {"content": "hi"},
        {"role": "moderator", "content": "hi"},
        {"role": ["user"], "content": "hi"},
        {"role": "user"},
        {"role": "user", "content": ""},
        {"role": "user", "content": " \n"},
        {"role": "user", "content": []},
        {"role": "user", "content": [{"type": "text", "text": ""}]},
        {"role": "user", "content": [{"type": "reasoning"}]},
    ],
)
def test_what_has_no_role_or_says_nothing_is_no_message(message: Any) -> None:
    """None of these raises."""
    assert read_message(message) is None


@pytest.mark.parametrize(
    ("message", "blocks"),
    [
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, [USE]),
        (
            {"role": "assistant", "function_call": {"name": "read", "arguments": "{}"}},
            [{"type": "tool_use", "id": "", "name": "read", "input": {}}],
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "name": "f", "args": {"a": 1}}]},
            [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}],
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "function": "f", "arguments": {"a": 1}}]},
            [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}],
        ),
        (
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {}}]},
            [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
        ),
        (
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "out"}]},
            [{"type": "tool_result", "tool_use_id": "c", "content": "out"}],
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
            [{"type": "tool_result", "tool_use_id": "c1", "content": "out"}],
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "", "error": {"m": 1}},
            [{"type": "tool_result", "tool_use_id": "c1", "content": "", "is_error": True}],
        ),
        (
            {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}]},
            [{"type": "thinking", "thinking": "hm"}],
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"p": "予"}}]},
            [USE],
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]},
            [{"type": "image", "media_type": "image/png", "bytes": 30}],
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": "https://x/y.png"}]},
            [{"type": "image", "title": "https://x/y.png"}],
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://x/" + "y" * 500}]},
            [{"type": "image", "title": ("https://x/" + "y" * 500)[:200]}],
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}]},
            [{"type": "image", "media_type": "image/png", "bytes": 30}],
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}}]},
            [{"type": "audio", "media_type": "wav", "bytes": 30}],
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"filename": "図.pdf", "file_data": f"data:application/pdf;base64,{PIXEL}"}}]},
            [{"type": "file", "media_type": "application/pdf", "bytes": 30, "title": "図.pdf"}],
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "f-1"}}]},
            [{"type": "file", "title": "f-1"}],
        ),
        (
            {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://x/v"}}]},
            [{"type": "video", "title": "https://x/v"}],
        ),
    ],
)  # fmt: skip
def test_calls_results_and_media_become_blocks(
    message: dict[str, Any], blocks: list[dict[str, Any]]
) -> None:
    """Every spelling of a call or a file is one canonical block, and no words are left over."""
    found = read(**message)
    assert list(found.blocks) == blocks
    assert found.content == ""


def test_calls_that_are_no_objects_do_not_stop_a_message() -> None:
    """The words are kept, and what is left of the calls is a call without a name."""
    found = read(role="assistant", content="x", tool_calls=[None, 5])
    assert found.content == "x"
    assert {(block["id"], block["name"]) for block in found.blocks} == {("", "")}


def test_words_stand_beside_the_calls_they_came_with() -> None:
    """An assistant that speaks and calls is one message."""
    found = read(role="assistant", content="見てみます", tool_calls=[CALL, {**CALL, "id": "c2"}])
    assert found.content == "見てみます"
    assert [block["id"] for block in found.blocks] == ["c1", "c2"]


def test_a_tool_without_a_call_id_speaks_in_words() -> None:
    """Its output is kept even where nothing says which call it answers."""
    found = read(role="tool", content="out")
    assert (found.content, found.blocks) == ("out", ())


@pytest.mark.parametrize(
    ("message", "speaker", "message_id", "at"),
    [
        ({"role": "user", "name": "佐伯"}, "佐伯", None, None),
        ({"role": "tool", "name": "read"}, None, None, None),
        ({"role": "system", "name": "x"}, None, None, None),
        ({"role": "user", "id": "m1"}, None, "m1", None),
        ({"role": "user", "timestamp": 0.0, "created_at": "2026-03-02"}, None, None, datetime(2026, 3, 2, tzinfo=UTC)),
        ({"role": "user", "timestamp": "soon"}, None, None, None),
    ],
)  # fmt: skip
def test_names_ids_and_times_are_kept_where_they_are_a_persons(
    message: dict[str, Any], speaker: str | None, message_id: str | None, at: datetime | None
) -> None:
    """The name of a tool is no speaker."""
    found = read(**message, content="x")
    assert (found.speaker, found.message_id, found.timestamp) == (speaker, message_id, at)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, {}),
        ("", {}),
        ("  ", {"arguments": "  "}),
        ("{}", {}),
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ('{"a": ', {"arguments": '{"a": '}),
        ("ls -la", {"arguments": "ls -la"}),
        ("[1, 2]", {"arguments": [1, 2]}),
        (["ls", "-la"], {"arguments": ["ls", "-la"]}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ("\ud83d", {"arguments": "\ud83d"}),
        (5, {"arguments": 5}),
    ],
)
def test_arguments_are_an_object_however_they_are_written(
    value: Any, wanted: dict[str, Any]
) -> None:
    """JSON text, an object, or anything else under one key; nothing raises."""
    assert arguments_of(value) == wanted


def test_messages_of_a_list_are_numbered_without_holes() -> None:
    """What is no message takes no number."""
    found = read_all([{"role": "user", "content": "a"}, None, {"role": "x"}, {"role": "user", "content": "b"}])  # fmt: skip
    assert [(message.seq, message.content) for message in found] == [(0, "a"), (1, "b")]
