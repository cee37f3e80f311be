"""ChatGPT exports: trees of nodes, of which the branch shown last is the session."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.importers.conftest import Import, Write


def message(role: str, *parts: Any, kind: str = "text", **more: Any) -> dict[str, Any]:
    """Return a message of a node."""
    content = {"content_type": kind, "parts": list(parts), **more.pop("content", {})}
    return {"author": {"role": role}, "content": content, "recipient": "all", **more}


def conversation(*nodes: tuple[str, str | None, Any], **about: Any) -> dict[str, Any]:
    """Return a conversation of nodes ``(id, parent, message)``."""
    mapping = {
        key: {"id": key, "parent": parent, "message": body and {"id": f"id-{key}", **body}}
        for key, parent, body in nodes
    }
    return {"conversation_id": "c1", "title": "予算", "mapping": mapping, **about}


USER, ANSWER = message("user", "予算は？"), message("assistant", "3,000円")
PLAIN = conversation(
    ("root", None, None), ("u", "root", USER), ("a", "u", ANSWER), current_node="a"
)


@pytest.mark.parametrize("wrap", ["list", "object"])
def test_a_conversation_is_the_way_to_its_current_node(
    wrap: str, imported: Import, source: Write
) -> None:
    """Title, ids and the model are kept; an export is a list or one conversation."""
    given = {**PLAIN, "default_model_slug": "m"}
    found = imported(
        "auto", source([given] if wrap == "list" else given, name="conversations.json")
    )
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]
    assert (found.session.session_id, found.session.title) == ("c1", "予算")
    assert [m.message_id for m in found.messages] == ["id-u", "id-a"]
    assert [m.meta for m in found.messages] == [{}, {"model": "m"}]
    assert dict(found.report.skipped) == {"empty node": 1}


@pytest.mark.parametrize(
    ("current", "wanted"), [("a1", "first"), ("a2", "second"), (None, "second"), ("gone", "second")]
)
def test_of_two_branches_the_current_or_the_newest_is_kept(
    current: str | None, wanted: str, imported: Import, source: Write
) -> None:
    """A regenerated answer is another branch, and is counted as one."""
    given = conversation(
        ("u", None, {**USER, "create_time": 1.0}),
        ("a1", "u", message("assistant", "first", create_time=2.0)),
        ("a2", "u", message("assistant", "second", create_time=3.0)),
        current_node=current,
    )
    found = imported("chatgpt", source(given, name="x.json"))
    assert [content for _, content in found.said] == ["予算は？", wanted]
    assert dict(found.report.skipped) == {"other branch": 1}


def test_damaged_trees_are_walked_as_far_as_they_go(imported: Import, source: Write) -> None:
    """A lost parent ends the path, a cycle too, and a node without a message is passed."""
    lost = conversation(("u", "gone", USER), ("a", "u", ANSWER), conversation_id="lost")
    cycle = conversation(
        ("u", "a", USER), ("a", "u", ANSWER), current_node="a", id="x", conversation_id="cycle"
    )
    holes = conversation(
        ("u", None, USER), ("h", "u", None), ("a", "h", ANSWER), conversation_id="holes"
    )
    found = imported("chatgpt", source([lost, cycle, holes], name="x.json"))  # fmt: skip
    assert {name: len(s.messages) for name, s in found.sessions.items()} == {
        "lost": 2,
        "cycle": 2,
        "holes": 2,
    }


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({**ANSWER, "weight": 0}, "weight 0"),
        ({**ANSWER, "metadata": {"is_visually_hidden_from_conversation": True}}, "hidden message"),
        (message("user", kind="user_editable_context"), "hidden context"),
        (message("system", ""), "empty message"),
        (message("assistant", "", "  "), "empty message"),
        (message("moderator", "x"), "unknown author"),
        ({"content": {"content_type": "text", "parts": ["x"]}}, "unknown author"),
        (message("assistant", kind="thoughts", content={"thoughts": [{"content": "hm"}]}), "reasoning without an answer"),
    ],
)  # fmt: skip
def test_what_is_not_shown_is_skipped_with_a_reason(
    body: dict[str, Any], reason: str, imported: Import, source: Write
) -> None:
    """Each kind of hidden or empty node has its own line in the account."""
    found = imported(
        "chatgpt", source(conversation(("u", None, USER), ("x", "u", body)), name="x.json")
    )
    assert found.said == [("user", "予算は？")]
    assert dict(found.report.skipped) == {reason: 1}


def test_thinking_is_part_of_the_answer_it_led_to(imported: Import, source: Write) -> None:
    """Thoughts and recaps in any of their shapes become blocks of the next words."""
    given = conversation(
        ("u", None, USER),
        ("t1", "u", message("assistant", kind="thoughts",
                            content={"thoughts": [{"summary": "s", "content": "c"}]})),
        ("t2", "t1", message("assistant", "from parts", kind="thoughts")),
        ("t3", "t2", message("assistant", kind="reasoning_recap", content={"content": "Thought for 5s"})),
        ("a", "t3", ANSWER),
    )  # fmt: skip
    found = imported("chatgpt", source(given, name="x.json"))
    assert [b["thinking"] for b in found.messages[1].blocks] == [
        *("s\n\nc", "from parts", "Thought for 5s")
    ]
    assert (found.report.imported, found.report.merged) == (2, 3)


def test_a_call_and_its_output_are_a_pair(imported: Import, source: Write) -> None:
    """Words to a tool are a call; what the tool says next is its result, later output is words."""
    given = conversation(
        ("u", None, USER),
        ("c", "u", message("assistant", '{"q": "予算"}', recipient="browser.search")),
        ("r", "c", message("tool", kind="execution_output", content={"text": "out"})),
        ("s", "r", message("tool", "more")),
        ("a", "s", ANSWER),
    )
    found = imported("chatgpt", source(given, name="x.json"))
    assert [m.role for m in found.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert found.messages[1].blocks == (
        {
            "type": "tool_use",
            "id": "id-c",
            "name": "browser.search",
            "input": {"text": '{"q": "予算"}'},
        },
    )
    assert found.messages[2].blocks == (
        {"type": "tool_result", "tool_use_id": "id-c", "content": "out"},
    )
    assert (found.messages[3].content, found.messages[3].blocks) == ("more", ())


@pytest.mark.parametrize(
    ("body", "text", "blocks"),
    [
        (message("user", "a", "b"), "a\n\nb", []),
        (message("user", "a", None, 5, ["x"]), "a", []),
        (message("assistant", kind="code", content={"text": "SELECT 1"}), "SELECT 1", []),
        (message("assistant", kind="code", metadata={"finished_text": "print()"}), "print()", []),
        (message("tool", kind="tether_browsing_display", content={"result": "page"}), "page", []),
        (message("system", kind="system_error", content={"text": "Tool failed"}), "Tool failed", []),
        (
            message("user", {"content_type": "image_asset_pointer", "size_bytes": 128}, "see", kind="multimodal_text"),
            "see", [{"type": "image", "bytes": 128}],
        ),
        (
            message("user", {"content_type": "audio_transcription", "text": "聞こえますか"}, kind="multimodal_text"),
            "聞こえますか", [],
        ),
        (
            message("user", {"content_type": "real_time_user_audio_video_asset_pointer"}, kind="multimodal_text"),
            "", [{"type": "real_time_user_audio_video_asset_pointer"}],
        ),
        (
            message("user", "see", metadata={"attachments": [{"name": "図.txt", "mime_type": "text/plain", "size": 42}]}),
            "see", [{"type": "file", "media_type": "text/plain", "bytes": 42, "title": "図.txt"}],
        ),
        (message("user", metadata={"attachments": [{}]}), "", [{"type": "file"}]),
    ],
)  # fmt: skip
def test_every_known_content_is_words_or_a_placeholder(
    body: dict[str, Any],
    text: str,
    blocks: list[dict[str, Any]],
    imported: Import,
    source: Write,
) -> None:
    """Text in any shape is read, and what is no text is named."""
    found = imported("chatgpt", source(conversation(("x", None, body)), name="x.json"))
    assert (found.messages[0].content, list(found.messages[0].blocks)) == (text, blocks)
    assert not found.findings


@pytest.mark.parametrize(
    ("body", "text", "kinds"),
    [
        (message("assistant", "words", kind="hologram"), "words", []),
        (message("assistant", kind="hologram"), "", ["hologram"]),
        (message("assistant", {"content_type": "future"}, kind="hologram"), "", ["future"]),
        (message("assistant", kind=None), "", ["unknown"]),  # type: ignore[arg-type]
    ],
)
def test_unknown_content_is_kept_as_a_placeholder_and_told(
    body: dict[str, Any], text: str, kinds: list[str], imported: Import, source: Write
) -> None:
    """A type of the future never loses the words it came with."""
    found = imported("chatgpt", source(conversation(("x", None, body)), name="x.json"))
    assert found.messages[0].content == text
    assert [block["type"] for block in found.messages[0].blocks] == kinds
    assert "unknown content kept as placeholders" in found.findings[0][1]


def test_one_damaged_conversation_does_not_stop_the_others(imported: Import, source: Write) -> None:
    """Without a tree, without a name, without a word: each is told or named by its place."""
    nameless = {k: v for k, v in PLAIN.items() if k != "conversation_id"}
    path = source(
        [{"id": "b", "mapping": []}, None, 5, nameless, {"id": "e", "mapping": {}}], name="x.json"
    )
    found = imported("chatgpt", path)
    assert list(found.sessions) == ["x-0003"]
    assert dict(found.report.skipped) == {"damaged conversation": 3, "empty node": 1}
    assert [what for _, what in found.findings] == [
        "conversation b has no tree of messages",
        "conversation x-0001 has no tree of messages",
        "conversation x-0002 has no tree of messages",
        "session e holds no message",
    ]


def test_an_archive_of_several_parts_is_one_source(imported: Import, tmp_path: Path) -> None:
    """Newer exports split the conversations; other files of the archive are left alone."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(2):
            part = orjson.dumps([{**PLAIN, "conversation_id": f"c{number}"}])
            archive.writestr(f"conversations-00{number}.json", part)
        archive.writestr("__MACOSX/._conversations-000.json", b"\x00\x05")
        archive.writestr("user.json", b"{}")
    found = imported("auto", path)
    assert found.report.format == "chatgpt"
    assert set(found.sessions) == {"c0", "c1"}


SAMPLES = {
    # words of every session, read off the files along their current nodes by eye
    "conversations.json": {
        "11111111-aaaa-4bbb-8ccc-000000000001": [
            "Why is my query on orders slow?",
            "You are missing an index on customer_id. Add a composite index.",
            "Here is the plan output. Can you write the statement?",
            "CREATE INDEX idx_orders_customer ON orders (customer_id, created_at);",
            "CREATE INDEX",
            "Done. The query should now use the index.",
        ],
        "22222222-aaaa-4bbb-8ccc-000000000002": [
            "Suggest a weekend trip near Lisbon.",
            "Sintra is forty minutes away by train.",
        ],
    },
    "chatgpt_2026_sample.json": {
        "chatgpt-conv-1": ["How do I build an export command?", "Use argparse and subcommands."],
        "chatgpt-conv-2": ["Tool failed", ""],
        "chatgpt-conv-3": ["print('from metadata')"],
    },
    "native-conversation-v1.json": {
        "chatgpt-fixture-conversation": [
            "Analyze the attached fixture and create an artifact.",
            "",
            "",
            "Final answer. [Download artifact](sandbox:/mnt/data/fixture-result.zip)",
        ]
    },
}


@pytest.mark.parametrize("name", SAMPLES)
def test_real_exports_give_the_words_that_were_shown(
    name: str, imported: Import, shared_data: Path
) -> None:
    """Branches, hidden context, thinking and unknown types of three exports."""
    path = shared_data / "chatgpt" / name
    found = imported("auto", path)
    words = {s.session_id: [m.content for m in s.messages] for s in found.sessions.values()}
    assert words == SAMPLES[name]
    raw = orjson.loads(path.read_bytes())
    mappings = [c.get("mapping") for c in (raw if isinstance(raw, list) else [raw])]
    nodes = sum(len(m) if m is not None else 1 for m in mappings)
    assert found.report.read == nodes


def test_a_real_call_keeps_thinking_result_and_times(imported: Import, shared_data: Path) -> None:
    """The thought stands in the call, the recap in the answer; times are epoch seconds."""
    found = imported("auto", shared_data / "chatgpt" / "native-conversation-v1.json")
    call, result, answer = found.messages[1:]
    assert [b["type"] for b in call.blocks] == ["thinking", "tool_use"]
    assert result.blocks[0]["tool_use_id"] == call.blocks[1]["id"]
    assert [b["type"] for b in answer.blocks] == ["thinking", "image"]
    assert call.timestamp == datetime.fromtimestamp(1784164545, tz=UTC)
