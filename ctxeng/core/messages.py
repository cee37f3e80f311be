"""Sessions and messages: the value types every floor shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

Role = Literal["user", "assistant", "tool", "system"]
ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "system")

JsonBlock = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    Args:
        seq: 0-based position in its conversation.
        content: the words of the message, tool traffic excluded.
        blocks: non-text content in Anthropic's block shape, in order: ``tool_use`` (id, name,
            input), ``tool_result`` (tool_use_id, content as text, is_error?), and placeholders
            such as ``{"type": "image", "media_type": ..., "bytes": n}``.
        speaker: a name where the source has one; None means the role is all that is known.
        tokens: by the local counter, None until counted.
        revision: 0 for the words as first appended; each edit adds one.
    """

    seq: int
    role: Role
    content: str
    speaker: str | None = None
    timestamp: datetime | None = None
    message_id: str | None = None
    blocks: tuple[JsonBlock, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    tokens: int | None = None
    revision: int = 0

    @property
    def text(self) -> str:
        """Return everything the message says: words, then tool calls and results as text."""
        parts = [self.content] if self.content else []
        parts += [text for block in self.blocks if (text := block_text(block))]
        return "\n".join(parts)

    @property
    def name(self) -> str:
        """Return the speaker's name, or the role where no name is known."""
        return self.speaker or self.role

    def with_(self, **changes: Any) -> Message:
        """Return a copy with the given fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A recorded conversation, complete."""

    session_id: str
    messages: tuple[Message, ...]
    title: str = ""
    language: str = "und"
    origin: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def speakers(self) -> tuple[str, ...]:
        """Return every speaker's name once, in order of first appearance."""
        return tuple(dict.fromkeys(m.name for m in self.messages))


def block_text(block: JsonBlock) -> str:
    """Return a block as readable text; empty for a block that carries no words."""
    match block.get("type"):
        case "text":
            return _flat(block.get("text"))
        case str(kind) if kind.endswith("tool_use"):
            return f"[tool call: {block.get('name') or '?'} {_flat(block.get('input'))}]"
        case str(kind) if kind.endswith("tool_result"):
            return f"[tool result: {_flat(block.get('content'))}]"
        case "thinking" | "redacted_thinking" | None:
            return ""
        case kind:
            about = block.get("media_type") or block.get("file_name") or block.get("title") or ""
            return f"[{kind}{f': {about}' if about else ''}]"


def result_text(block: JsonBlock) -> str:
    """Return what a tool result says, whatever the shape of its content."""
    return _flat(block.get("content"))


def _flat(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _flat_mapping(value)
    if isinstance(value, Sequence):
        return "\n".join(_flat(inner) for inner in value)
    return str(value)


def _flat_mapping(value: Mapping[str, Any]) -> str:
    if value.get("type") == "text" and "text" in value:
        return _flat(value["text"])
    source = value.get("source")
    if isinstance(source, Mapping) and source.get("type") == "base64":  # bytes are no words
        kind = value.get("type") or "file"
        return block_text({"type": kind, "media_type": source.get("media_type")})
    return ", ".join(f"{key}={_flat(inner)}" for key, inner in value.items())
