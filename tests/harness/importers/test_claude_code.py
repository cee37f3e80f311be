"""Claude Code session files."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.pairs import call_ids, result_ids
from ctxeng.harness.importers.run import import_paths
from tests.harness.importers.conftest import Import, Write

BYTES_A_TURN = 1200
MAIN = "11111111-2222-3333-4444-555555555555"


def line(
    identity: str, parent: str | None, content: Any, *, kind: str = "user", **more: Any
) -> dict[str, Any]:
    """Return a line of a session file; ``message_id`` marks the lines of one API message."""
    message: dict[str, Any] = {"role": kind, "content": content}
    if message_id := more.pop("message_id", None):
        message["id"] = message_id
    return {
        "type": kind,
        "uuid": identity,
        "parentUuid": parent,
        "sessionId": MAIN,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work/予算",
        "version": "2.0.0",
        "gitBranch": "main",
        "timestamp": f"2026-03-02T09:14:{len(identity):02}Z",
        "message": message,
        **more,
    }


def said(identity: str, parent: str | None, words: str, **more: Any) -> dict[str, Any]:
    """Return an assistant's line of words."""
    block = {"type": "text", "text": words}
    return line(identity, parent, [block], kind="assistant", **more)


def test_a_small_session_is_its_words_in_order(imported: Import, source: Write) -> None:
    """Name, facts, speakers and times of the session are kept."""
    path = source(
        line("a", None, "予算は？"),
        {"type": "progress", "uuid": "p", "parentUuid": "a"},
        said("b", "p", "3,000円", message_id="m1"),
        {"type": "file-history-snapshot", "messageId": "x"},
        name=f"{MAIN}.jsonl",
    )
    found = imported("auto", path)
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]
    assert found.session.session_id == MAIN
    assert found.session.origin == "Claude Code"
    assert found.session.language == "ja"
    assert found.session.meta == {"cwd": "/work/予算", "version": "2.0.0", "gitBranch": "main"}
    assert [m.message_id for m in found.messages] == ["a", "m1"]
    assert found.messages[0].timestamp is not None
    assert dict(found.report.skipped) == {
        "no message: progress": 1,
        "no message: file-history-snapshot": 1,
    }
    assert not found.findings


def test_the_lines_of_one_api_message_are_one_message(imported: Import, source: Write) -> None:
    """Thinking, words and two calls of four lines are merged; usage counts once."""
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    usage = {"input_tokens": 5, "output_tokens": 9}
    parts = [
        [{"type": "thinking", "thinking": "hm"}],
        [{"type": "text", "text": "見てみます"}],
        [use],
        [{**use, "id": "t2"}],
    ]
    lines = [line("a", None, "look")]
    for number, content in enumerate(parts):
        one = line(f"b{number}", lines[-1]["uuid"], content, kind="assistant", message_id="m1")
        one["message"] |= {"usage": usage, "model": "m"}
        lines.append(one)
    found = imported("claude-code", source(*lines))
    assert len(found.messages) == 2
    assert found.messages[1].content == "見てみます"
    assert [b["type"] for b in found.messages[1].blocks] == ["thinking", "tool_use", "tool_use"]
    assert found.messages[1].meta == {"usage": usage, "model": "m"}
    assert (found.report.imported, found.report.merged) == (2, 3)


@pytest.mark.parametrize(("view", "roles"), [("raw", "uaua"), ("recorded", "uauua")])
def test_a_compaction_is_walked_past_and_its_summary_kept_only_as_recorded(
    view: str, roles: str, imported: Import, source: Write
) -> None:
    """The boundary names the line before it; the summary is marked where it stays."""
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "x", "parentUuid": None,
                "logicalParentUuid": "b", "compactMetadata": {"trigger": "auto"}}  # fmt: skip
    summary = line("y", "x", "This session is being continued …", isCompactSummary=True)
    path = source(
        line("a", None, "one"),
        said("b", "a", "two"),
        boundary,
        summary,
        line("c", "y", "three"),
        said("d", "c", "four"),
    )
    found = imported("claude-code", path, view=view)
    assert "".join(m.role[0] for m in found.messages) == roles
    assert [m.content for m in found.messages if not m.meta] == ["one", "two", "three", "four"]
    marked = [m for m in found.messages if m.meta.get("compaction_summary")]
    assert len(marked) == (view == "recorded")
    assert found.report.skipped["injected summary"] == (view == "raw")
    assert not any("joined" in what for _, what in found.findings)


def peak_of_import(path: Path, *, n_turns: int) -> int:
    """Return the most bytes held while a session of two messages and two steps a turn is read."""
    kinds, begun = ("user", "progress", "assistant", "progress"), datetime(2026, 1, 5, tzinfo=UTC)
    with path.open("wb") as stream:
        for number in range(4 * n_turns):
            kind, before = kinds[number % 4], f"{number - 1:064}" if number else None
            made = line(f"{number:064}", before, f"word {number}", kind=kind)
            made["message"]["id"] = f"msg_{number:060}"
            made["timestamp"] = begun + timedelta(seconds=number)
            stream.write(orjson.dumps(made) + b"\n")
    tracemalloc.start()
    report = import_paths("claude-code", [path], path.with_suffix(""))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.messages == 2 * n_turns
    return peak


def test_a_turn_is_held_in_a_few_columns_whatever_its_ids_are(tmp_path: Path) -> None:
    """Per turn of two messages and two steps, whose four ids alone are 452 bytes; 924 as measured."""
    short, long = (peak_of_import(tmp_path / f"{n}.jsonl", n_turns=n) for n in (2000, 6000))
    assert (long - short) / 4000 < BYTES_A_TURN


def test_agents_in_the_file_are_sessions_of_their_own(imported: Import, source: Write) -> None:
    """Sidechains are told apart by agent, or by their roots where no agent is named."""
    path = source(
        line("a", None, "main"),
        line("s", None, "first task", isSidechain=True),
        said("t", "s", "first answer", isSidechain=True),
        line("u", None, "second task", isSidechain=True),
        line("g", None, "agent task", isSidechain=True, agentId="abc"),
        said("b", "a", "done"),
        name="s.jsonl",
    )
    found = imported("claude-code", path)
    words = {name: [m.content for m in s.messages] for name, s in found.sessions.items()}
    assert words == {
        "s": ["main", "done"],
        "s.sidechain-1": ["second task"],
        "s.sidechain-2": ["first task", "first answer"],
        "s.agent-abc": ["agent task"],
    }
    assert found.sessions["s.agent-abc"].meta["parent_session"] == "s"
    assert "parent_session" not in found.sessions["s"].meta
    assert found.report.imported == 6


@pytest.mark.parametrize("name", [f"{MAIN}/subagents/agent-a1.jsonl", "agent-a1.jsonl"])
def test_the_file_of_an_agent_belongs_to_its_session(
    name: str, imported: Import, source: Write
) -> None:
    """New files lie below the session's folder, old ones name the session in their lines."""
    path = source(line("a", None, "task", isSidechain=True, agentId="a1"), name=name)
    about = {"agentType": "Explore", "description": "予算を探す", "depth": 1}
    path.with_suffix(".meta.json").write_bytes(orjson.dumps(about))
    found = imported("claude-code", path)
    assert found.session.session_id == f"{MAIN}.agent-a1"
    assert found.session.title == "予算を探す"
    assert found.session.meta["parent_session"] == MAIN
    assert found.session.meta["agentType"] == "Explore"


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([{"type": "summary", "summary": "T", "leafUuid": "a"}], "T"),
        ([{"type": "summary", "summary": "T"}], "T"),
        ([{"type": "summary", "summary": "T", "leafUuid": "of another file"}], ""),
        ([{"type": "ai-title", "aiTitle": "A"}, {"type": "summary", "summary": "T", "leafUuid": "a"}], "A"),
        ([{"type": "custom-title", "customTitle": "予算"}, {"type": "ai-title", "aiTitle": "A"}], "予算"),
        ([{"type": "summary", "summary": None}], ""),
        ([], ""),
    ],
)  # fmt: skip
def test_a_title_is_the_person_s_own_before_any_other(
    lines: list[dict[str, Any]], title: str, imported: Import, source: Write
) -> None:
    """A summary line may belong to another file: then its leaf is not here."""
    found = imported("claude-code", source(line("a", None, "hello"), *lines))
    assert found.session.title == title


def test_damaged_and_foreign_lines_are_reported_and_nothing_else_is_lost(
    imported: Import, source: Write
) -> None:
    """Five bad lines of five kinds, each with its number; the two good ones are joined."""
    path = source(
        line("a", None, "one"),
        b'{"type": "user", "uuid": ',
        b"",
        b"42",
        b'["a"]',
        line("a", None, "one"),
        said("b", "a", "two"),
    )
    found = imported("claude-code", path)
    assert [content for _, content in found.said] == ["one", "two"]
    assert dict(found.report.skipped) == {
        "damaged line": 1,
        "blank line": 1,
        "not an object": 2,
        "repeated line": 1,
    }
    assert [number for number, _ in found.findings] == [2, 4, 5]
    assert found.report.read == 7


def test_unknown_blocks_and_lost_parents_are_told(imported: Import, source: Write) -> None:
    """What is not understood is kept, what is missing is counted."""
    block = {"type": "hologram", "data": "x"}
    path = source(line("a", "gone", [block, {"type": "text", "text": "see"}]), said("b", "a", "ok"))
    found = imported("claude-code", path)
    assert found.messages[0].blocks == (block,)
    assert [what for _, what in found.findings] == [
        "1 block of unknown type 'hologram' kept as found",
        "file: parents of 1 line not in the file",
    ]


@pytest.mark.parametrize(
    "identity", ["a", "AAAAAAAA-bbbb-cccc-dddd-eeeeeeeeeeee", "予", "00 11", "0" * 32, "-"]
)
def test_ids_of_any_spelling_link_lines(identity: str, imported: Import, source: Write) -> None:
    """However an id is written, a child finds its parent by it."""
    path = source(line(identity, None, "one"), said("z", identity, "two"))
    found = imported("claude-code", path)
    assert [content for _, content in found.said] == ["one", "two"]
    assert not found.findings


def test_a_message_nested_beyond_any_limit_is_imported(imported: Import, source: Write) -> None:
    """A hostile tool input does not stop the file."""
    deep = b"[" * 900 + b'"x"' + b"]" * 900
    body = orjson.dumps(line("a", None, [{"type": "tool_use", "id": "t", "name": "n", "input": {"a": 7}}],
                             kind="assistant", message_id="m"))  # fmt: skip
    path = source(body.replace(b'{"a":7}', b'{"a":' + deep + b"}"), said("b", "a", "ok"))
    found = imported("claude-code", path)
    assert found.messages[1].content == "ok"
    assert found.messages[0].blocks[0]["name"] == "n"


EDGE = {
    # what each crafted file shows, its words read off the file by eye
    "dag_fork.jsonl": ["Start", "Reply 1", "Middle", "Fork from c", "Forked reply", "End of s3"],
    "dag_within_fork.jsonl": [
        "Hello",
        "Hi there",
        "Fork point",
        "Branch 2 start",
        "Branch 2 reply",
    ],
    "dag_resume.jsonl": [
        *("Start", "Reply 1", "Continue", "Reply 2", "Last in s1"),
        *("Resume here", "Resumed reply", "End of s2"),
    ],
    "hook_attachments.jsonl": ["Run the test suite", "Running tests."],
}


@pytest.mark.parametrize("name", EDGE)
def test_crafted_trees_give_the_branch_of_the_newest_line(
    name: str, imported: Import, shared_data: Path
) -> None:
    """Forks, resumed sessions and hooks beside the thread."""
    found = imported("auto", shared_data / "claude-code" / "edge" / name)
    assert [message.content for message in found.messages] == EDGE[name]


REAL = (
    "258c7280-ae70-4798-800f-63464d01a85d.jsonl",
    "ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
    "subagent.jsonl",
    "tool_heavy.jsonl",
    "short.jsonl",
)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, parsed by nothing of ours."""
    return [orjson.loads(one) for one in path.read_bytes().split(b"\n") if one.strip()]


@pytest.mark.parametrize("name", REAL)
def test_a_real_session_keeps_every_api_message_and_every_tool_pair(
    name: str, imported: Import, shared_data: Path
) -> None:
    """The ids of API messages and calls are counted in the file by themselves, no branch left out."""
    path = shared_data / "claude-code" / name
    found = imported("auto", path)
    assert found.report.read == len(lines_of(path))
    wanted_ids, wanted_calls = Counter[str](), Counter[str]()
    for one in lines_of(path):
        if one.get("type") == "assistant" and not one.get("isSidechain"):
            blocks = [
                b for b in one["message"]["content"] if b.get("text") or b.get("type") != "text"
            ]
            if any(b["type"] != "thinking" or b["thinking"] for b in blocks):
                wanted_ids[one["message"]["id"]] = 1
            wanted_calls.update(b["id"] for b in blocks if b["type"] == "tool_use")
    assistants = [m for m in found.messages if m.role == "assistant"]
    assert Counter(m.message_id for m in assistants) == wanted_ids
    assert Counter(call for m in assistants for call in call_ids(m)) == wanted_calls
    made: set[str] = set()
    for message in found.messages:
        made |= call_ids(message)
        assert result_ids(message) <= made


@pytest.mark.parametrize("name", REAL[:2])
def test_a_real_compaction_leaves_no_seam(name: str, imported: Import, shared_data: Path) -> None:
    """Both files hold one boundary: the raw view has no summary, the recorded view one more message."""
    path = shared_data / "claude-code" / name
    raw, recorded = imported("auto", path), imported("auto", path, view="recorded")
    assert sum(one.get("subtype") == "compact_boundary" for one in lines_of(path)) == 1
    assert raw.report.skipped["injected summary"] == 1
    assert not raw.findings
    summaries = [m for m in recorded.messages if m.meta.get("compaction_summary")]
    assert len(summaries) == 1
    assert summaries[0].content.startswith("This session is being continued")
    assert [m.with_(seq=0) for m in recorded.messages if m is not summaries[0]] == [
        m.with_(seq=0) for m in raw.messages
    ]


def test_no_real_message_is_a_product_s_own_words(imported: Import, shared_data: Path) -> None:
    """No user message of the samples begins with a tag of the product or an interruption."""
    found = imported("auto", shared_data / "claude-code")
    typed = [m.content for s in found.sessions.values() for m in s.messages if m.role == "user"]
    assert typed
    openings = ("<command-name>", "<local-command", "<system-reminder>", "[Request interrupted")
    assert [words for words in typed if words.startswith(openings)] == []
    assert not found.report.failures


def test_a_folder_of_real_sessions_is_imported_twice_without_a_change(
    imported: Import, shared_data: Path
) -> None:
    """All files, agents of both layouts among them; the second time nothing is written."""
    first = imported("auto", shared_data / "claude-code")
    second = imported("auto", shared_data / "claude-code", out=first.out)
    assert first.report.files == 23
    assert set(second.report.outcomes) == {"unchanged"}
    assert second.sessions == first.sessions
    agents = [name for name in first.sessions if ".agent-" in name]
    assert "258c7280-ae70-4798-800f-63464d01a85d.agent-a881341" in agents
