"""Content blocks in Anthropic's shape."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ctxeng.harness.importers.anthropic_blocks import read_content, result_text

PIXEL = base64.b64encode(bytes(30)).decode("ascii")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (5, ""),
        ({}, ""),
        ("", ""),
        ("予算は？", "予算は？"),
        ([], ""),
        (["a", "", "b"], "a\n\nb"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\n\nb"),
        ([{"type": "text", "text": None}, {"type": "text"}], ""),
        ([{"type": "text", "text": 12345}], "12345"),
        ([None, 5, [], "x"], "x"),
    ],
)
def test_words_are_joined_and_the_rest_is_no_block(value: Any, text: str) -> None:
    """Text of any shape is read; what is no text and no block leaves no trace."""
    content = read_content(value)
    assert (content.text, content.blocks, content.unknown) == (text, [], [])


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "thinking", "thinking": "hm"}),
        (
            {"type": "tool_use", "id": "t", "name": "read", "input": {"p": 1}, "caller": {}},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"p": 1}},
        ),
        (
            {"type": "server_tool_use", "id": "t", "name": "search", "input": "x"},
            {"type": "server_tool_use", "id": "t", "name": "search", "input": {}},
        ),
        (
            {"type": "mcp_tool_use"},
            {"type": "mcp_tool_use", "id": "", "name": "", "input": {}},
        ),
        (
            {"type": "tool_result", "tool_use_id": "t", "content": "예산"},
            {"type": "tool_result", "tool_use_id": "t", "content": "예산"},
        ),
        (
            {"type": "tool_result", "tool_use_id": "t", "content": "", "is_error": True},
            {"type": "tool_result", "tool_use_id": "t", "content": "", "is_error": True},
        ),
        (
            {"type": "tool_result", "tool_use_id": "t", "is_error": False},
            {"type": "tool_result", "tool_use_id": "t", "content": ""},
        ),
        (
            {"type": "web_search_tool_result", "tool_use_id": "t",
             "content": [{"type": "web_search_result", "title": "T", "url": "u", "encrypted_content": "x"}]},
            {"type": "web_search_tool_result", "tool_use_id": "t", "content": "[web_search_result: T u]"},
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            {"type": "image", "media_type": "image/png", "bytes": 30},
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
            {"type": "image", "title": "https://x/y.png"},
        ),
        (
            {"type": "document", "title": "図", "source": {"media_type": "application/pdf"}},
            {"type": "document", "media_type": "application/pdf", "title": "図"},
        ),
        ({"type": "image"}, {"type": "image"}),
    ],
)  # fmt: skip
def test_a_block_keeps_what_it_says_and_loses_its_bytes(
    block: dict[str, Any], wanted: dict[str, Any]
) -> None:
    """Calls, results and thinking are canonical; images and files are placeholders."""
    content = read_content([block])
    assert content.blocks == [wanted]
    assert (content.text, content.unknown) == ("", [])


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"type": "from_the_future", "data": "x"}, "from_the_future"),
        ({"data": "x"}, "without a type"),
        ({"type": None}, "without a type"),
        ({"type": ["x"]}, "without a type"),
        ({"type": 5}, "5"),
    ],
)
def test_an_unknown_block_is_kept_and_named(block: dict[str, Any], kind: str) -> None:
    """Nothing that is not understood is thrown away; its type is always text."""
    content = read_content([block])
    assert content.unknown == [kind]
    (kept,) = content.blocks
    assert isinstance(kept["type"], str)
    assert {**kept, "type": None} == {**block, "type": None}


@pytest.mark.parametrize(
    "block", [{"type": "redacted_thinking", "data": "x"}, {"type": "thinking", "thinking": ""}]
)
def test_thinking_that_cannot_be_read_leaves_no_block(block: dict[str, Any]) -> None:
    """Encrypted or empty thinking says nothing."""
    assert read_content([block]).blocks == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("out", "out"),
        (5, "5"),
        (True, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, "b", {"type": "text", "text": "c"}], "a\nb\nc"),
        ({"type": "text", "text": "a"}, "a"),
        ([{"type": "text", "text": ""}, {}, None, 5], ""),
        (
            [{"type": "image", "source": {"media_type": "image/png", "data": PIXEL * 100}}],
            "[image: image/png, 3,000 bytes]",
        ),
        ([{"type": "image", "source": {}}], "[image: unknown]"),
        ([{"type": "tool_reference", "tool_name": "read"}], "[tool_reference: read]"),
        ([{"type": "x", "content": [{"type": "text", "text": "deep"}]}], "deep"),
        ({"type": "code_execution_result", "stdout": "42\n", "stderr": ""}, "42\n"),
        ({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
         "[web_search_tool_result_error: max_uses_exceeded]"),
        ([{"type": "thing"}], "[thing]"),
        ([{"a": 1}], '{"a":1}'),
    ],
)  # fmt: skip
def test_a_result_is_text_whatever_it_was(value: Any, text: str) -> None:
    """Parts that are no text are named in brackets."""
    assert result_text(value) == text


@pytest.mark.parametrize(
    ("blocks", "only"),
    [
        ([{"type": "tool_result", "tool_use_id": "t"}], True),
        ([{"type": "tool_result"}, {"type": "web_fetch_tool_result"}], True),
        ([{"type": "tool_result"}, {"type": "text", "text": " "}], True),
        ([{"type": "tool_result"}, {"type": "text", "text": "and then"}], False),
        ([{"type": "tool_result"}, {"type": "image"}], False),
        ([{"type": "text", "text": "a"}], False),
        ([], False),
    ],
)
def test_a_message_of_results_only_is_the_tool_speaking(
    blocks: list[dict[str, Any]], only: bool
) -> None:
    """One word of a person beside a result makes the message the person's."""
    assert read_content(blocks).only_results is only
