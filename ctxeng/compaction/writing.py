"""Ask for a summary, look at it through the guards, and make it an artifact."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxeng.compaction.guards import check_summary, drifted
from ctxeng.compaction.models import summary_prompt
from ctxeng.compaction.state import State
from ctxeng.core.artifacts import Artifact, ArtifactKind
from ctxeng.core.errors import CompactionFailed
from ctxeng.core.messages import Message
from ctxeng.core.protocols import Cutter, Summariser, Summary, SummaryTask, TokenCounter
from ctxeng.core.settings import StrategySettings

SHORT_INPUT_TOKENS = 400  # below this a note may be as long as what it notes
REDRAFT_REPLICATE = 1000  # added for the second draft of a summary that drifted
NO_WORDS = "(no words)"
CUT_MARK = " […cut…] "
SHORTEST_CUT = 200  # characters: shorter messages are not what makes an input too long


async def _unwatched(_: State) -> None:
    """Check nothing: nobody else changes the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What writing an artifact needs.

    Args:
        check: awaited before every call of a model; raises Conflict where the state that is about
            to be sent must not be compacted any more: edited, redacted, deleted, to be kept raw.
    """

    settings: StrategySettings
    summariser: Summariser
    counter: TokenCounter
    replicate: int = 0
    window_tokens: int = 150_000
    cutter: Cutter | None = None
    check: Callable[[State], Awaitable[None]] = _unwatched


async def write_summary(
    state: State,
    tools: Tools,
    task: SummaryTask,
    *,
    kind: ArtifactKind,
    level: int = 0,
    version: int = 1,
    read_from: int,
    read_to: int,
    parents: Sequence[str] = (),
) -> Artifact:
    """Return a new artifact for a task; nothing is stored yet.

    Raises:
        CompactionFailed: a guard refused the summary.
        Conflict: the state is not to be compacted any more.
        ModelError: the call failed.
    """
    task = replace(task, replicate=tools.replicate, conversation_id=state.conversation_id)
    if not tools.summariser.lossless:  # the product's own instructions are no part of the talk
        task = replace(task, messages=tuple(m for m in task.messages if m.role != "system"))
    summary, meta = await _guarded(state, tools, task)
    from_seq, to_seq = task.core_from_seq, task.core_to_seq
    return Artifact(
        artifact_id=f"{state.conversation_id}/{kind}/{level}/{from_seq}-{to_seq}/v{version}",
        conversation_id=state.conversation_id,
        kind=kind,
        level=level,
        from_seq=from_seq,
        to_seq=to_seq,
        read_from_seq=read_from,
        read_to_seq=read_to,
        parents=tuple(parents),
        visible_from_seq=state.visible_from(tools.settings),
        version=version,
        text=summary.text,
        tokens=tools.counter.count(summary.text),
        model=summary.model,
        prompt_hash=summary.prompt_hash,
        lossless=tools.summariser.lossless,
        meta=meta,
    )


async def _guarded(state: State, tools: Tools, task: SummaryTask) -> tuple[Summary, dict[str, Any]]:
    source = "\n".join([task.previous or "", *task.parts, *(m.text for m in task.messages)])
    if tools.summariser.lossless:
        return await _asked(state, tools, task), {}
    if not source.strip():
        return _no_words(tools), {}
    task, cut = _within_window(task, tools)
    given = tools.counter.count(summary_prompt(task))
    if given > tools.window_tokens:
        raise CompactionFailed(
            "input_too_long", f"{given} tokens, the summariser takes {tools.window_tokens}"
        )
    summary = await _asked(state, tools, task)
    meta: dict[str, Any] = {"input_tokens": given, "call": summary.call_key}
    if cut:
        meta["cut_messages"] = cut
    if drifted(summary.text, [source]):
        again = await _asked(
            state, tools, replace(task, replicate=task.replicate + REDRAFT_REPLICATE)
        )
        meta["language_drift"] = 1 if not drifted(again.text, [source]) else 2
        summary = again if meta["language_drift"] == 1 else summary
    room = max(task.target_tokens * 2, SHORT_INPUT_TOKENS)
    check_summary(summary.text, source, counter=tools.counter, room_tokens=room)
    return summary, meta


async def _asked(state: State, tools: Tools, task: SummaryTask) -> Summary:
    await tools.check(state)
    return await tools.summariser.summarise(task)


def _within_window(task: SummaryTask, tools: Tools) -> tuple[SummaryTask, int]:
    """Return the task with its longest messages cut until the summariser takes it, and how many.

    A pasted log must not hold up everything that was said after it.
    """
    limit = max((len(m.text) for m in task.messages), default=0)
    fitting = task
    while (
        limit > SHORTEST_CUT and tools.counter.count(summary_prompt(fitting)) > tools.window_tokens
    ):
        limit //= 2
        fitting = replace(task, messages=tuple(_cut(m, limit) for m in task.messages))
    return fitting, sum(a is not b for a, b in zip(task.messages, fitting.messages, strict=True))


def _cut(message: Message, characters: int) -> Message:
    text = message.text
    if len(text) <= characters:
        return message
    end = characters // 3
    return message.with_(content=text[: characters - end] + CUT_MARK + text[-end:], blocks=())


def _no_words(tools: Tools) -> Summary:
    """Return the note about messages that say nothing: no model is asked, and none can refuse."""
    return Summary(text=NO_WORDS, model="none", prompt_hash=tools.summariser.prompt_hash)
