"""Read one line of a Claude Code file: what kind it is, and the part of a message it carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ctxeng.harness.importers.anthropic_blocks import Content, read_content
from ctxeng.harness.importers.injected import typed
from ctxeng.harness.importers.values import mapped, text_of
from ctxeng.harness.sessions.records import parse_timestamp
from ctxeng.harness.sessions.text import clean

_USAGE = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)

TALK = frozenset({"assistant", "user", "attachment", "system"})
"""Types of lines that can be messages, or say themselves why they are none."""


@dataclass(slots=True, kw_only=True)
class Line:
    """What a line means.

    ``record`` is the canonical message without its seq; None where the line is no message, and
    ``reason`` says why.
    """

    record: dict[str, Any] | None = None
    reason: str = ""
    group: str = ""
    calls: tuple[str, ...] = ()
    answers: str = ""
    is_summary: bool = False
    at: datetime | None = None
    unknown: Sequence[str] = ()

    def told(self) -> tuple[object, ...]:
        """Return what tells a message's line from any other of its moment, its own id apart."""
        if self.record is None:
            return ()
        blocks = [
            str(block.get("id") or block.get("tool_use_id") or block.get("thinking") or block)
            for block in self.record.get("blocks", ())
        ]
        return (self.group, self.record["role"], self.record["content"], *blocks)


def read_line(record: Mapping[str, Any]) -> Line:
    """Return what a line means."""
    kind = record.get("type")
    if kind == "assistant":
        return _assistant(record)
    if kind == "user":
        return _user(record)
    if kind == "attachment":
        return _attachment(record)
    at = parse_timestamp(record.get("timestamp"))
    if kind == "system":
        return Line(reason=f"system: {text_of(record.get('subtype')) or 'note'}", at=at)
    return Line(reason=f"no message: {text_of(kind)[:40] or 'without a type'}", at=at)


def _assistant(record: Mapping[str, Any]) -> Line:
    message = mapped(record.get("message"))
    if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):
        return Line(reason="product notice", at=parse_timestamp(record.get("timestamp")))
    content = read_content(message.get("content"))
    identity = text_of(message.get("id"))
    meta: dict[str, Any] = {}
    if model := text_of(message.get("model")):
        meta["model"] = model
    usage = mapped(message.get("usage"))
    if counted := {key: usage[key] for key in _USAGE if isinstance(usage.get(key), int)}:
        meta["usage"] = counted
    line = _line(record, "assistant", content, meta, identity or text_of(record.get("uuid")))
    line.group = identity
    line.calls = tuple(
        [block["id"] for block in content.blocks if block["type"].endswith("tool_use")]
    )
    return line


def _user(record: Mapping[str, Any]) -> Line:
    if record.get("isMeta"):
        return Line(reason="injected text", at=parse_timestamp(record.get("timestamp")))
    content = read_content(mapped(record.get("message")).get("content"))
    meta: dict[str, Any] = {}
    reason = "empty message"
    is_summary = bool(record.get("isCompactSummary"))
    if is_summary:
        meta["compaction_summary"] = True
    elif content.texts:
        reason = _only_typed(content, meta) or reason
    role = "tool" if content.only_results else "user"
    line = _line(record, role, content, meta, text_of(record.get("uuid")))
    line.is_summary = is_summary
    line.answers = next((str(b["tool_use_id"]) for b in content.blocks if "tool_use_id" in b), "")
    if line.record is None:
        line.reason = reason
    return line


def _only_typed(content: Content, meta: dict[str, Any]) -> str:
    """Leave only what a person typed among the texts; return why nothing is left."""
    found = [typed(text) for text in content.texts]
    content.texts = [part.text for part in found if part.text]
    injected = [text for part in found for text in part.injected]
    if injected:
        meta["injected"] = injected
    return next((part.reason for part in found if part.reason), "")


def _attachment(record: Mapping[str, Any]) -> Line:
    attachment = mapped(record.get("attachment"))
    kind = text_of(attachment.get("type")) or "unknown"
    prompt = attachment.get("prompt")
    if kind != "queued_command" or attachment.get("commandMode") == "task-notification":
        reason = f"attachment: {kind[:40]}"
        return Line(reason=reason, at=parse_timestamp(record.get("timestamp")))
    content = read_content(prompt)
    meta: dict[str, Any] = {"queued": True}
    reason = _only_typed(content, meta)
    line = _line(record, "user", content, meta, text_of(record.get("uuid")))
    line.reason = reason or "empty message"
    return line


def _line(
    record: Mapping[str, Any], role: str, content: Content, meta: dict[str, Any], identity: str
) -> Line:
    at = parse_timestamp(record.get("timestamp"))
    text = content.text
    if "\x00" in text or text.startswith("\ufeff"):
        text = clean(text)
    if not content.blocks and not text.strip():
        return Line(reason="empty message", at=at, unknown=content.unknown)
    canonical: dict[str, Any] = {"role": role, "content": text}
    if at is not None:
        canonical["timestamp"] = at
    if identity:
        canonical["message_id"] = identity
    if content.blocks:
        canonical["blocks"] = content.blocks
    if meta:
        canonical["meta"] = meta
    return Line(record=canonical, at=at, unknown=content.unknown)
