"""Small files in formats of which no real sample is at hand, written from their documentation."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SLACK_USERS = [
    {"id": "U1", "name": "mira", "real_name": "Mira Okafor", "profile": {"display_name": "Mira"}},
    {"id": "U2", "name": "jon", "profile": {"real_name": "Jon Sato", "display_name": ""}},
    {"id": "U3", "name": "deploys", "is_bot": True, "profile": {"real_name": "Deploy Bot"}},
]
SLACK_CHANNELS = [
    {"id": "C1", "name": "launch", "purpose": {"value": "Launch of <#C2>"}, "members": ["U1"]},
    {"id": "C2", "name": "予算", "purpose": {"value": ""}},
]
SLACK: dict[str, Any] = {
    "users.json": SLACK_USERS,
    "channels.json": SLACK_CHANNELS,
    "integration_logs.json": [],
    "launch/2024-03-02.json": [
        {"type": "message", "user": "U2", "ts": "1709370000.000200", "thread_ts": "1709283600.000100",
         "parent_user_id": "U1", "text": "Not red &amp; not pink, please"},
        {"type": "message", "subtype": "thread_broadcast", "user": "U2", "ts": "1709370000.000200",
         "thread_ts": "1709283600.000100", "text": "Not red &amp; not pink, please"},
        {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "Deploys",
         "ts": "1709370060.000300", "text": "",
         "attachments": [{"fallback": "Build 4471 passed"}]},
        {"type": "message", "user": "U1", "ts": "1709370120.000400", "text": "",
         "blocks": [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
             {"type": "text", "text": "ship it "}, {"type": "user", "user_id": "U2"},
             {"type": "emoji", "name": "rocket"}]}]}]},
        "not a message",
    ],
    "launch/2024-03-01.json": [
        {"type": "message", "subtype": "channel_join", "user": "U2", "ts": "1709283000.000001",
         "text": "<@U2> has joined"},
        {"type": "message", "user": "U1", "ts": "1709283600.000100", "reply_count": 1,
         "thread_ts": "1709283600.000100",
         "text": "<@U2> what colour for <https://x.test/p|the page>? see <#C2|予算> <!here>"},
        {"type": "message", "user": "U9", "ts": "1709283660.000150", "text": "",
         "files": [{"name": "plan.pdf", "mimetype": "application/pdf", "size": 20480}]},
    ],
    "予算/2024-03-01.json": [
        {"type": "message", "user": "U3", "ts": "1709283700.000100", "text": "予算は3,000円です"},
    ],
}  # fmt: skip
DISCORD: dict[str, Any] = {
    "guild": {"id": "1", "name": "Boats", "iconUrl": ""},
    "channel": {"id": "2", "type": "GuildTextChat", "name": "rigging", "topic": "Ropes"},
    "dateRange": {"after": None, "before": None},
    "messages": [
        {"id": "10", "type": "Default", "timestamp": "2024-01-15T10:30:00.5+01:00",
         "timestampEdited": None, "content": "Which rope? 🪢",
         "author": {"id": "7", "name": "mira", "nickname": "Mira", "isBot": False},
         "attachments": [{"fileName": "rope.jpg", "fileSizeBytes": 204800}],
         "stickers": [{"name": "wave"}], "embeds": []},
        {"id": "11", "type": "GuildMemberJoin", "content": "Joined the server.",
         "author": {"name": "sam"}},
        {"id": "12", "type": "Reply", "timestamp": "2024-01-15T10:31:00+01:00",
         "content": "12 mm polyester", "author": {"id": "8", "name": "jon", "nickname": None},
         "reference": {"messageId": "10", "channelId": "2"}},
        {"id": "13", "type": "Default", "content": "", "author": {"name": "Tides", "isBot": True},
         "embeds": [{"title": "High water", "description": "14:20",
                     "fields": [{"name": "Height", "value": "4.1 m"}]}]},
    ],
    "messageCount": 4,
}  # fmt: skip
REALTALK: dict[str, Any] = {
    "name": {"speaker_1": "elise", "speaker_2": "Kevin"},
    "session_2": [
        {"clean_text": "It rained in Bergen all week", "speaker": "Elise",
         "date_time": "02.01.2024, 08:00:00", "dia_id": "D2:1", "img_file": [], "img_url": []},
    ],
    "session_1": [
        {"clean_text": "Hey good afternoon", "speaker": "Elise",
         "date_time": "29.12.2023, 10:31:05", "dia_id": "D1:1"},
        {"clean_text": "I adopted a greyhound called Biscuit", "speaker": "Kevin",
         "date_time": "29.12.2023, 10:32:00", "dia_id": "D1:2", "img_file": ["dog.jpg"]},
    ],
    "session_1_date_time": "29.12.2023, 10:31:05",
    "events_session_1": {"agent_a": []},
    "qa": [
        {"question": "What is Kevin's dog called?", "answer": "Biscuit",
         "evidence": ["D1:2"], "category": 1},
        {"question": "Where did it rain?", "answer": "Bergen",
         "evidence": ["It rained in Bergen all week."], "category": 3},
        {"question": "When was it sunny?", "answer": "never", "evidence": ["D9:9"], "category": 2},
    ],
}  # fmt: skip


def _lc(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content, **more}}


LANGSMITH: dict[str, Any] = {
    "post": [
        {"id": "r1", "trace_id": "r1", "name": "agent", "run_type": "chain",
         "dotted_order": "20240101T000000000000Zr1", "start_time": "2024-01-01T00:00:00",
         "inputs": {"input": "Which port?"},
         "extra": {"metadata": {"thread_id": "t-1"}}},
        {"id": "r2", "trace_id": "r1", "parent_run_id": "r1", "name": "ChatModel",
         "run_type": "llm", "dotted_order": "20240101T000000000000Zr1.20240101T000001000000Zr2",
         "inputs": {"messages": [[_lc("SystemMessage", "Be brief."),
                                  _lc("HumanMessage", "Which port?")]]},
         "extra": {"metadata": {"thread_id": "t-1", "ls_model_name": "m-1"}}},
        {"id": "r3", "trace_id": "r1", "parent_run_id": "r1", "name": "lookup",
         "run_type": "tool", "dotted_order": "20240101T000000000000Zr1.20240101T000002000000Zr3",
         "inputs": {"input": "port"}, "outputs": {"output": "5433"},
         "extra": {"metadata": {"thread_id": "t-1"}}},
        {"id": "r4", "trace_id": "r1", "parent_run_id": "r1", "name": "ChatModel",
         "run_type": "llm", "dotted_order": "20240101T000000000000Zr1.20240101T000003000000Zr4",
         "inputs": {"messages": [[
             _lc("SystemMessage", "Be brief."), _lc("HumanMessage", "Which port?"),
             _lc("AIMessage", "", tool_calls=[{"id": "c1", "name": "lookup", "args": {"q": "port"}}]),
             _lc("ToolMessage", "5433", tool_call_id="c1")]]},
         "extra": {"metadata": {"thread_id": "t-1", "ls_model_name": "m-1"}}},
    ],
    "patch": [
        {"id": "r2", "outputs": {"generations": [[{"text": "", "message": _lc(
            "AIMessage", "", tool_calls=[{"id": "c1", "name": "lookup", "args": {"q": "port"}}])}]]}},
        {"id": "r4", "outputs": {"generations": [[{"text": "Port 5433.", "message": _lc(
            "AIMessage", "Port 5433.")}]]}},
        {"id": "r1", "outputs": {"output": "Port 5433."}, "error": None},
    ],
}  # fmt: skip
MARKDOWN = """# Picking a colour

Exported on Monday.

## User

No red, please.

```text
## Assistant
this line is code
```

## Assistant

Noted: **Note:** blue then.

## User

予算は3,000円。
"""


def write_slack(folder: Path, files: Mapping[str, Any] = SLACK) -> Path:
    """Write a Slack export as a folder and return it."""
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return folder


def zip_slack(path: Path, files: Mapping[str, Any] = SLACK) -> Path:
    """Write a Slack export as a zip archive and return it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in files.items():
            archive.writestr(name, json.dumps(value, ensure_ascii=False))
    return path


def write_made(folder: Path) -> dict[str, Path]:
    """Write one file for each of these formats; return them by format."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"slack": zip_slack(folder / "slack.zip")}
    values = {"discord": DISCORD, "realtalk": REALTALK, "langsmith": LANGSMITH}
    for name, value in values.items():
        made[name] = folder / f"{name}.json"
        made[name].write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    made["markdown"] = folder / "markdown.md"
    made["markdown"].write_text(MARKDOWN, "utf-8")
    return made
