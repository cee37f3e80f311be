"""Codex CLI: rollout files, and the event stream of ``codex exec --json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal

from ctxeng.core.messages import Role
from ctxeng.harness.importers.injected import typed
from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.openai_shape import arguments_of, read_message
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import first_text, listed, mapped, moment, text_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.text import parse_json

_LAYERS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_STREAM = ("thread.started", "turn.started", "item.started", "item.completed")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_TWINS = {"user_message": "user", "agent_message": "assistant", "agent_reasoning": "thinking"}
_EDITOR_CONTEXT = "# Context from my IDE setup:"
_EDITOR_REQUEST = "## My request for Codex:"
_ITEMS = {"UserMessage": "user", "AgentMessage": "assistant", "Reasoning": "thinking"}


class CodexImporter(Importer):
    """Reads Codex rollouts and exec streams; told apart by their lines."""

    name: ClassVar[str] = "codex"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def detect(self, sample: Sample) -> float:
        """Return 0.95 where the lines have a rollout's or a stream's types."""
        kinds = [line.get("type") for line in sample.objects[:10]]
        is_rollout = any(k in _LAYERS for k in kinds) and "payload" in sample.objects[0]
        return 0.95 if is_rollout or any(k in _STREAM for k in kinds) else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield the one session of the file."""
        reading = _Reading(turns=Turns(account), keep_summaries=options.view == "recorded")
        for _, record in json_records(source, account):
            reading.record(record)
        reading.finish()
        yield reading.turns.draft(source.path.stem, origin="Codex CLI", meta=reading.meta)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Echo:
    """Words of the event layer; ``place`` is how many messages came before."""

    place: int
    role: Literal["user", "assistant"]
    text: str
    at: datetime | None


class _Reading:
    """One file under way. Thinking waits for the message it led to."""

    def __init__(self, *, turns: Turns, keep_summaries: bool) -> None:
        self.turns = turns
        self.keep_summaries = keep_summaries
        self.meta: dict[str, Any] = {}
        self.thoughts: list[str] = []
        self.said: set[tuple[str, str]] = set()
        self.echoes: list[_Echo] = []

    def record(self, record: Mapping[str, Any]) -> None:
        """Take one line."""
        kind, payload = text_of(record.get("type")), mapped(record.get("payload"))
        if kind == "response_item":
            self._item(payload, record)
        elif kind == "event_msg":
            self._event(payload, record)
        elif kind == "session_meta":
            for name in ("id", "cwd", "cli_version", "originator"):
                if value := text_of(payload.get(name)):
                    self.meta[name] = value
            self.turns.account.skip("no message: session_meta")
        elif kind == "compacted":
            self._compacted(payload, record)
        elif kind.startswith("item."):
            self._streamed(kind, mapped(record.get("item")))
        else:
            if kind == "thread.started" and (thread := text_of(record.get("thread_id"))):
                self.meta["id"] = thread
            self.turns.account.skip(f"no message: {kind[:40] or 'without a type'}")

    def finish(self) -> None:
        """Keep what only the event layer said, at its place; the rest is the same twice."""
        self.turns.account.skip("reasoning without an answer", len(self.thoughts))
        alone = [echo for echo in self.echoes if (echo.role, echo.text) not in self.said]
        self.turns.account.skip("same in the item layer", len(self.echoes) - len(alone))
        for echo in reversed(alone):
            self.turns.insert(echo.place, echo.role, echo.text, timestamp=echo.at)

    def _item(self, item: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        kind = text_of(item.get("type"))
        if kind == "message":
            self._message(item, record)
        elif kind == "reasoning":
            self._think(item)
        elif kind in _CALLS:
            self._call(item, kind, record)
        elif kind.endswith("_output"):
            self._output(item, record)
        else:
            self.turns.account.skip(f"unknown item: {kind[:40] or 'without a type'}")

    def _message(self, item: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        message = read_message(item)
        if message is None:
            self.turns.account.skip("empty message")
            return
        self.said.add((message.role, message.content.strip()))
        text, meta = message.content, {}
        if message.role == "user":
            found = typed(_request(text))
            if not found.text and not message.blocks:
                self.turns.account.skip(found.reason)
                return
            text = found.text
            if found.injected:
                meta["injected"] = list(found.injected)
        self._say(message.role, text, record, blocks=list(message.blocks), meta=meta)

    def _say(
        self,
        role: Role,
        text: str,
        record: Mapping[str, Any],
        *,
        blocks: list[Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        blocks = blocks or []
        if role == "assistant" and self.thoughts:
            blocks = [*({"type": "thinking", "thinking": t} for t in self.thoughts), *blocks]
            self.turns.merged += len(self.thoughts)
            self.turns.account.merge(len(self.thoughts))
            self.thoughts = []
        at = moment(record.get("timestamp"))
        self.turns.add(role, text, blocks=blocks, timestamp=at, meta=meta)

    def _think(self, item: Mapping[str, Any]) -> None:
        parts = [*listed(item.get("summary")), *listed(item.get("content"))]
        thought = "\n\n".join(t for part in parts if (t := text_of(mapped(part).get("text"))))
        if thought:
            self.thoughts.append(thought)
        else:
            self.turns.account.skip("encrypted reasoning")

    def _call(self, item: Mapping[str, Any], kind: str, record: Mapping[str, Any]) -> None:
        arguments = item.get("arguments", item.get("input", item.get("action")))
        call = {
            "type": "tool_use",
            "id": first_text(item, "call_id", "id"),
            "name": text_of(item.get("name")) or kind.removesuffix("_call"),
            "input": arguments_of(arguments),
        }
        self._say("assistant", "", record, blocks=[call])

    def _output(self, item: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        text = _output_text(item.get("output"))
        call = first_text(item, "call_id", "id")
        result = {"type": "tool_result", "tool_use_id": call, "content": text}
        at = moment(record.get("timestamp"))
        self.turns.add("tool", "", blocks=[result], timestamp=at)

    def _event(self, event: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        kind = text_of(event.get("type"))
        text = first_text(event, "message", "text")
        role = _TWINS.get(kind, "")
        if kind == "item_completed":
            item = mapped(event.get("item"))
            role = _ITEMS.get(text_of(item.get("type")), "")
            text = "\n\n".join(text_of(mapped(p).get("text")) for p in listed(item.get("content")))
        if role in ("user", "assistant") and text.strip():
            self.echoes.append(
                _Echo(
                    place=len(self.turns.messages),
                    role="user" if role == "user" else "assistant",
                    text=text.strip(),
                    at=moment(record.get("timestamp")),
                )
            )
        else:
            self.turns.account.skip(f"no message: {kind[:40] or 'event'}")

    def _compacted(self, payload: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        text = text_of(payload.get("message"))
        if self.keep_summaries and text:
            self._say("user", text, record, meta={"compaction_summary": True})
        else:
            self.turns.account.skip("injected summary")

    def _streamed(self, kind: str, item: Mapping[str, Any]) -> None:
        item_kind = text_of(item.get("type"))
        if kind != "item.completed":
            self.turns.account.skip(f"no message: {kind[:40]}")
        elif item_kind == "reasoning":
            self.thoughts.append(text_of(item.get("text")))
        elif item_kind in ("agent_message", "user_message", "message"):
            spoken: Role = "user" if item_kind == "user_message" else "assistant"
            self._say(role_of(item.get("role")) or spoken, text_of(item.get("text")), {})
        else:
            self._streamed_tool(item, item_kind)

    def _streamed_tool(self, item: Mapping[str, Any], kind: str) -> None:
        """Take a command with its output: a call and, joined to its record, the result."""
        call = text_of(item.get("id"))
        given = {k: v for k, v in item.items() if k not in ("id", "type", "aggregated_output")}
        block = {"type": "tool_use", "id": call, "name": kind or "unknown", "input": given}
        self._say("assistant", "", {}, blocks=[block])
        if output := text_of(item.get("aggregated_output")):
            result = {"type": "tool_result", "tool_use_id": call, "content": output}
            self.turns.follow("tool", blocks=[result])


def _output_text(value: Any) -> str:
    """Return the output of a call: text, parts, or JSON text that wraps the output."""
    if isinstance(value, str) and value.startswith('{"output"'):
        try:
            inner = mapped(parse_json(value.encode("utf-8", "replace")))
        except ValueError:
            return value
        output = inner.get("output")
        return output if isinstance(output, str) else value
    if isinstance(value, list):
        return "\n".join(text_of(mapped(part).get("text")) for part in value)
    return text_of(value) if not isinstance(value, dict) else first_text(value, "content", "output")


def _request(text: str) -> str:
    """Return what a person asked, without the editor's account of open files before it."""
    if not text.startswith(_EDITOR_CONTEXT) or _EDITOR_REQUEST not in text:
        return text
    return text.partition(_EDITOR_REQUEST)[2].strip()
