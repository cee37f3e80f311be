"""Inspect logs: archives, with Zstandard too, and JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.importers.conftest import Import, Write

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

WORDS = "5f" * 16
SAMPLE: dict[str, Any] = {
    "id": "q1", "epoch": 2, "input": "予算は？", "target": "3,000",
    "messages": [
        {"role": "user", "content": f"attachment://{WORDS}", "source": "input"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "think"},
                                          {"type": "text", "text": "I look."}],
         "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}]},
        {"role": "tool", "content": "no such file", "tool_call_id": "c1", "function": "bash",
         "error": {"message": "failed"}},
    ],
    "attachments": {WORDS: "予算は？"},
    "scores": {"match": {"value": "C", "answer": "3,000"}},
    "output": {"choices": [{"message": {"role": "assistant", "content": "3,000円"}}]},
}  # fmt: skip
HEADER = {"version": 2, "status": "success", "eval": {"task": "budget", "model": "m/1"}}


def pack(path: Path, members: dict[str, Any], compression: int) -> Path:
    """Write a log's archive."""
    with zipfile.ZipFile(path, "w", compression=compression) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.fixture(params=["stored", "deflated", "zstandard", "json", "started"])
def log(request: pytest.FixtureRequest, source: Write, tmp_path: Path) -> Path:
    """Return the same log in every form it is found in; one was broken off before its end."""
    if request.param == "json":
        return source({**HEADER, "samples": [SAMPLE]}, name="budget.json")
    kinds = {"deflated": zipfile.ZIP_DEFLATED, "zstandard": zipfile.ZIP_ZSTANDARD}
    name = "_journal/start.json" if request.param == "started" else "header.json"
    members = {name: HEADER, "samples/q1_epoch_2.json": SAMPLE, "summaries.json": []}
    return pack(tmp_path / "budget.eval", members, kinds.get(request.param, zipfile.ZIP_STORED))


def test_a_sample_is_a_session(log: Path, imported: Import) -> None:
    """Attachments stand where they are referred to; thoughts, calls and results are blocks."""
    found = imported("auto", log)
    assert found.report.format == "inspect-ai"
    assert list(found.sessions) == ["budget-q1-2"]
    user, assistant, tool = found.messages
    assert (user.content, assistant.content, tool.role) == ("予算は？", "I look.", "tool")
    assert [b["type"] for b in assistant.blocks] == ["thinking", "tool_use"]
    assert tool.blocks[0]["tool_use_id"] == assistant.blocks[1]["id"] == "c1"
    assert tool.blocks[0]["is_error"] is True
    assert found.session.meta == {"model": "m/1", "target": "3,000", "scores": {"match": "C"}}
    assert found.session.title == "budget"


def test_a_damaged_sample_does_not_lose_the_others(imported: Import, tmp_path: Path) -> None:
    """It is counted and named."""
    members = {
        "header.json": HEADER,
        "samples/a_epoch_1.json": "{cut",
        "samples/b_epoch_1.json": SAMPLE,
    }
    found = imported("auto", pack(tmp_path / "x.eval", members, zipfile.ZIP_DEFLATED))
    assert len(found.sessions) == 1
    assert found.report.skipped["damaged sample"] == 1
    assert any("samples/a_epoch_1.json" in what for _, what in found.findings)


def test_a_sample_without_messages_is_its_input_and_output(imported: Import, source: Write) -> None:
    """Errors and old logs leave no messages."""
    sample = {**SAMPLE, "messages": []}
    found = imported("auto", source({**HEADER, "samples": [sample]}, name="x.json"))
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]


def test_a_real_log_gives_every_epoch(imported: Import, shared_data: Path) -> None:
    """Two samples, two epochs; ids and scores read off the file."""
    found = imported("auto", shared_data / "inspect-ai" / "log_streaming.eval")
    assert sorted(found.sessions) == [
        f"log_streaming-{sample}-{epoch}" for sample in (1, 2) for epoch in (1, 2)
    ]
    assert found.sessions["log_streaming-1-1"].messages[-1].content == "No"
    assert found.sessions["log_streaming-1-1"].meta["scores"] == {"match": "I"}
