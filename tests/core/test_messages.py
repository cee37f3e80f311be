"""Messages and sessions: the words of a message, tool traffic included."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.messages import ROLES, Message, Session, block_text, result_text
from tests.generators import histories

PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 1000},
}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": "予算は三千円"}, "予算は三千円"),
        ({"type": "text", "text": None}, ""),
        ({"type": "text"}, ""),
        (
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py", "n": 3}},
            "[tool call: read path=a.py, n=3]",
        ),
        (
            {"type": "server_tool_use", "id": "t1", "name": "web_search", "input": {"q": "예산"}},
            "[tool call: web_search q=예산]",
        ),
        (
            {"type": "mcp_tool_use", "id": "t1", "name": "look", "input": {"q": "x"}},
            "[tool call: look q=x]",
        ),
        ({"type": "tool_use", "name": None, "input": None}, "[tool call: ? ]"),
        ({"type": "tool_result", "tool_use_id": "t1", "content": "42"}, "[tool result: 42]"),
        ({"type": "tool_result", "tool_use_id": "t1", "content": None}, "[tool result: ]"),
        ({"type": "tool_result", "tool_use_id": "t1"}, "[tool result: ]"),
        (
            {"type": "web_search_tool_result", "content": [{"type": "text", "text": "found"}]},
            "[tool result: found]",
        ),
        ({"type": "thinking", "thinking": "secret"}, ""),
        ({"type": "redacted_thinking", "data": "xx"}, ""),
        ({}, ""),
        ({"type": "image", "media_type": "image/png", "bytes": 9}, "[image: image/png]"),
        ({"type": "document", "title": "計画.pdf"}, "[document: 計画.pdf]"),
        ({"type": "file", "file_name": "a.csv"}, "[file: a.csv]"),
        ({"type": "brand_new_kind"}, "[brand_new_kind]"),
    ],
)
def test_every_kind_of_block_is_told_in_words(block: dict[str, Any], expected: str) -> None:
    """Calls and results keep their words, thinking has none, other kinds leave a placeholder."""
    assert block_text(block) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("three\nlines\nhere", "three\nlines\nhere"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "나"}], "a\n나"),
        ([{"type": "text", "text": None}], ""),
        ([{"type": "text"}], "type=text"),
        (["a", ["b", "c"]], "a\nb\nc"),
        ({"rows": [1, 2], "ok": True}, "rows=1\n2, ok=True"),
        ([], ""),
        (None, ""),
        (0, "0"),
        ([{"type": "text", "text": "see"}, PICTURE], "see\n[image: image/png]"),
        ([{"source": {"type": "base64", "data": "QUJD"}}], "[file]"),
    ],
)
def test_a_tool_result_of_any_shape_reads_as_its_words(content: Any, expected: str) -> None:
    """Lists, mappings, nothing and pictures are all told; bytes are never spelled out."""
    block = {"type": "tool_result", "tool_use_id": "t", "content": content}
    assert result_text(block) == expected
    assert block_text(block) == f"[tool result: {expected}]"


def test_the_word_text_in_a_tools_input_is_not_mistaken_for_a_text_block() -> None:
    """A tool whose argument is called `type` keeps all of its input in the words."""
    call = {"type": "tool_use", "name": "make", "input": {"type": "text", "size": 3}}
    assert block_text(call) == "[tool call: make type=text, size=3]"


def test_a_messages_text_is_its_words_then_its_tool_traffic_in_order() -> None:
    """Blocks without words leave no empty line behind."""
    message = Message(
        seq=0,
        role="assistant",
        content="I look.",
        blocks=(
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "a", "name": "read", "input": {"p": "x"}},
            {"type": "tool_use", "id": "b", "name": "list", "input": {"p": "y"}},
        ),
    )
    assert message.text == "I look.\n[tool call: read p=x]\n[tool call: list p=y]"


def test_a_message_without_words_is_told_by_its_blocks_alone() -> None:
    """An empty content adds no line break."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
    assert Message(seq=0, role="tool", content="", blocks=(result,)).text == "[tool result: ok]"
    assert Message(seq=0, role="user", content="").text == ""


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("speaker", "expected"), [("佐伯", "佐伯"), (None, None), ("", None)])
def test_a_message_is_named_by_its_speaker_and_else_by_its_role(
    role: Any, speaker: str | None, expected: str | None
) -> None:
    """An unknown or empty speaker falls back on the role."""
    assert Message(seq=0, role=role, content="x", speaker=speaker).name == (expected or role)


def test_a_changed_copy_leaves_the_message_as_it_was() -> None:
    """`with_` copies; the value itself is frozen."""
    message = Message(seq=3, role="user", content="blue")
    assert message.with_(content="red", tokens=1) == Message(
        seq=3, role="user", content="red", tokens=1
    )
    assert message.content == "blue"
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.content = "red"  # type: ignore[misc]


def test_a_sessions_speakers_are_listed_once_in_the_order_they_first_speak() -> None:
    """Messages without a speaker count under their role."""
    said = [("user", "Mira"), ("assistant", None), ("user", "佐伯"), ("user", "Mira")]
    messages = tuple(
        Message(seq=i, role=role, content="x", speaker=who)  # type: ignore[arg-type]
        for i, (role, who) in enumerate(said)
    )
    session = Session(session_id="s", messages=messages)
    assert session.speakers == ("Mira", "assistant", "佐伯")
    assert Session(session_id="s", messages=()).speakers == ()


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text("ab予\0", max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["type", "text", "source", "a"]), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(
    kind=st.sampled_from(["text", "tool_use", "tool_result", "image", "mcp_tool_result", ""]),
    body=st.dictionaries(st.sampled_from(["text", "input", "content", "id"]), JSON, max_size=4),
)
@settings(max_examples=50, deadline=None)
def test_a_block_of_any_json_is_told_and_its_nulls_are_nothing(
    kind: str, body: dict[str, Any]
) -> None:
    """A malformed block in a recording costs its meaning, never the message."""
    told = block_text({**body, "type": kind})
    assert isinstance(told, str)
    assert "None" not in told


@given(histories(max_size=12))
@settings(max_examples=30, deadline=None)
def test_every_word_of_a_message_is_in_its_text(history: list[Message]) -> None:
    """Content and tool results are never lost on the way to text."""
    for message in history:
        assert message.content in message.text
        for block in message.blocks:
            assert block_text(block) in message.text
