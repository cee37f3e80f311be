"""ShareGPT conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.importers.conftest import Import, Write


def turn(speaker: Any, value: Any) -> dict[str, Any]:
    """Return a turn."""
    return {"from": speaker, "value": value}


@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
def test_a_conversation_is_its_turns(name: str, imported: Import, source: Write) -> None:
    """Names come from the file and the record; JSON and JSON Lines give the same."""
    records = [
        {"id": "a", "conversations": [turn("human", "予算は？"), turn("gpt", "3,000円")]},
        {"conversations": [turn("system", "Be brief."), turn("user", "예산은?"), turn("tool", "out")]},
    ]  # fmt: skip
    path = source(records, name=name) if name == "x.json" else source(*records, name=name)
    found = imported("auto", path)
    assert found.report.format == "sharegpt"
    words = {name: [(m.role, m.content) for m in s.messages] for name, s in found.sessions.items()}
    assert words == {
        "x-a": [("user", "予算は？"), ("assistant", "3,000円")],
        "x-00002": [("system", "Be brief."), ("user", "예산은?"), ("tool", "out")],
    }


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (turn("narrator", "x"), "unknown speaker"),
        (turn(None, "x"), "unknown speaker"),
        (turn(["gpt"], "x"), "unknown speaker"),
        (None, "unknown speaker"),
        ("x", "unknown speaker"),
        (turn("gpt", ""), "empty message"),
        (turn("gpt", None), "empty message"),
        (turn("gpt", ["x"]), "empty message"),
    ],
)
def test_a_turn_that_says_nothing_is_skipped(
    given: Any, reason: str, imported: Import, source: Write
) -> None:
    """The rest of the conversation is numbered without a hole."""
    found = imported("sharegpt", source({"conversations": [given, turn("human", "hi")]}))
    assert [(m.seq, m.content) for m in found.messages] == [(0, "hi")]
    assert dict(found.report.skipped) == {reason: 1}


def test_other_spellings_of_a_turn_are_read(imported: Import, source: Write) -> None:
    """Some files write role and content."""
    given = {"conversations": [{"role": "user", "content": "a"}, {"from": "bing", "text": "b"}]}
    assert imported("sharegpt", source(given)).said == [("user", "a"), ("assistant", "b")]


def test_records_without_a_conversation_are_told(imported: Import, source: Write) -> None:
    """They are sessions without messages."""
    path = source({"id": "a"}, {"id": "b", "conversations": [turn("human", "hi")]}, b"5")
    found = imported("sharegpt", path)
    assert sorted(what for _, what in found.findings) == [
        "a int is no record",
        "session file-a holds no message",
    ]


def test_a_real_file_keeps_every_turn(imported: Import, shared_data: Path) -> None:
    """Sixty conversations of four turns by `jq`, all of them two speakers."""
    path = shared_data / "sharegpt" / "dummy_60.json"
    found = imported("auto", path)
    raw = orjson.loads(path.read_bytes())
    assert {name: [m.content for m in s.messages] for name, s in found.sessions.items()} == {
        f"dummy_60-{c['id']}": [t["value"] for t in c["conversations"]] for c in raw
    }
    assert (found.report.sessions, found.report.read) == (60, 240)
