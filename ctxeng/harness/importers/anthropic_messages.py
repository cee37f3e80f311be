"""Anthropic Messages API: request logs, one request with its response a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ctxeng.core.messages import Message, Role
from ctxeng.harness.importers.anthropic_blocks import Content, read_content, result_text
from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, View
from ctxeng.harness.importers.request_logs import Exchange, sessions_of
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import first_text, listed, mapped, text_of
from ctxeng.harness.probes.model import Probe

_BLOCKS = ("tool_use", "tool_result", "thinking", "compaction", "server_tool_use")


class AnthropicMessagesImporter(Importer):
    """Reads Messages API logs, server-side compaction included."""

    name: ClassVar[str] = "anthropic-messages"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl")

    def detect(self, sample: Sample) -> float:
        """Return the confidence by the response's type and the blocks of the messages."""
        records = [sample.first] if sample.first else list(sample.objects[:10])
        return max((_likeness(record) for record in records), default=0.0)

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every longest request."""
        exchanges = []
        for place, record in json_records(source, account):
            name = f"{source.path.stem}-{place:05d}"
            exchange = _exchange(record, name, options.view)
            if exchange.asked:
                exchanges.append(exchange)
            else:
                account.skip("no messages")
                account.note("a record without messages", line=place)
        yield from sessions_of(exchanges, account, origin="Anthropic Messages log")


def _likeness(record: Mapping[str, Any]) -> float:
    request, response = _halves(record)
    if response.get("type") == "message" and isinstance(response.get("content"), list):
        return 0.95
    if not isinstance(request.get("messages"), list):
        return 0.0
    kinds = {
        text_of(mapped(block).get("type"))
        for message in request["messages"]
        for block in listed(mapped(message).get("content"))
    }
    if kinds & set(_BLOCKS):
        return 0.9
    return 0.65 if "max_tokens" in request and "system" in request else 0.0


def _halves(record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    request = mapped(record.get("request")) or mapped(record.get("body")) or dict(record)
    return request, mapped(record.get("response"))


def _exchange(record: Mapping[str, Any], name: str, view: View) -> Exchange:
    request, response = _halves(record)
    asked = _messages(listed(request.get("messages")), view)
    answer = _messages([response], view) if response.get("content") else []
    meta: dict[str, Any] = {}
    if model := first_text(request, "model"):
        meta["model"] = model
    if system := result_text(request.get("system")):
        meta["system"] = system
    return Exchange(name=name, asked=tuple(asked), answer=answer[0] if answer else None, meta=meta)


def _messages(raws: Sequence[Any], view: View) -> list[Message]:
    found: list[Message] = []
    for raw in raws:
        message = mapped(raw)
        role = role_of(message.get("role"))
        if role is None:
            continue
        content, is_summary = _content(message.get("content"), view, has_history=bool(found))
        meta: dict[str, Any] = {"compaction_summary": True} if is_summary else {}
        own_role: Role = "tool" if content.only_results and role == "user" else role
        if content.text or content.blocks:
            found.append(
                Message(
                    seq=len(found),
                    role=own_role,
                    content=content.text,
                    message_id=text_of(message.get("id")) or None,
                    blocks=tuple(content.blocks),
                    meta=meta,
                )
            )
    return found


def _content(value: Any, view: View, *, has_history: bool) -> tuple[Content, bool]:
    """Read a content; a server-side summary stays where it is wanted or all there is."""
    blocks = value if isinstance(value, list) else [value]
    summaries = [b for b in blocks if mapped(b).get("type") == "compaction"]
    if not summaries:
        return read_content(value), False
    keep = view == "recorded" or not has_history
    content = read_content([b for b in blocks if mapped(b).get("type") != "compaction"])
    if keep:
        content.texts[:0] = [result_text(mapped(block).get("content")) for block in summaries]
    return content, keep
