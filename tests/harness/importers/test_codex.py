"""Codex rollouts and exec streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.pairs import call_ids, result_ids
from tests.harness.importers.conftest import Import, Write

AT = "2026-03-02T09:14:00Z"


def item(**payload: Any) -> dict[str, Any]:
    """Return a line of the item layer."""
    return {"timestamp": AT, "type": "response_item", "payload": payload}


def event(**payload: Any) -> dict[str, Any]:
    """Return a line of the event layer."""
    return {"timestamp": AT, "type": "event_msg", "payload": payload}


def user(text: str) -> dict[str, Any]:
    """Return a user's message item."""
    return item(type="message", role="user", content=[{"type": "input_text", "text": text}])


def assistant(text: str) -> dict[str, Any]:
    """Return an assistant's message item."""
    return item(type="message", role="assistant", content=[{"type": "output_text", "text": text}])


def thought(text: str) -> dict[str, Any]:
    """Return a reasoning item."""
    return item(type="reasoning", summary=[{"type": "summary_text", "text": text}], content=None)


def call(identity: str = "c1", **more: Any) -> dict[str, Any]:
    """Return a function call item."""
    base = {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}'}
    return item(**{**base, "call_id": identity, **more})


def output(value: Any, identity: str = "c1") -> dict[str, Any]:
    """Return the output of a call."""
    return item(type="function_call_output", call_id=identity, output=value)


META = {
    "timestamp": AT,
    "type": "session_meta",
    "payload": {"id": "s-1", "cwd": "/work", "cli_version": "0.40", "instructions": None},
}


def test_a_rollout_is_its_items_in_order(imported: Import, source: Write) -> None:
    """Facts of the session, words, calls with their results and times are kept."""
    path = source(
        META,
        {"timestamp": AT, "type": "turn_context", "payload": {"model": "m"}},
        user("予算は？"),
        call(),
        output("a.txt"),
        assistant("3,000円"),
        name="rollout-x.jsonl",
    )
    found = imported("auto", path)
    assert found.report.format == "codex"
    assert found.session.session_id == "rollout-x"
    assert found.session.meta == {"id": "s-1", "cwd": "/work", "cli_version": "0.40"}
    assert found.said == [
        *(("user", "予算は？"), ("assistant", ""), ("tool", ""), ("assistant", "3,000円"))
    ]
    assert found.messages[1].blocks == (
        {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": ["ls"]}},
    )
    assert found.messages[2].blocks == (
        {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"},
    )
    assert found.messages[0].timestamp is not None
    assert dict(found.report.skipped) == {
        "no message: session_meta": 1,
        "no message: turn_context": 1,
    }


def test_thinking_belongs_to_what_follows_it(imported: Import, source: Write) -> None:
    """Thoughts are merged into the next words or call; encrypted ones and a last one are counted."""
    path = source(
        user("go"),
        thought("first"),
        thought("second"),
        item(type="reasoning", summary=[], content=None, encrypted_content="gAAA"),
        call(),
        output("x"),
        thought("third"),
        assistant("done"),
        thought("aborted"),
    )
    found = imported("codex", path)
    thoughts = [
        [b["thinking"] for b in m.blocks if b["type"] == "thinking"] for m in found.messages
    ]
    assert thoughts == [[], ["first", "second"], [], ["third"]]
    assert dict(found.report.skipped) == {
        "encrypted reasoning": 1,
        "reasoning without an answer": 1,
    }
    assert (found.report.read, found.report.imported, found.report.merged) == (9, 4, 3)


def test_thinking_before_a_person_s_words_waits_for_the_assistant(
    imported: Import, source: Write
) -> None:
    """A turn that was aborted leaves its thought to the next one."""
    found = imported("codex", source(user("a"), thought("hm"), user("b"), assistant("c")))
    assert [len(message.blocks) for message in found.messages] == [0, 0, 1]


def test_words_of_both_layers_are_kept_once(imported: Import, source: Write) -> None:
    """An event with a twin among the items is skipped, wherever the twin stands."""
    path = source(
        event(type="user_message", message="予算は？", kind="plain"),
        user("予算は？"),
        assistant("3,000円"),
        event(type="agent_message", message=" 3,000円 "),
        event(type="agent_reasoning", text="hm"),
        event(type="token_count", info={}),
    )
    found = imported("codex", path)
    assert [content for _, content in found.said] == ["予算は？", "3,000円"]
    assert dict(found.report.skipped) == {
        "same in the item layer": 2,
        "no message: agent_reasoning": 1,
        "no message: token_count": 1,
    }


def test_words_of_the_event_layer_alone_keep_their_places(imported: Import, source: Write) -> None:
    """Old and new events without a twin stand where they were said."""
    path = source(
        event(type="user_message", message="one"),
        assistant("two"),
        event(type="item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "three"}]}),
        event(type="item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": "four"}]}),
        event(type="item_completed", item={"type": "Reasoning", "content": []}),
        assistant("five"),
        event(type="agent_message", message="six"),
    )  # fmt: skip
    found = imported("codex", path)
    assert found.said == [
        *(("user", "one"), ("assistant", "two"), ("user", "three")),
        *(("assistant", "four"), ("assistant", "five"), ("assistant", "six")),
    ]
    assert [message.seq for message in found.messages] == list(range(6))


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        ("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", None, "injected text"),
        ("<user_instructions>Be brief.</user_instructions>", None, "injected text"),
        ("# AGENTS.md instructions for /x\n…", None, "injected text"),
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\n予算は？\n", "予算は？", ""),
        ("# Context from my IDE setup: but nothing asked", "# Context from my IDE setup: but nothing asked", ""),
        ("see <environment_context>x</environment_context>", "see", ""),
        ("", None, "empty message"),
    ],
)  # fmt: skip
def test_only_what_a_person_asked_is_theirs(
    text: str, words: str | None, reason: str, imported: Import, source: Write
) -> None:
    """Context that the product put before or around the request is cut off."""
    found = imported("codex", source(user(text), assistant("ok")))
    assert [content for role, content in found.said if role == "user"] == ([words] if words else [])
    assert dict(found.report.skipped) == ({reason: 1} if reason else {})


def test_an_image_without_words_is_a_message(imported: Import, source: Write) -> None:
    """A pasted screenshot stands as a placeholder with its size."""
    content = [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
    found = imported("codex", source(item(type="message", role="user", content=content)))
    assert found.messages[0].blocks == ({"type": "image", "media_type": "image/png", "bytes": 3},)


@pytest.mark.parametrize(
    ("given_call", "name", "arguments"),
    [
        (call(), "shell", {"command": ["ls"]}),
        (call(arguments="not json"), "shell", {"arguments": "not json"}),
        (call(arguments=""), "shell", {}),
        (call(name=None), "function", {"command": ["ls"]}),
        (item(type="custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin"), "apply_patch", {"arguments": "*** Begin"}),
        (item(type="local_shell_call", call_id="c1", action={"type": "exec"}), "local_shell", {"type": "exec"}),
        (item(type="web_search_call", id="c1", action={"query": "予算"}), "web_search", {"query": "予算"}),
    ],
)  # fmt: skip
def test_every_kind_of_call_is_a_tool_use(
    given_call: Any, name: str, arguments: dict[str, Any], imported: Import, source: Write
) -> None:
    """Arguments may stand under three keys, as text or as an object."""
    found = imported("codex", source(given_call))
    assert found.messages[0].blocks == (
        {"type": "tool_use", "id": "c1", "name": name, "input": arguments},
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ('{"output": "a\\nb", "metadata": {"exit_code": 0}}', "a\nb"),
        ('{"output":"a\\nb","metadata":{"exit_code":0}}', "a\nb"),
        ('{"output":"","metadata":{"exit_code":0}}', ""),
        ('{"output": 5}', '{"output": 5}'),
        ('{"output":"cut', '{"output":"cut'),
        ('{"other": 1}', '{"other": 1}'),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb"),
        ({"content": "a", "success": True}, "a"),
        (None, ""),
    ],
)  # fmt: skip
def test_an_output_is_text_however_it_is_wrapped(
    value: Any, text: str, imported: Import, source: Write
) -> None:
    """A command that printed nothing has an empty output, not the JSON around it."""
    found = imported("codex", source(call(), output(value)))
    assert found.messages[1].blocks[0]["content"] == text


@pytest.mark.parametrize(("view", "count"), [("raw", 2), ("recorded", 3)])
def test_a_compaction_is_kept_only_as_recorded(
    view: str, count: int, imported: Import, source: Write
) -> None:
    """Its summary is marked."""
    compacted = {"type": "compacted", "payload": {"message": "Earlier: …"}}
    found = imported("codex", source(META, user("a"), compacted, assistant("b")), view=view)
    assert len(found.messages) == count
    marked = [m.content for m in found.messages if m.meta.get("compaction_summary")]
    assert marked == ["Earlier: …"] * (count - 2)


def test_unknown_lines_and_items_are_counted_by_kind(imported: Import, source: Write) -> None:
    """Nothing unknown is fatal, and every line is in the account."""
    path = source(
        META,
        {"type": "ghost_snapshot", "payload": {}},
        {},
        item(type="hologram"),
        item(),
        {"type": "response_item", "payload": "text"},
        b"{cut",
        user("a"),
    )
    found = imported("codex", path)
    assert dict(found.report.skipped) == {
        "no message: session_meta": 1,
        "no message: ghost_snapshot": 1,
        "no message: without a type": 1,
        "unknown item: hologram": 1,
        "unknown item: without a type": 2,
        "damaged line": 1,
    }
    assert found.report.read == 8


def test_an_exec_stream_is_read_by_its_items(imported: Import, source: Write) -> None:
    """Commands carry their output: a call and its result come from one line."""
    path = source(
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "item.started", "item": {"id": "i0", "type": "command_execution"}},
        {"type": "item.completed", "item": {"id": "i1", "type": "reasoning", "text": "hm"}},
        {"type": "item.completed", "item": {
            "id": "i2", "type": "command_execution", "command": "ls", "aggregated_output": "a.txt"}},
        {"type": "item.completed", "item": {"id": "i3", "type": "file_change", "changes": []}},
        {"type": "item.completed", "item": {"id": "i4", "type": "agent_message", "text": "done"}},
        {"type": "turn.completed", "usage": {}},
    )  # fmt: skip
    found = imported("auto", path)
    assert [message.role for message in found.messages] == [
        *("assistant", "tool", "assistant", "assistant")
    ]
    assert [b["type"] for b in found.messages[0].blocks] == ["thinking", "tool_use"]
    assert found.messages[0].blocks[1]["input"] == {"command": "ls"}
    assert found.messages[1].blocks[0] == {
        "type": "tool_result",
        "tool_use_id": "i2",
        "content": "a.txt",
    }
    assert found.session.meta == {"id": "t-1"}
    assert (found.report.read, found.report.imported, found.report.merged) == (7, 3, 1)


def test_a_real_exec_stream_is_one_answer(imported: Import, shared_data: Path) -> None:
    """Five lines by eye: a thought and the answer 4."""
    found = imported("auto", shared_data / "codex" / "exec-stream-1.jsonl")
    assert found.said == [("assistant", "4")]
    assert found.report.read == 5


ROLLOUTS = (
    "rollout-2025-09-24T19-22-20-01997e76-d124-7592-9cac-2ec05abbca08.jsonl",
    "rollout-2025-09-24T20-12-23-01997ea4-a70d-7da3-8c20-c736db82a7c5.jsonl",
    "rollout-2025-09-25T08-02-05-0199812e-64f0-7f73-91fc-095dda01c36e.jsonl",
)


@pytest.mark.parametrize("name", ROLLOUTS)
def test_a_real_rollout_is_wholly_accounted_for(
    name: str, imported: Import, shared_data: Path
) -> None:
    """Lines, assistant's words, calls and outputs are counted in the file by themselves."""
    path = shared_data / "codex" / name
    records = [orjson.loads(one) for one in path.read_bytes().split(b"\n") if one.strip()]
    payloads = [r["payload"] for r in records if r["type"] == "response_item"]
    found = imported("auto", path)
    assert found.report.read == len(records)
    assert not found.findings
    assert found.messages[0].role == "user"
    spoken = [m.content for m in found.messages if m.role == "assistant" and m.content]
    assert spoken == [
        p["content"][0]["text"]
        for p in payloads
        if p["type"] == "message" and p["role"] == "assistant"
    ]
    wanted = [p["call_id"] for p in payloads if p["type"] == "function_call"]
    assert [c for m in found.messages for c in call_ids(m)] == wanted
    answered = [p["call_id"] for p in payloads if p["type"] == "function_call_output"]
    assert [c for m in found.messages for c in result_ids(m)] == answered
