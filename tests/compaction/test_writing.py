"""From a task to an artifact: what the summariser is shown, and what is done with its answer."""

from __future__ import annotations

import pytest

from ctxeng.compaction import VerbatimSummariser
from ctxeng.compaction.models import summary_prompt
from ctxeng.compaction.writing import CUT_MARK, NO_WORDS, write_summary
from ctxeng.core.artifacts import Artifact
from ctxeng.core.errors import CompactionFailed, EmptyAnswer
from ctxeng.core.messages import Message
from ctxeng.core.protocols import Summariser, SummaryTask
from tests.compaction.fakes import (
    COUNTER,
    ScriptedSummariser,
    answer,
    call,
    say,
    settings_with,
    state_of,
    talk,
    tools_with,
)

JAPANESE = [
    say(seq, f"予算は{seq}千円までにしましょう。会議室は赤いほうがいいです。") for seq in range(3)
]


async def written(
    messages: list[Message],
    summariser: Summariser,
    *,
    window_tokens: int = 150_000,
    target_tokens: int = 20,
    replicate: int = 0,
) -> Artifact:
    """Return the episode written about messages."""
    tools = tools_with(
        settings_with(), summariser, window_tokens=window_tokens, replicate=replicate
    )
    task = SummaryTask(
        kind="episode",
        messages=tuple(messages),
        core_from_seq=0,
        core_to_seq=len(messages) - 1,
        target_tokens=target_tokens,
    )
    return await write_summary(
        state_of(messages), tools, task, kind="episode", read_from=0, read_to=len(messages) - 1
    )


async def test_an_artifact_says_how_long_it_is_and_what_it_was_made_from() -> None:
    """Tokens by the counter, the prompt's tokens and the call's key in the meta."""
    summariser = ScriptedSummariser("the budget was agreed")
    artifact = await written(talk(4), summariser, replicate=7)
    assert artifact.text == "the budget was agreed"
    assert artifact.tokens == COUNTER.count("the budget was agreed")
    given = COUNTER.count(summary_prompt(summariser.tasks[0]))
    assert artifact.meta == {"input_tokens": given, "call": "k"}
    assert summariser.tasks[0].replicate == 7


@pytest.mark.parametrize(
    ("answers", "text", "tries", "drift"),
    [
        (["予算は三千円です"], "予算は三千円です", 1, None),
        (["the budget", "予算は三千円です"], "予算は三千円です", 2, 1),
        (["the budget", "still English"], "the budget", 2, 2),
    ],
)
async def test_a_summary_in_another_script_is_asked_for_once_more(
    answers: list[str], text: str, tries: int, drift: int | None
) -> None:
    """The second try has a key of its own; when it drifts too, the first stays and is flagged."""
    summariser = ScriptedSummariser(*answers)
    artifact = await written(JAPANESE, summariser, replicate=2)
    assert artifact.text == text
    assert [t.replicate for t in summariser.tasks] == [2, 1002][:tries]
    assert artifact.meta.get("language_drift") == drift


@pytest.mark.parametrize(
    ("text", "reason"), [("  ", "empty"), ("word " * 3000, "longer_than_input")]
)
async def test_a_guard_refuses_what_is_no_summary(text: str, reason: str) -> None:
    """Nothing is returned that could be stored."""
    with pytest.raises(CompactionFailed) as refused:
        await written(talk(4), ScriptedSummariser(text))
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("target_tokens", "words", "passes"),
    [(20, 320, True), (20, 321, False), (300, 480, True), (300, 481, False)],
)
async def test_a_note_may_be_as_long_as_twice_its_target_or_400_tokens(
    target_tokens: int, words: int, passes: bool
) -> None:
    """Words of four letters and a space: 320 are 400 tokens, 480 are 600."""
    text = "word " * words
    try:
        await written(talk(2), ScriptedSummariser(text), target_tokens=target_tokens)
    except CompactionFailed:
        assert not passes
    else:
        assert passes


async def test_a_model_error_passes_through() -> None:
    """The caller tells a failed call from a refused summary."""
    with pytest.raises(EmptyAnswer):
        await written(talk(4), ScriptedSummariser(EmptyAnswer("nothing")))


async def test_messages_without_words_get_a_note_without_a_call() -> None:
    """Blank messages hold nothing up: no model could say anything about them."""
    blank = [Message(seq=seq, role="user", content=" \n") for seq in range(3)]
    summariser = ScriptedSummariser(EmptyAnswer("nothing"))
    artifact = await written(blank, summariser)
    assert (artifact.text, artifact.model) == (NO_WORDS, "none")
    assert summariser.tasks == []


async def test_a_pasted_log_is_cut_for_the_summariser_and_short_messages_are_not() -> None:
    """The longest messages give way until the window takes the prompt; ends are kept."""
    log = say(1, f"first line {'x' * 40_000} last line")
    summariser = ScriptedSummariser()
    artifact = await written([say(0), log, say(2)], summariser, window_tokens=1_000)
    assert artifact.meta["cut_messages"] == 1
    assert artifact.meta["input_tokens"] <= 1_000
    before, shown, later = summariser.tasks[0].messages
    assert (before, later) == (say(0), say(2))
    assert shown.text.startswith("first line x")
    assert shown.text.endswith("x last line")
    assert CUT_MARK in shown.text


async def test_a_long_tool_result_is_cut_as_text() -> None:
    """What a tool returned counts as the message's text."""
    result = answer(1, "a").with_(
        blocks=({"type": "tool_result", "tool_use_id": "a", "content": "행 " * 20_000},)
    )
    summariser = ScriptedSummariser()
    artifact = await written([call(0, "a"), result], summariser, window_tokens=900)
    assert artifact.meta["cut_messages"] == 1
    assert summariser.tasks[0].messages[1].text.startswith("[tool result: 행 행")


async def test_an_input_that_no_cutting_can_fit_is_a_failure() -> None:
    """Too many short messages are not cut to pieces: the reason is stored with the failure."""
    summariser = ScriptedSummariser()
    with pytest.raises(CompactionFailed, match="input_too_long"):
        await written(talk(60), summariser, window_tokens=300)
    assert summariser.tasks == []


async def test_the_lossless_summariser_is_exempt_from_every_guard() -> None:
    """Its input comes back, whatever its length or script."""
    artifact = await written(JAPANESE * 200, VerbatimSummariser(), window_tokens=10)
    assert artifact.lossless
    assert artifact.text.count("会議室は赤いほうがいいです") == 600
    assert artifact.meta == {}
