"""The list of formats, and telling a file's format from its content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.registry import (
    AUTO,
    IMPORTERS,
    detect,
    format_names,
    importer_named,
)
from ctxeng.harness.importers.source import Source, sample_of
from tests.harness.importers.conftest import Write

ROOM = Path(__file__).parents[3] / "ctxeng" / "harness" / "importers"


def test_every_importer_of_the_room_is_registered() -> None:
    """A module that defines an importer and is not on the list could never be used."""
    defined = {
        module.stem for module in ROOM.glob("*.py") if "(Importer):" in module.read_text("utf-8")
    }
    registered = {type(importer).__module__.rpartition(".")[2] for importer in IMPORTERS}
    assert defined == registered


def test_formats_are_found_by_their_names() -> None:
    """Names are unique, none is the word for detection, and each gives its importer."""
    names = format_names()
    assert len(set(names)) == len(names) == len(IMPORTERS)
    assert AUTO not in names
    assert [importer_named(name) for name in names] == list(IMPORTERS)


@pytest.mark.parametrize("name", ["", "auto", "Claude-Code", "slack2", "予算"])
def test_an_unknown_format_is_told_with_the_known_ones(name: str) -> None:
    """The error lists every format."""
    with pytest.raises(DatasetError, match="format must be auto or one of") as caught:
        importer_named(name)
    assert all(known in str(caught.value) for known in format_names())


TREE_LINE = {
    "uuid": "u",
    "parentUuid": None,
    "sessionId": "s",
    "isSidechain": False,
    "type": "user",
}
CHAT = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("values", "name", "format_name"),
    [
        ([TREE_LINE], "x.jsonl", "claude-code"),
        (
            [{"type": "summary", "summary": "t", "leafUuid": "x"}, TREE_LINE],
            "x.jsonl",
            "claude-code",
        ),
        ([{"type": "session_meta", "payload": {}}], "x.jsonl", "codex"),
        ([{"type": "thread.started", "thread_id": "t"}], "x.jsonl", "codex"),
        ([[{"id": "c", "mapping": {}}]], "x.json", "chatgpt"),
        ([{"id": "c", "mapping": {}}], "x.json", "chatgpt"),
        ([[{"uuid": "c", "chat_messages": []}]], "x.json", "claude-ai"),
        ([{"sessionId": "s", "projectHash": "p", "messages": []}], "x.json", "gemini-cli"),
        (
            [{"request": {"messages": CHAT}, "response": {"type": "message", "content": []}}],
            "x.jsonl",
            "anthropic-messages",
        ),
        (
            [{"messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}]}],
            "x.jsonl",
            "anthropic-messages",
        ),
        ([{"max_tokens": 5, "system": "s", "messages": CHAT}], "x.json", "anthropic-messages"),
        ([{"messages": CHAT}], "x.jsonl", "openai-chat"),
        ([{"request": {"messages": CHAT}, "response": {"choices": []}}], "x.jsonl", "openai-chat"),
        ([{"trajectory": CHAT, "info": {}}], "x.json", "openai-chat"),
        ([CHAT], "x.json", "openai-chat"),
        (CHAT * 2, "x.jsonl", "openai-chat"),
        (
            [[{"id": "1", "conversations": [{"from": "human", "value": "hi"}]}]],
            "x.json",
            "sharegpt",
        ),
        ([{"message_tree_id": "t", "prompt": {}}], "x.jsonl", "oasst"),
        ([{"user_name": "You", "character_name": "Aqua"}], "x.jsonl", "sillytavern"),
        ([{"name": "Aqua", "is_user": False, "mes": "hi"}], "x.jsonl", "sillytavern"),
        ([[{"conversation": {"speaker_a": "A"}, "qa": []}]], "x.json", "locomo"),
        ([{"a": 1}], "x.json", None),
        ([[]], "x.json", None),
        ([b"Q,A,label"], "x.csv", None),
        ([b"\x00\xff\x00"], "x.json", None),
        ([{"messages": "hi"}], "x.json", None),
        ([{"role": "moderator", "content": "hi"}], "x.jsonl", None),
        ([{"schema": "ctxeng.session/1", "session_id": "s"}], "x.jsonl", None),
    ],
)
def test_a_format_is_told_by_its_content(
    values: list[Any], name: str, format_name: str | None, source: Write
) -> None:
    """The smallest record that shows each format's own fields; the file's name plays no part."""
    found = detect(sample_of(Source(source(*values, name=name))))
    assert (found.name if found else None) == format_name


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        [],
        {},
        [None],
        {"messages": [None, 5, {"content": [{"type": ["x"]}, {"type": {}}]}]},
        {"request": 5, "response": []},
        {"conversation": [], "conversations": {"from": []}},
        [{"mapping": 5, "chat_messages": {}}],
        {"type": {}, "payload": [], "uuid": [], "prompt": 5, "message_tree_id": None},
    ],
)
def test_detection_never_raises_and_gives_a_share(importer, value: Any, source: Write) -> None:
    """Fields of a wrong type make a sample unlikely, not an error."""
    confidence = importer.detect(sample_of(Source(source(value))))
    assert 0.0 <= confidence <= 1.0
