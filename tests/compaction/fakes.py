"""Histories, states and scripted models for the tests of compaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ctxeng.compaction.state import State
from ctxeng.compaction.writing import Tools
from ctxeng.core.artifacts import Artifact, ArtifactKind, MemoryItem
from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.messages import Message, Role
from ctxeng.core.protocols import Distillation, DistillTask, Summariser, Summary, SummaryTask
from ctxeng.core.settings import StrategySettings
from ctxeng.store import Conversation
from ctxeng.tokens import HeuristicCounter

COUNTER = HeuristicCounter()


def say(seq: int, content: str = "", role: Role | None = None, **more: Any) -> Message:
    """Return a message; users speak at even seqs unless a role is given."""
    content = content or f"statement {seq} about the budget"
    role = role or ("user" if seq % 2 == 0 else "assistant")
    return Message(seq=seq, role=role, content=content, tokens=COUNTER.count(content), **more)


def talk(size: int) -> list[Message]:
    """Return so many messages in turns, 7 tokens each up to seq 9 and 8 from there."""
    return [say(seq) for seq in range(size)]


def call(seq: int, *ids: str) -> Message:
    """Return an assistant message that makes tool calls."""
    blocks = tuple({"type": "tool_use", "id": i, "name": "read", "input": {"p": "a"}} for i in ids)
    return say(seq, "I look it up", "assistant", blocks=blocks)


def answer(seq: int, *ids: str) -> Message:
    """Return a tool message that answers calls."""
    blocks = tuple({"type": "tool_result", "tool_use_id": i, "content": "予算 1,850"} for i in ids)
    return Message(seq=seq, role="tool", content="", blocks=blocks, tokens=5)


def settings_with(**tables: dict[str, Any]) -> StrategySettings:
    """Return settings with an empty window, some tables changed."""
    window = {"tokens": 0, "min_messages": 0}
    return StrategySettings.model_validate({"window": window, **tables})


def artifact(kind: ArtifactKind, from_seq: int, to_seq: int, **more: Any) -> Artifact:
    """Return an artifact for a range."""
    level, version = more.get("level", 0), more.get("version", 1)
    fields: dict[str, Any] = {
        "artifact_id": f"c/{kind}/{level}/{from_seq}-{to_seq}/v{version}",
        "conversation_id": "c",
        "read_from_seq": from_seq,
        "read_to_seq": to_seq,
        "visible_from_seq": to_seq,
        "text": f"note on {from_seq} to {to_seq}",
        "tokens": 5,
        "model": "scripted",
        "prompt_hash": "h",
    }
    return Artifact(kind=kind, from_seq=from_seq, to_seq=to_seq, **(fields | more))


def state_of(
    messages: Sequence[Message], *written: Artifact, old_until: int | None = None, **head: Any
) -> State:
    """Return a state; everything is old unless a border is given."""
    fields: dict[str, Any] = {
        "conversation_id": "c",
        "user_id": None,
        "project_id": None,
        "keep_raw": False,
        "language": "en",
        "last_seq": len(messages) - 1,
        "stamp": len(messages),
        "created_at": datetime(2026, 3, 1, tzinfo=UTC),
    }
    return State(
        conversation=Conversation(**(fields | head)),
        messages=tuple(messages),
        old_until=len(messages) if old_until is None else old_until,
        written=written,
    )


class ScriptedSummariser:
    """Gives the scripted answers in turn, the last one for ever; an error is raised."""

    lossless = False
    prompt_hash = "h"

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers) or ["a short note"]
        self.tasks: list[SummaryTask] = []

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the next answer."""
        self.tasks.append(task)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Summary(text=answer, model="scripted", prompt_hash=self.prompt_hash, call_key="k")


class ScriptedDistiller:
    """Keeps the old items and adds the scripted ones of each turn."""

    lossless = False
    prompt_hash = "h"

    def __init__(self, *turns: Sequence[MemoryItem]) -> None:
        self.turns = list(turns)
        self.tasks: list[DistillTask] = []

    async def distil(self, task: DistillTask) -> Distillation:
        """Return the previous items and the next turn's."""
        self.tasks.append(task)
        fresh = self.turns.pop(0) if self.turns else ()
        return Distillation(items=(*task.previous, *fresh), model="scripted", prompt_hash="h")


class ScriptedClient:
    """A model client that gives one answer and remembers what it was asked."""

    def __init__(self, text: str = "", tool_input: dict[str, Any] | None = None) -> None:
        self.response = ModelResponse(text=text, tool_input=tool_input, model="m-1", key="k")
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the answer."""
        self.requests.append(request)
        return self.response


def tools_with(
    settings: StrategySettings, summariser: Summariser | None = None, **more: Any
) -> Tools:
    """Return what writing needs, with a scripted summariser unless another is given."""
    return Tools(
        settings=settings,
        summariser=summariser or ScriptedSummariser(),
        counter=COUNTER,
        **more,
    )
