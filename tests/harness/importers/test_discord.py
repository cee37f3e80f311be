"""Discord channels as DiscordChatExporter writes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.harness.importers.conftest import Import, Write
from tests.support.foreign_chats import DISCORD


def test_a_channel_keeps_who_said_what(imported: Import, source: Write) -> None:
    """Nicknames before names; people are users, bots assistants; notices are counted."""
    found = imported("auto", source(DISCORD, name="rigging.json"))
    assert found.report.format == "discord"
    assert [(m.role, m.speaker, m.content) for m in found.messages] == [
        ("user", "Mira", "Which rope? 🪢"),
        ("user", "jon", "12 mm polyester"),
        ("assistant", "Tides", "High water\n14:20\nHeight: 4.1 m"),
    ]
    assert found.session.title == "Boats / rigging"
    assert found.session.meta["topic"] == "Ropes"
    assert found.report.skipped == {"no message: GuildMemberJoin": 1}


def test_replies_times_and_files_are_kept(imported: Import, source: Write) -> None:
    """The zone of a timestamp too; files and stickers as placeholders."""
    first, reply, _ = imported("auto", source(DISCORD, name="x.json")).messages
    assert reply.meta == {"reply_to": "10"}
    assert first.timestamp == datetime.fromisoformat("2024-01-15T10:30:00.5+01:00")
    assert first.blocks == (
        {"type": "file", "bytes": 204800, "title": "rope.jpg"},
        {"type": "sticker", "title": "wave"},
    )


@pytest.mark.parametrize("author", [None, {}, {"name": 5}, []])
def test_a_message_without_a_name_is_kept(author: Any, imported: Import, source: Write) -> None:
    """Deleted accounts have said something too."""
    message = {"id": "1", "type": "Default", "content": "still here", "author": author}
    found = imported("discord", source({**DISCORD, "messages": [message]}, name="x.json"))
    assert [m.content for m in found.messages] == ["still here"]


def test_a_type_of_message_nobody_knows_is_kept_where_it_says_something(
    imported: Import, source: Write
) -> None:
    """New kinds of messages appear every year."""
    message = {"id": "1", "type": "Hologram", "content": "a new kind", "author": {"name": "a"}}
    found = imported("discord", source({**DISCORD, "messages": [message]}, name="x.json"))
    assert [m.content for m in found.messages] == ["a new kind"]
