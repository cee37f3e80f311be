"""Gemini CLI session files: one JSON object with its messages, tool results inside the calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import first_text, joined, listed, mapped, moment, text_of
from ctxeng.harness.probes.model import Probe


class GeminiCliImporter(Importer):
    """Reads Gemini CLI sessions."""

    name: ClassVar[str] = "gemini-cli"

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for an object with a session id, a project hash and messages."""
        first = sample.first
        return 0.95 if "sessionId" in first and isinstance(first.get("messages"), list) else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every object in the file."""
        for position, raw in enumerate(listed(source.json)):
            session = mapped(raw)
            turns = Turns(account)
            for message in listed(session.get("messages")):
                _take(mapped(message), turns)
            name = text_of(session.get("sessionId")) or f"{source.path.stem}-{position}"
            yield turns.draft(name, origin="Gemini CLI")


def _take(message: Mapping[str, Any], turns: Turns) -> None:
    role = role_of(message.get("type"))
    if role not in ("user", "assistant"):
        turns.account.skip(f"no message: {text_of(message.get('type'))[:40] or 'without a type'}")
        return
    calls = [mapped(call) for call in listed(message.get("toolCalls"))]
    thoughts = [mapped(thought) for thought in listed(message.get("thoughts"))]
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": joined(
            (text_of(t.get("subject")), text_of(t.get("description"))))}
        for t in thoughts
    ]  # fmt: skip
    blocks += [
        {
            "type": "tool_use",
            "id": text_of(call.get("id")),
            "name": text_of(call.get("name")),
            "input": mapped(call.get("args")),
        }
        for call in calls
    ]
    at = moment(message.get("timestamp"))
    meta = {"model": model} if (model := text_of(message.get("model"))) else {}
    kept = turns.add(
        role,
        _text(message.get("content")),
        blocks=blocks,
        timestamp=at,
        message_id=text_of(message.get("id")),
        meta=meta,
    )
    results = [_result(call) for call in calls if "result" in call or "resultDisplay" in call]
    if kept and results:
        turns.follow("tool", blocks=results, timestamp=moment(calls[-1].get("timestamp")) or at)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return joined(
            part if isinstance(part, str) else text_of(mapped(part).get("text")) for part in content
        )
    return text_of(content)


def _result(call: Mapping[str, Any]) -> dict[str, Any]:
    found = []
    for part in listed(call.get("result")):
        response = mapped(mapped(mapped(part).get("functionResponse")).get("response"))
        found.append(first_text(response, "output", "error", "content", "result"))
    text = joined(found) or text_of(call.get("resultDisplay"))
    failed = call.get("status") in ("error", "cancelled")
    result = {"type": "tool_result", "tool_use_id": text_of(call.get("id")), "content": text}
    return result | ({"is_error": True} if failed else {})
