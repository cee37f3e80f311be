"""Langfuse traces: chats out of observations, however a tracer wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.importers.conftest import Import, Write


def call(number: int, asked: Any, answer: Any, **more: Any) -> dict[str, Any]:
    """Return a generation."""
    return {
        "id": f"o{number}", "traceId": "t", "type": "GENERATION", "name": "chat",
        "startTime": f"2026-01-01T00:00:{number:02}.000Z", "model": "m",
        "input": asked, "output": answer, **more,
    }  # fmt: skip


def trace(*observations: Any, **about: Any) -> dict[str, Any]:
    """Return an exported trace."""
    return {"trace": {"id": "t", "name": "turn", **about}, "observations": list(observations)}


USER = {"role": "user", "content": "予算は？"}
ANSWER = {"role": "assistant", "content": "3,000円"}
MORE = {"role": "user", "content": "And in euros?"}
SAID = [("user", "予算は？"), ("assistant", "3,000円")]


@pytest.mark.parametrize(
    "asked",
    [
        [USER],
        {"messages": [USER]},
        json.dumps([USER]),
        json.dumps(json.dumps({"messages": [USER]})),
        "user: 予算は？",
        USER,
        "予算は？",
        [{"role": "user", "parts": [{"type": "text", "content": "予算は？"}]}],
    ],
)
@pytest.mark.parametrize(
    "answer",
    [
        ANSWER,
        [ANSWER],
        "3,000円",
        json.dumps(ANSWER),
        {"choices": [{"message": ANSWER}]},
        {"content": "3,000円"},
        {"role": "assistant", "content": [{"type": "text", "text": "3,000円"}]},
    ],
)
def test_a_call_reads_the_same_in_every_shape(
    asked: Any, answer: Any, imported: Import, source: Write
) -> None:
    """Messages, JSON in text up to twice, flat ``role: words``, bare words, choices."""
    assert imported("auto", source(trace(call(1, asked, answer)), name="x.json")).said == SAID


def test_calls_that_repeat_the_history_are_one_session(imported: Import, source: Write) -> None:
    """The longest call is kept, whatever the order of the file; the others are merged."""
    calls = [call(2, [USER, ANSWER, MORE], "About 18 €"), call(1, [USER], ANSWER)]
    found = imported("auto", source(trace(*calls, sessionId="s"), name="x.json"))
    assert found.said == [*SAID, ("user", "And in euros?"), ("assistant", "About 18 €")]
    assert list(found.sessions) == ["s"]
    assert (found.report.imported, found.report.merged) == (1, 1)


def test_calls_that_show_only_what_is_new_are_one_session(imported: Import, source: Write) -> None:
    """Traces of one ``sessionId`` follow each other; a tool's result answers its call."""
    use = {"type": "tool_use", "id": "c1", "name": "rate", "input": {}}
    observations = [
        call(3, {"content": "role"}, {"role": "assistant", "content": [use]}),
        {"type": "TOOL", "name": "rate", "startTime": "2026-01-01T00:00:04Z", "output": "0.006"},
    ]
    later = [call(5, {"content": "role"}, "About 18 €"), call(2, [MORE], None)]
    found = imported(
        "auto",
        source(
            trace(call(1, [USER], ANSWER), *observations, sessionId="s"),
            trace(*later, sessionId="s"),
            name="x.jsonl",
        ),
    )
    assert [m.role for m in found.messages] == [
        *("user", "assistant", "user", "assistant", "tool", "assistant")
    ]
    assert found.messages[4].blocks[0]["tool_use_id"] == "c1"
    assert found.messages[5].content == "About 18 €"
    assert found.report.read == found.report.imported == 5


def test_agents_with_prompts_of_their_own_are_sessions_of_their_own(
    imported: Import, source: Write
) -> None:
    """Two system prompts are two conversations."""
    first = [{"role": "system", "content": "Plan."}, USER]
    second = [{"role": "system", "content": "Write."}, MORE]
    found = imported(
        "auto", source(trace(call(1, first, "a"), call(2, second, "b")), name="x.json")
    )
    assert sorted(found.sessions) == ["t-001", "t-002"]


def test_observations_alone_are_grouped_by_their_trace(imported: Import, source: Write) -> None:
    """As the batch export of observations writes them, one a line."""
    rows = [call(1, [USER], ANSWER), {**call(1, [MORE], "x"), "traceId": "u"}]
    assert sorted(imported("auto", source(*rows, name="x.jsonl")).sessions) == ["t", "u"]


def test_a_trace_without_calls_is_its_own_question_and_answer(
    imported: Import, source: Write
) -> None:
    """Spans alone are not a chat, but the trace says what went in and out."""
    spans = {"type": "SPAN", "name": "step", "startTime": "2026"}
    found = imported(
        "auto",
        source(trace(spans, input={"question": "予算は？"}, output="3,000円"), name="x.json"),
    )
    assert found.said == SAID
    assert found.report.skipped == {"no message: SPAN": 1}


def test_words_of_nothing_are_no_message(imported: Import, source: Write) -> None:
    """Tracers write ``None`` for an answer that was a tool call."""
    flat = "user: 予算は？\nassistant: None\ntool: 3,000"
    found = imported("auto", source(trace(call(1, flat, "None")), name="x.json"))
    assert found.said == [("user", "予算は？"), ("tool", "3,000")]


def test_real_tool_results_keep_their_words(imported: Import, shared_data: Path) -> None:
    """A response that is an object without a type is kept as JSON."""
    path = shared_data / "langfuse" / "csharp-agent-with-gemini-2026-03-09.trace.json"
    (result,) = [m for m in imported("auto", path).messages if m.role == "tool"]
    assert "No data found for dimensions: Campaign" in result.text
