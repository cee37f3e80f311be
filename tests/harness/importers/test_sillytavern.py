"""SillyTavern chats."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.harness.importers.conftest import Import, Write

HEADER = {"user_name": "You", "character_name": "Aqua", "create_date": 1679643735240}
AT = datetime(2024, 9, 28, 1, 2, tzinfo=UTC)


def said(words: Any, name: Any = "Aqua", **more: Any) -> dict[str, Any]:
    """Return a line of a chat."""
    return {"name": name, "is_user": False, "mes": words, **more}


def test_a_chat_keeps_its_speakers(imported: Import, source: Write) -> None:
    """Roles come from who types, names from the lines; there is no final line end."""
    path = source(HEADER, said("ようこそ"), said("안녕", "You", is_user=True), name="Aqua.jsonl")
    found = imported("auto", path)
    assert found.report.format == "sillytavern"
    assert [(m.role, m.speaker, m.content) for m in found.messages] == [
        ("assistant", "Aqua", "ようこそ"),
        ("user", "You", "안녕"),
    ]
    assert (found.session.session_id, found.session.title) == ("Aqua", "Aqua")
    assert dict(found.report.skipped) == {"header": 1}


@pytest.mark.parametrize(
    ("header", "title"),
    [
        ({**HEADER, "character_name": None}, ""),
        ({"user_name": "You", "character_names": ["Aqua", "めぐみん", None]}, "Aqua, めぐみん"),
        ({**HEADER, "character_names": ["Aqua"]}, "Aqua, Aqua"),
        (HEADER, "Aqua"),
    ],
)
def test_a_room_is_named_by_its_characters(
    header: dict[str, Any], title: str, imported: Import, source: Write
) -> None:
    """One or several, as the header lists them."""
    assert imported("sillytavern", source(header, said("hi"))).session.title == title


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (said("hidden", is_system=True), "hidden from the model"),
        (said(""), "empty message"),
        (said(None), "empty message"),
        ({"note": "x"}, "no message"),
        (b"{cut", "damaged line"),
        (b"[1]", "not an object"),
    ],
)
def test_a_line_that_was_not_said_is_skipped(
    line: Any, reason: str, imported: Import, source: Write
) -> None:
    """Each with its reason in the account."""
    found = imported("sillytavern", source(HEADER, line, said("hi")))
    assert [m.content for m in found.messages] == ["hi"]
    assert dict(found.report.skipped) == {"header": 1, reason: 1}


def test_what_stands_beside_the_words_is_kept(imported: Import, source: Write) -> None:
    """Reasoning, an image and the number of swipes; the chosen words are the message."""
    line = said(
        "chosen",
        swipes=["other", "chosen"],
        swipe_id=1,
        extra={"reasoning": "hm", "image": "data:…", "model": "m"},
    )
    (message,) = imported("sillytavern", source(HEADER, line)).messages
    assert message.content == "chosen"
    assert message.blocks == ({"type": "thinking", "thinking": "hm"}, {"type": "image"})
    assert message.meta == {"swipes": 2}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (int(AT.timestamp() * 1000), AT),
        ("2024-09-28T01:02:00Z", AT),
        ("September 28, 2024 1:02am", AT),
        ("September 28, 2024 1:02 AM", AT),
        ("September 28, 2024 1:02pm", AT.replace(hour=13)),
        ("2024-09-28@01h02m36s", AT.replace(second=36)),
        ("2024-9-28 @01h 02m 36s 123ms", AT.replace(second=36)),
        ("Septembre 28, 2024 1:02am", None),
        ("September 31, 2024 1:02am", None),
        ("2024-13-28@01h02m36s", None),
        ("now", None),
        (None, None),
        ([], None),
    ],
)
def test_a_time_is_read_in_every_spelling(
    value: Any, wanted: datetime | None, imported: Import, source: Write
) -> None:
    """Local times have no zone: UTC stands in; what is no time is none."""
    found = imported("sillytavern", source(HEADER, said("hi", send_date=value)))
    assert found.messages[0].timestamp == wanted


@pytest.mark.parametrize(
    ("name", "title", "speakers"),
    [
        ("Megumin_1673323621108.jsonl", "Megumin", ["Megumin"]),
        ("room_Konosuba.jsonl", "Megumin, Aqua, Darkness", ["Megumin", "Aqua", "Darkness"]),
    ],
)
def test_real_chats_are_their_lines(
    name: str, title: str, speakers: list[str], imported: Import, shared_data: Path
) -> None:
    """Read off the two files by eye: a header, then one line a character."""
    found = imported("auto", shared_data / "sillytavern" / name)
    assert found.session.title == title
    assert [m.speaker for m in found.messages] == speakers
    assert all(m.timestamp is not None and m.timestamp.year == 2023 for m in found.messages)
