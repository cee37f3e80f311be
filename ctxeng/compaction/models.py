"""A summariser and a distiller that ask a language model."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ctxeng.compaction.prompts import prompt_hash, prompt_id, prompt_text, prompts_hash
from ctxeng.core.artifacts import MemoryItem, MemoryKind, MemoryScope
from ctxeng.core.calls import ModelClient, ModelRequest, ModelResponse
from ctxeng.core.errors import EmptyAnswer, MalformedTool
from ctxeng.core.markup import nest, wrap
from ctxeng.core.messages import Message
from ctxeng.core.protocols import Distillation, DistillTask, Summary, SummaryTask

MEMORY_TOOL_NAME = "record_memory"
OUTPUT_SLACK = 2.0  # max_tokens over the wanted length: models count differently


class ModelSummariser:
    """Compresses by a model call; the product's own system prompt is never part of it."""

    lossless = False

    def __init__(
        self, client: ModelClient, model: str, *, extra: Mapping[str, Any] | None = None
    ) -> None:
        self._client = client
        self._model = model
        self._extra = dict(extra or {})
        self.prompt_hash = prompts_hash()

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the model's summary.

        Raises:
            EmptyAnswer: no text came back.
        """
        response = await self._client.complete(self._request(task))
        if not response.text.strip():
            raise EmptyAnswer(f"summary of {task.core_from_seq}-{task.core_to_seq} must hold text.")
        return Summary(
            text=response.text.strip(),
            model=response.model,
            prompt_hash=prompt_hash(task.kind),
            call_key=response.key,
        )

    def _request(self, task: SummaryTask) -> ModelRequest:
        return ModelRequest(
            role="summariser",
            model=self._model,
            system=(_system(task.kind, task.target_tokens, task.language),),
            messages=({"role": "user", "content": summary_prompt(task)},),
            max_tokens=int(task.target_tokens * OUTPUT_SLACK) + 64,
            prompt_id=prompt_id(task.kind),
            replicate=task.replicate,
            extra=self._extra,
            subject=task.conversation_id,
        )


class ModelDistiller:
    """Merges memory by a forced tool call with a strict schema."""

    lossless = False

    def __init__(
        self,
        client: ModelClient,
        model: str,
        *,
        target_tokens: int = 800,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._client = client
        self._model = model
        self._target_tokens = target_tokens
        self._extra = dict(extra or {})
        self.prompt_hash = prompts_hash()

    async def distil(self, task: DistillTask) -> Distillation:
        """Return the merged snapshot.

        Raises:
            MalformedTool: the tool input breaks its schema.
        """
        response = await self._client.complete(self._request(task))
        answer = _parsed(response)
        return Distillation(
            items=merge_items(task, answer.items),
            model=response.model,
            prompt_hash=prompt_hash("memory"),
            call_key=response.key,
        )

    def _request(self, task: DistillTask) -> ModelRequest:
        return ModelRequest(
            role="distiller",
            model=self._model,
            system=(_system("memory", self._target_tokens, task.language),),
            messages=({"role": "user", "content": distil_prompt(task, self._target_tokens)},),
            tool=MEMORY_TOOL,
            max_tokens=int(self._target_tokens * OUTPUT_SLACK) + 400,
            prompt_id=prompt_id("memory"),
            replicate=task.replicate,
            extra=self._extra,
            subject=task.conversation_id,
        )


class MemoryEntry(BaseModel):
    """One item as the tool takes it."""

    model_config = ConfigDict(extra="forbid")

    kind: MemoryKind
    text: str = Field(min_length=1)
    scope: MemoryScope = "conversation"
    speaker: str | None = None
    confidence: float = Field(default=1.0, ge=0, le=1)
    sources: list[int] = Field(default_factory=list)
    replaces: str | None = None
    keeps: str | None = None


class MemoryAnswer(BaseModel):
    """The whole tool input."""

    model_config = ConfigDict(extra="forbid")

    items: list[MemoryEntry]


MEMORY_TOOL: dict[str, Any] = {
    "name": MEMORY_TOOL_NAME,
    "description": (
        "Record the whole long-term memory: items that still hold (with the id they keep) and new "
        "items (with the id they replace, where they change one)."
    ),
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["items"],
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["kind", "text", "scope", "confidence", "sources"],
                    "properties": {
                        "kind": {
                            "type": "string",
                            "enum": [
                                "preference", "rejection", "project", "constraint", "business_rule",
                                "style", "repeated_decision", "stable_fact", "intent", "anchor",
                            ],
                        },
                        "text": {"type": "string"},
                        "scope": {"type": "string", "enum": ["conversation", "project", "user"]},
                        "speaker": {"type": ["string", "null"]},
                        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                        "sources": {"type": "array", "items": {"type": "integer"}},
                        "replaces": {"type": ["string", "null"]},
                        "keeps": {"type": ["string", "null"]},
                    },
                },
            }
        },
    },
}  # fmt: skip


def summary_prompt(task: SummaryTask) -> str:
    """Return the user turn of a summariser's call."""
    parts = []
    if task.previous is not None:
        parts.append(wrap("previous", task.previous))
    if task.messages:
        parts.append(transcript(task.messages, core_from=task.core_from_seq))
    parts += [wrap("node", text, place=i) for i, text in enumerate(task.parts)]
    parts.append(wrap("section", str(task.target_tokens), name="target_tokens"))
    return "\n".join(parts)


def distil_prompt(task: DistillTask, target_tokens: int) -> str:
    """Return the user turn of a distiller's call."""
    items = "\n".join(
        wrap("item", i.text, id=i.item_id, kind=i.kind, status=i.status, scope=i.scope,
             speaker=i.speaker)
        for i in task.previous if i.status == "active"
    )  # fmt: skip
    notes = "\n".join(
        wrap("episode", text, **{"from": low, "to": high})
        for text, (low, high) in zip(task.texts, task.sources, strict=True)
    )
    length = wrap("section", str(target_tokens), name="target_tokens")
    return "\n".join([nest("memory", items), nest("episodes", notes), length])


def transcript(messages: Sequence[Message], *, core_from: int) -> str:
    """Return messages as tagged lines; those before ``core_from`` are marked as overlap."""
    lines = [
        wrap(
            "message",
            message.text,
            seq=message.seq,
            speaker=message.name,
            role=message.role,
            overlap="yes" if message.seq < core_from else None,
        )
        for message in messages
    ]
    return nest("transcript", "\n".join(lines))


def merge_items(task: DistillTask, entries: Sequence[MemoryEntry]) -> tuple[MemoryItem, ...]:
    """Return the new snapshot: nothing of the old one is deleted, only marked superseded.

    An old item that the answer neither keeps nor replaces stays as it is: a model that forgets to
    repeat an item does not erase it. What had been given up and is said again is a new item.
    """
    old = {item.item_id: item for item in task.previous}
    active = {item.item_id: item for item in task.previous if item.status == "active"}
    by_text = {(i.kind, _folded(i.text), i.speaker): i for i in active.values()}
    covered = [seq for low, high in task.sources for seq in (low, high)]
    low, high = (min(covered), max(covered)) if covered else (0, 0)
    fresh: dict[str, MemoryItem] = {}
    for entry in entries:
        if not entry.text.strip():
            continue
        item = active.get(entry.keeps or "") or by_text.get(
            (entry.kind, _folded(entry.text), entry.speaker)
        )
        if item is None:
            item = _fresh_item(entry, low, high, taken=old)
            item = fresh.setdefault(item.item_id, item)
        replaced = active.get(entry.replaces or "")
        holds = old.get(item.item_id, item).status == "active"
        if replaced is not None and replaced.item_id != item.item_id and holds:
            old[replaced.item_id] = replace(
                replaced, status="superseded", superseded_by=item.item_id
            )
    return (*old.values(), *fresh.values())


def _fresh_item(entry: MemoryEntry, low: int, high: int, *, taken: Collection[str]) -> MemoryItem:
    """Return a new item on one line, so that it cannot pass for several; its id is not taken."""
    sources = tuple(sorted({seq for seq in entry.sources if low <= seq <= high}))
    item_id = _item_id(entry, sources or (low, high))
    while item_id in taken:
        item_id = hashlib.sha256(item_id.encode()).hexdigest()[:10]
    return MemoryItem(
        item_id=item_id,
        kind=entry.kind,
        text=" ".join(entry.text.split()),
        scope=entry.scope,
        speaker=entry.speaker,
        confidence_share=entry.confidence,
        source_seqs=sources or tuple(range(low, high + 1)),
    )


def _item_id(entry: MemoryEntry, sources: tuple[int, ...]) -> str:
    body = f"{entry.kind}\0{_folded(entry.text)}\0{entry.speaker}\0{sources}"
    return hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:10]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _parsed(response: ModelResponse) -> MemoryAnswer:
    if response.tool_input is None:
        raise MalformedTool(f"{MEMORY_TOOL_NAME} must be called, got text only.")
    try:
        return MemoryAnswer.model_validate(dict(response.tool_input))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise MalformedTool(f"{MEMORY_TOOL_NAME}.{where}: {first['msg']}.") from None


def _system(name: str, target_tokens: int, language: str) -> dict[str, str]:
    spoken = "the same as the transcript" if language in ("und", "mixed") else language
    text = prompt_text(name).format(target_tokens=target_tokens, language=spoken)
    return {"type": "text", "text": text}
