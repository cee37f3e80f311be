"""Claude.ai exports and single chats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.importers.conftest import Import, Write


def message(identity: str, sender: str, content: Any = None, **more: Any) -> dict[str, Any]:
    """Return a chat message; words alone become its text block."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"uuid": identity, "sender": sender, "text": "", "content": blocks, **more}


def chat(*messages: Any, **about: Any) -> dict[str, Any]:
    """Return a conversation."""
    return {"uuid": "c1", "name": "予算", "chat_messages": list(messages), **about}


@pytest.mark.parametrize("wrap", ["list", "object"])
def test_an_export_is_its_messages_in_order(wrap: str, imported: Import, source: Write) -> None:
    """Name, ids and times are kept."""
    given = chat(
        message("m1", "human", "予算は？", created_at="2026-03-02T09:14:00Z"),
        message("m2", "assistant", "3,000円"),
    )
    found = imported(
        "auto", source([given] if wrap == "list" else given, name="conversations.json")
    )
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]
    assert (found.session.session_id, found.session.title) == ("c1", "予算")
    assert [m.message_id for m in found.messages] == ["m1", "m2"]
    assert found.messages[0].timestamp is not None
    assert found.messages[1].timestamp is None


@pytest.mark.parametrize(
    ("content", "text", "words"),
    [
        ("answer", "thinking glued to the answer", "answer"),
        (None, "only here", "only here"),
        ([], "only here", "only here"),
        ([{"type": "text", "text": None}], "only here", "only here"),
        ([{"type": "thinking", "thinking": "hm"}], "only here", "only here"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "answer"}], "hmanswer", "answer"),
        ([{"type": "tool_use", "id": "t", "name": "n", "input": {}}], "a copy", ""),
        ([{"type": "token_budget"}, {"type": "text", "text": "answer"}], "", "answer"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab", "a\n\nb"),
    ],
)  # fmt: skip
def test_words_come_from_the_blocks_and_from_the_text_only_without_them(
    content: Any, text: str, words: str, imported: Import, source: Write
) -> None:
    """In exports the text has thinking glued to it, in dumps it is empty."""
    given = chat({**message("m", "assistant", content), "text": text})
    found = imported("claude-ai", source(given, name="x.json"))
    assert found.messages[0].content == words


def test_the_branch_of_the_current_leaf_is_kept(imported: Import, source: Write) -> None:
    """An edited question and its answer are another branch."""
    root = "00000000-0000-4000-8000-000000000000"
    given = chat(
        message("a", "human", "first", parent_message_uuid=root),
        message("b", "assistant", "to first", parent_message_uuid="a"),
        message("c", "human", "edited", parent_message_uuid=root),
        message("d", "assistant", "to edited", parent_message_uuid="c"),
        current_leaf_message_uuid="b",
    )
    found = imported("claude-ai", source(given, name="x.json"))
    assert [content for _, content in found.said] == ["first", "to first"]
    assert dict(found.report.skipped) == {"other branch": 2}
    del given["current_leaf_message_uuid"]
    found = imported("claude-ai", source(given, name="y.json"))
    assert [content for _, content in found.said] == ["edited", "to edited"]


def test_a_message_that_comes_twice_in_a_tree_is_told(imported: Import, source: Write) -> None:
    """Two of one id are one node; the account says so."""
    one = message("a", "human", "hi", parent_message_uuid="")
    found = imported("claude-ai", source(chat(one, one), name="x.json"))
    assert dict(found.report.skipped) == {"repeated message": 1}


@pytest.mark.parametrize(
    ("attachments", "files", "blocks"),
    [
        (
            [{"file_name": "予算.txt", "extracted_content": "3,000円", "file_size": 9}], [],
            [{"type": "text", "text": "[attachment: 予算.txt]\n\n3,000円"}],
        ),
        (
            [{"file_name": "a.pdf", "file_type": "pdf", "file_size": 12, "extracted_content": ""}], [],
            [{"type": "file", "media_type": "pdf", "bytes": 12, "title": "a.pdf"}],
        ),
        ([{}], [], [{"type": "file", "title": "attachment"}]),
        ([], [{"file_name": "a.png", "file_kind": "image"}], [{"type": "image", "title": "a.png"}]),
        ([], [{"file_uuid": "x"}], [{"type": "file"}]),
        (None, [None], [{"type": "file"}]),
    ],
)  # fmt: skip
def test_a_message_of_attachments_only_is_kept(
    attachments: Any, files: Any, blocks: list[dict[str, Any]], imported: Import, source: Write
) -> None:
    """Pasted texts are kept in full, files as placeholders with what is known of them."""
    given = chat(message("m", "human", None, attachments=attachments, files=files))
    found = imported("claude-ai", source(given, name="x.json"))
    assert list(found.messages[0].blocks) == blocks


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (message("m", "human", ""), "empty message"),
        (message("m", "narrator", "x"), "unknown sender"),
        (None, "unknown sender"),
        ({"text": "x"}, "unknown sender"),
    ],
)
def test_what_says_nothing_is_skipped(
    given: Any, reason: str, imported: Import, source: Write
) -> None:
    """Each with its reason."""
    found = imported("claude-ai", source(chat(given, message("n", "human", "hi")), name="x.json"))
    assert found.said == [("user", "hi")]
    assert dict(found.report.skipped) == {reason: 1}


def test_one_damaged_conversation_does_not_stop_the_others(imported: Import, source: Write) -> None:
    """Without messages it is told; without a name it is called by its place."""
    nameless = {**chat(message("m", "human", "hi")), "uuid": None}
    found = imported(
        "claude-ai", source([{"uuid": "a", "chat_messages": 5}, None, nameless], name="x.json")
    )
    assert list(found.sessions) == ["x-0002"]
    assert dict(found.report.skipped) == {"damaged conversation": 2}
    assert [what for _, what in found.findings] == [
        "conversation a has no messages",
        "conversation x-0001 has no messages",
    ]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("conversations.json", [2, 4]),
        ("claude-bakery-chat.json", [4]),
        ("debugging.json", [4]),
        ("python.json", [4]),
        ("conversation-with-errors.json", [10]),
    ],
)
def test_real_chats_are_imported_whole(
    name: str, sizes: list[int], imported: Import, shared_data: Path
) -> None:
    """Numbers of messages by `jq '.chat_messages | length'`; none of them has branches."""
    path = shared_data / "claude-ai" / name
    found = imported("auto", path)
    assert found.report.format == "claude-ai"
    assert [len(s.messages) for s in found.sessions.values()] == sizes
    raw = orjson.loads(path.read_bytes())
    texts = [
        block["text"]
        for c in (raw if isinstance(raw, list) else [raw])
        for m in c["chat_messages"]
        for block in (m["content"] if isinstance(m["content"], list) else [])
        if isinstance(block.get("text"), str)
    ]
    kept = [m.content for s in found.sessions.values() for m in s.messages]
    assert [text for text in texts if text not in kept] == []


def test_a_chat_made_of_errors_loses_nothing(imported: Import, shared_data: Path) -> None:
    """Null, missing, numeric and misplaced content, as the file's own words describe it."""
    found = imported("auto", shared_data / "claude-ai" / "conversation-with-errors.json")
    words = [m.content for m in found.messages]
    assert words[2] == "This message has null content array - should trigger error handling"
    assert words[3] == "This message has null text in content item"
    assert words[5] == "This should be an array but it's a string"
    assert words[7] == "12345"
    assert words[9] == "Empty content array"
    assert [b["type"] for b in found.messages[6].blocks] == ["unknown_type"]
    assert [b["name"] for b in found.messages[8].blocks] == ["create_artifact"]
    assert [what for _, what in found.findings] == [
        "a block of unknown type 'unknown_type' is kept as it is"
    ]
