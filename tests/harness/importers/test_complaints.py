"""Kinds of faults that users of other importers reported, where no other test states the right value."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.run import import_paths
from tests.harness.importers.conftest import Import, Write


def line(number: int, content: Any, **more: Any) -> dict[str, Any]:
    """Return a line of a Claude Code file that goes on from the one before."""
    return {
        "type": "user", "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s", "isSidechain": False, "userType": "external",
        "timestamp": f"2026-01-01T00:00:{number:02}Z",
        "message": {"role": "user", "content": content}, **more,
    }  # fmt: skip


def answer(number: int, text: str, usage: int, **more: Any) -> dict[str, Any]:
    """Return a line of an assistant's message, with its tokens."""
    message = {"id": "m1", "role": "assistant", "model": "m",
               "content": [{"type": "text", "text": text}], "usage": {"output_tokens": usage}}  # fmt: skip
    return line(number, "", **{"type": "assistant", "message": message, **more})


@pytest.mark.parametrize(
    "damage",
    [
        b'ns":0},"output":"cut off at its beginning"}',
        b'{"type":"user","uuid":"x","message":{"role":"us',
        b"null",
        b"[1, 2]",
        b'"words"',
        b"\x00\x00\x00\x00",
        b"\x93not utf-8\x94",
        b"{}",
        b"  ",
    ],
)
def test_a_bad_line_costs_itself_alone(damage: bytes, imported: Import, source: Write) -> None:
    """Wherever it stands, the lines before and after it are there, and it is counted."""
    for place in range(3):
        lines: list[Any] = [line(0, "one"), line(1, "two")]
        lines.insert(place, damage)
        found = imported("claude-code", source(*lines))
        assert [m.content for m in found.messages] == ["one", "two"]
        assert (found.report.read, found.report.skipped.total()) == (3, 1)


def test_a_line_of_a_kind_that_did_not_exist_yet_is_counted_not_fatal(
    imported: Import, source: Write
) -> None:
    """It may stand between two messages; fields nobody knows are no reason either."""
    hologram = {**line(1, ""), "type": "hologram", "payload": {"x": 1}}
    found = imported("claude-code", source(line(0, "one"), hologram, line(2, "two", shiny=True)))
    assert [m.content for m in found.messages] == ["one", "two"]
    assert found.report.skipped == {"no message: hologram": 1}


def test_history_written_again_is_kept_once_and_sessions_stay_apart(
    imported: Import, source: Write
) -> None:
    """Five copies of the same ids are one message each; the same ids in two files are two sessions."""
    lines = [line(0, "one"), line(1, "two")]
    first = source(*lines * 5, name="a.jsonl")
    second = source(*lines, line(2, "three"), name="b.jsonl")
    found = imported("claude-code", first, second)
    assert [m.content for m in found.sessions["a"].messages] == ["one", "two"]
    assert [m.content for m in found.sessions["b"].messages] == ["one", "two", "three"]
    assert found.report.skipped["repeated line"] == 8


@pytest.mark.parametrize("root", [None, "u4"], ids=["beside it", "after it"])
def test_history_written_again_under_other_ids_is_kept_once(
    root: str | None, imported: Import, source: Write
) -> None:
    """Words, calls and tokens stand once; saying the same again later is no copy."""
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    called = answer(2, "", 40)
    called["message"]["content"] = [use]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]
    lines = [line(0, "hi"), answer(1, "a", 40), called, line(3, result), line(4, "hi")]
    copies = [
        {**one, "uuid": f"copy-{n}", "parentUuid": f"copy-{n - 1}" if n else root}
        for n, one in enumerate(lines)
    ]
    last = {**line(9, "next"), "parentUuid": "copy-4"}
    found = imported("claude-code", source(*lines, *copies, last))
    assert found.said == [
        *(("user", "hi"), ("assistant", "a"), ("tool", ""), ("user", "hi"), ("user", "next"))
    ]
    assert [len(m.blocks) for m in found.messages] == [0, 1, 1, 0, 0]
    assert found.messages[1].meta["usage"] == {"output_tokens": 40}
    assert found.report.skipped == {"repeated line": 5}
    assert not found.findings


def test_a_compressed_recording_in_a_folder_is_told_with_what_unpacks_it(
    imported: Import, source: Write
) -> None:
    """It holds something and gives nothing: a failure; other compressed files are no recordings."""
    source(line(0, "one"), name="day/a.jsonl")
    packed = source(b"\x28\xb5\x2f\xfd rest", name="day/rollout.jsonl.zst")
    source(b"\x1f\x8b rest", name="day/photo.png.gz")
    found = imported("auto", packed.parent)
    assert [m.content for m in found.messages] == ["one"]
    (failure,) = found.report.failures
    assert failure.file == str(packed)
    assert f"zstd -d {packed}" in failure.what
    assert [f.what for f in found.report.findings] == ["not looked at: 1 file .gz"]


@pytest.mark.parametrize("name", ["notes.txt", "chat.md"])
def test_json_is_never_taken_for_prose(name: str, source: Write, tmp_path: Path) -> None:
    """Turns quoted inside its strings are no transcript, whatever the file is called."""
    export = [{"what": "## User\nhello\n## Assistant\nhi"}, {"what": "User: x"}]
    path = source(orjson.dumps(export, option=orjson.OPT_INDENT_2), name=name)
    for chosen in ("auto", "markdown"):
        with pytest.raises(DatasetError, match=r"none recognises|nothing to import"):
            import_paths(chosen, [path], tmp_path / chosen)


MARKED = (
    "codex/exec-stream-1.jsonl", "chatgpt/conversations.json", "claude-ai/python.json",
    "gemini-cli/session-2025-10-29T10-36-9c9a14e1.json", "sharegpt/dummy_60.json",
    "openai-chat/toy_chat_fine_tuning.jsonl", "sillytavern/room_Konosuba.jsonl",
    "langfuse/autogen-2025-06-06.trace.json", "memdaily/01_simple_items.json",
)  # fmt: skip


@pytest.mark.parametrize("name", MARKED)
def test_a_byte_order_mark_changes_nothing(
    name: str, imported: Import, shared_data: Path, source: Write
) -> None:
    """The sessions of any format are those of the file without it."""
    plain = (shared_data / name).read_bytes()
    with_mark = imported("auto", source(b"\xef\xbb\xbf" + plain, name=Path(name).name))
    without = imported("auto", shared_data / name)
    assert with_mark.report.messages > 0
    assert with_mark.sessions == without.sessions
    assert with_mark.report.skipped == without.report.skipped


def test_tokens_are_counted_once_for_every_message(imported: Import, source: Write) -> None:
    """Every line of a message repeats its usage; the last one has the final number."""
    found = imported(
        "claude-code",
        source(line(0, "hi"), answer(1, "a", 3), answer(2, "b", 40), answer(3, "c", 40)),
    )
    assert [m.meta.get("usage") for m in found.messages] == [None, {"output_tokens": 40}]
    assert found.messages[1].content == "a\n\nb\n\nc"


def test_lines_of_a_message_with_others_between_them_are_one(
    imported: Import, source: Write
) -> None:
    """A result that came before the message was complete follows it; no block is lost."""
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls\r\n"}}
    begun = answer(1, "", 1)
    begun["message"]["content"] = [use]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "a\r\nb\x00"}]
    found = imported(
        "claude-code", source(line(0, "hi"), begun, line(2, result), answer(3, "done", 9))
    )
    assert [(m.role, m.content) for m in found.messages] == [
        *(("user", "hi"), ("assistant", "done"), ("tool", ""))
    ]
    assert found.messages[1].blocks[0]["input"] == {"command": "ls\n"}
    assert found.messages[2].blocks[0]["content"] == "a\nb"


@pytest.mark.parametrize("content", ["\x00", "\ufeff", "\r\n", "\x00 \x00", " "])
def test_a_message_of_nothing_that_can_be_stored_is_empty(
    content: str, imported: Import, source: Write
) -> None:
    """What is cleaned away does not leave an empty message behind."""
    found = imported("claude-code", source(line(0, "one"), line(1, content), line(2, "two")))
    assert [m.content for m in found.messages] == ["one", "two"]
    assert found.report.skipped == {"empty message": 1}


@pytest.mark.parametrize("view", ["raw", "recorded"])
def test_a_compaction_is_followed_over_its_boundary(
    view: str, imported: Import, source: Write
) -> None:
    """Raw: over the logical parent, without the summary. As recorded: with it, marked."""
    boundary = {**line(1, ""), "type": "system", "subtype": "compact_boundary",
                "parentUuid": None, "logicalParentUuid": "u0"}  # fmt: skip
    summary = line(2, "This session is being continued …", isCompactSummary=True)
    found = imported(
        "claude-code", source(line(0, "one"), boundary, summary, line(3, "two")), view=view
    )
    said = [(m.content, bool(m.meta.get("compaction_summary"))) for m in found.messages]
    kept = [("This session is being continued …", True)] if view == "recorded" else []
    assert said == [("one", False), *kept, ("two", False)]


def test_the_locale_of_the_machine_plays_no_part(source: Write, tmp_path: Path) -> None:
    """Files are UTF-8 on reading and on writing, whatever the environment says."""
    path = source([{"role": "user", "content": "予算は3,000円 🪢 naïve"}], name="会議.json")
    code = (
        "import sys; from pathlib import Path; from ctxeng.harness.importers.run import import_paths;"
        "import_paths('auto', [Path(sys.argv[1])], Path(sys.argv[2]))"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run(
        [sys.executable, "-c", code, os.fsencode(path), tmp_path / "set"],
        env=environment,
        check=True,
        timeout=60,
    )
    (file,) = (tmp_path / "set" / "sessions").iterdir()
    message = orjson.loads(file.read_bytes().split(b"\n")[1])
    assert message["content"] == "予算は3,000円 🪢 naïve"


def test_two_conversations_of_one_export_do_not_share_their_fate(
    imported: Import, source: Write
) -> None:
    """A hidden profile is not the user's words; a broken conversation is told."""
    message = {
        "id": "m", "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]},
    }  # fmt: skip
    hidden = {
        "author": {"role": "user"},
        "content": {"content_type": "user_editable_context", "user_profile": "secret"},
        "metadata": {"is_visually_hidden_from_conversation": True},
    }
    good = {
        "id": "c1", "current_node": "m",
        "mapping": {
            "root": {"id": "root", "parent": None, "message": None},
            "h": {"id": "h", "parent": "root", "message": hidden},
            "m": {"id": "m", "parent": "h", "message": message},
        },
    }  # fmt: skip
    found = imported("auto", source([{"id": "c0", "mapping": 5}, good], name="conversations.json"))
    assert found.said == [("user", "Hi")]
    assert found.findings


def test_a_changed_file_updates_its_sessions_alone(source: Write, tmp_path: Path) -> None:
    """Of sixty files one has grown: one session is written, the others keep their time."""
    folder = tmp_path / "given"
    for number in range(60):
        source(line(0, f"budget {number}"), name=f"{number % 7}/{number:03}.jsonl")
    first = import_paths("auto", [folder], tmp_path / "set")
    assert first.outcomes == {"written": 60}
    files = sorted((tmp_path / "set" / "sessions").iterdir())
    for file in files:
        os.utime(file, (1, 1))
    source(line(0, "budget 42"), line(1, "more"), name="0/042.jsonl")
    second = import_paths("auto", [folder], tmp_path / "set")
    assert second.outcomes == {"unchanged": 59, "updated": 1}
    assert [f.name for f in files if f.stat().st_mtime != 1] == ["042.jsonl"]
    assert sorted((tmp_path / "set" / "sessions").iterdir()) == files
