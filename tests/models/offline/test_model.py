"""The offline model plays every role from the prompt alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ctxeng.compaction.models import (
    MEMORY_TOOL,
    ModelDistiller,
    ModelSummariser,
    summary_prompt,
)
from ctxeng.core.artifacts import MemoryItem
from ctxeng.core.errors import EmptyAnswer
from ctxeng.core.messages import Message
from ctxeng.core.protocols import DistillTask, SummaryTask
from ctxeng.models.offline import OFFLINE, VERSION, OfflineModel
from tests.generators import histories
from tests.support.calls import request

TALK = (
    Message(seq=0, role="user", content="Hello there.", speaker="Mira"),
    Message(seq=1, role="user", content="We decided to use PX-2291.", speaker="Mira"),
    Message(seq=2, role="assistant", content="予算は三千円までです。", speaker="佐伯"),
)


def episode(messages: tuple[Message, ...], target: int = 40) -> SummaryTask:
    """Return the task of summarising all of the messages."""
    return SummaryTask(
        kind="episode",
        messages=messages,
        core_from_seq=0,
        core_to_seq=len(messages) - 1,
        target_tokens=target,
    )


async def test_the_reader_answers_from_system_memory_and_history() -> None:
    """Memory stands in the system text; other system text is instruction, not evidence."""
    asked = request(
        "Which rack does Mira prefer?",
        system=(
            {"type": "text", "text": "The rack that Mira should prefer is gold."},
            {"type": "text", "text": "<memory>\nMira prefers the blue rack.\n</memory>"},
        ),
        messages=(
            {"role": "user", "content": [{"type": "text", "text": "Mira: Lunch was good."}]},
            {"role": "user", "content": "Which rack does Mira prefer?"},
        ),
    )
    response = await OfflineModel().complete(asked)
    assert response.text == "Mira prefers the blue rack."
    assert (response.model, response.stop_reason) == (VERSION, "end_turn")
    assert response.latency_seconds == 0
    assert response.usage.input_tokens > response.usage.output_tokens > 0


async def test_what_goes_into_a_tool_is_output_too() -> None:
    """An item of a dozen words is more than the one token of an empty text."""
    asked = request(
        '<episode from="0" to="5">Mira: We must stay below 1,850 dollars for the racks.</episode>',
        role="distiller",
        tool=MEMORY_TOOL,
    )
    response = await OfflineModel().complete(asked)
    assert response.tool_input is not None
    assert len(response.tool_input["items"]) == 1
    assert response.usage.output_tokens > 20


@pytest.mark.parametrize(
    "messages",
    [
        (),
        ({"role": "user", "content": []},),
        ({"role": "user", "content": ""},),
        ({"role": "user", "content": "What is the budget?"},),
    ],
)
async def test_a_prompt_without_evidence_is_answered_unknown(messages: tuple[dict, ...]) -> None:
    """An empty prompt is no crash."""
    response = await OfflineModel().complete(request(messages=messages))
    assert response.text == "UNKNOWN"


async def test_the_judge_declines_to_judge() -> None:
    """The offline model decides nothing about answers."""
    response = await OfflineModel().complete(request(role="judge", tool={"name": "verdict"}))
    assert response.tool_input == {
        "verdict": "undecided",
        "reason": "the offline model does not judge",
    }
    assert response.stop_reason == "tool_use"


async def test_the_summariser_writes_what_the_prompt_asks_for() -> None:
    """Driven through the summariser that production uses."""
    summary = await ModelSummariser(OfflineModel(), OFFLINE).summarise(episode(TALK, 25))
    assert summary.text == "Mira: We decided to use PX-2291. 佐伯: 予算は三千円までです。"
    assert summary.model == VERSION


@pytest.mark.parametrize("messages", [(), (Message(seq=0, role="user", content=" \n"),)])
async def test_nothing_to_summarise_is_an_empty_answer_and_not_an_empty_text(
    messages: tuple[Message, ...],
) -> None:
    """No client of ours returns an empty answer as text, and none is stored."""
    asked = request(summary_prompt(episode(messages)), role="summariser", prompt_id="episode@1")
    with pytest.raises(EmptyAnswer):
        await OfflineModel().complete(asked)


async def test_the_distiller_merges_through_the_memory_tool() -> None:
    """Driven through the distiller that production uses: the old item stays, a new one joins."""
    old = MemoryItem(item_id="a1", kind="preference", text="blue racks", speaker="Mira")
    task = DistillTask(
        previous=(old,),
        texts=("佐伯: 予算は三千円までです。",),
        sources=((6, 11),),
        speakers=("Mira", "佐伯"),
    )
    merged = await ModelDistiller(OfflineModel(), OFFLINE).distil(task)
    assert merged.items[0] == old
    assert [(i.kind, i.text, i.speaker) for i in merged.items[1:]] == [
        ("constraint", "予算は三千円までです。", "佐伯")
    ]
    assert merged.items[1].source_seqs == (6, 7, 8, 9, 10, 11)


async def test_the_drafter_and_the_reader_answer_alike() -> None:
    """Every role without a task of its own reads and answers."""
    asked = {"messages": ({"role": "user", "content": "The id is PX-2291."},
                          {"role": "user", "content": "Which id?"})}  # fmt: skip
    reader = await OfflineModel().complete(request(**asked))
    drafter = await OfflineModel().complete(request(role="drafter", **asked))
    assert reader.text == drafter.text == "The id is PX-2291."


@given(histories(min_size=1, max_size=10))
@settings(max_examples=30, deadline=None)
async def test_the_same_prompt_always_gets_the_same_answer(history: list[Message]) -> None:
    """It is deterministic, so one replicate is a measurement."""
    task = episode(tuple(history), 60)
    roles = (("summariser", {}), ("reader", {}), ("distiller", {"tool": MEMORY_TOOL}))
    for role, more in roles:
        asked = request(summary_prompt(task), role=role, prompt_id="episode@1", **more)
        try:
            first = await OfflineModel().complete(asked)
        except EmptyAnswer:
            assert not any(m.text.strip() for m in history)
            continue
        assert await OfflineModel().complete(asked) == first
        assert first.text or first.tool_input is not None
