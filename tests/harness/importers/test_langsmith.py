"""LangSmith runs: threads out of batches, exports and lines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.importers.conftest import Import, Imported, Write
from tests.support.foreign_chats import LANGSMITH

SAID = [
    ("system", "Be brief."),
    ("user", "Which port?"),
    ("assistant", ""),
    ("tool", ""),
    ("assistant", "Port 5433."),
]


def merged() -> list[dict[str, Any]]:
    """Return the runs complete, as an export has them."""
    runs = {run["id"]: dict(run) for run in LANGSMITH["post"]}
    for run in LANGSMITH["patch"]:
        runs[run["id"]] |= run
    return list(runs.values())


@pytest.fixture(params=["batches", "list", "lines", "wrapped"])
def thread(request: pytest.FixtureRequest, imported: Import, source: Write) -> Imported:
    """Return the import of the same runs in each of the shapes they come in."""
    runs = merged()[::-1]
    values = {"batches": [LANGSMITH], "list": [runs], "lines": runs, "wrapped": [{"runs": runs}]}
    name = "x.jsonl" if request.param == "lines" else "x.json"
    return imported("auto", source(*values[request.param], name=name))


def test_a_thread_is_the_longest_call_and_its_answer(thread: Imported) -> None:
    """Runs in any order; calls that repeat the history are merged, tools stand in it already."""
    assert thread.report.format == "langsmith"
    assert thread.said == SAID
    assert list(thread.sessions) == ["t-1"]
    assert thread.session.title == "agent"
    assert thread.session.meta["model"] == "m-1"
    call, result = thread.messages[2].blocks[0], thread.messages[3].blocks[0]
    assert call == {"type": "tool_use", "id": "c1", "name": "lookup", "input": {"q": "port"}}
    assert (result["tool_use_id"], result["content"]) == ("c1", "5433")


def test_every_run_is_accounted_for(imported: Import, source: Write) -> None:
    """Seven records: three complete others, two calls are one, two runs are no calls."""
    report = imported("auto", source(LANGSMITH, name="x.json")).report
    assert (report.read, report.imported, report.merged) == (7, 1, 4)
    assert report.skipped == {"no message: chain": 1, "no message: tool": 1}


def test_a_trace_without_model_calls_is_told_by_its_root(imported: Import, source: Write) -> None:
    """A chain's own input and output are a question and an answer."""
    run = {"id": "a", "trace_id": "a", "run_type": "chain", "dotted_order": "1", "name": "qa",
           "inputs": {"question": "予算は？"}, "outputs": {"answer": "3,000円"}}  # fmt: skip
    found = imported("auto", source([run], name="x.json"))
    assert found.said == [("user", "予算は？"), ("assistant", "3,000円")]


def test_a_failed_run_is_told(imported: Import, source: Write) -> None:
    """The error stands in the findings, the other runs are kept."""
    runs = [*merged(), {"id": "z", "trace_id": "r1", "run_type": "tool", "dotted_order": "9",
                        "error": "timeout", "extra": {"metadata": {"thread_id": "t-1"}}}]  # fmt: skip
    found = imported("auto", source(runs, name="x.json"))
    assert found.said == SAID
    assert [what for _, what in found.findings] == ["run z failed"]


def test_outputs_that_repeat_the_history_give_the_last_message(
    imported: Import, source: Write
) -> None:
    """Graphs return the whole state."""
    human, ai = {"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello"}
    run = {"id": "a", "trace_id": "a", "run_type": "chain", "dotted_order": "1",
           "inputs": {"messages": [human]}, "outputs": {"messages": [human, ai]}}  # fmt: skip
    found = imported("auto", source([run], name="x.json"))
    assert found.said == [("user", "Hi"), ("assistant", "Hello")]
