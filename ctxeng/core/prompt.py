"""The provider's request as a pure function of a context.

Order is cache-friendly: system text and memory first, then what changes more often (summaries,
episodes, retrieved groups), then the raw messages, then the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxeng.core.context import Block, BlockKind, Context
from ctxeng.core.markup import escape, nest, wrap
from ctxeng.core.messages import Message

MAX_BREAKPOINTS = 4
_TAG_OF: Mapping[BlockKind, str] = {
    "node": "summary",
    "summary": "summary",
    "episode": "episode",
}


def anthropic_request(context: Context) -> dict[str, Any]:
    """Return ``system``, ``messages`` and, where the product has tools, ``tools``."""
    request: dict[str, Any] = {
        "system": [_system_block(b) for b in context.of_kind("system", "memory")],
        "messages": _messages(context),
    }
    if context.tools:
        request["tools"] = [dict(tool) for tool in context.tools]
    return request


def block_markup(block: Block) -> str:
    """Return a block as the model sees it; raw messages as a line with the speaker's name."""
    if block.kind == "memory":
        return nest("memory", escape(block.text))
    if block.kind in _TAG_OF:
        low, high = (
            (block.message_seqs[0], block.message_seqs[-1]) if block.message_seqs else (0, 0)
        )
        return wrap(_TAG_OF[block.kind], block.text, messages=f"{low}-{high}")
    if block.kind in ("system", "question"):
        return block.text
    return raw_line(block)


def raw_line(block: Block) -> str:
    """Return a raw message as escaped text, led by the speaker's name where one is known."""
    speaker = block.message.speaker if block.message is not None else None
    return escape(f"{speaker}: {block.text}" if speaker else block.text)


def _system_block(block: Block) -> dict[str, Any]:
    body: dict[str, Any] = {"type": "text", "text": block_markup(block)}
    if block.cache_breakpoint:
        body["cache_control"] = {"type": "ephemeral"}
    return body


def _messages(context: Context) -> list[dict[str, Any]]:
    merged: list[dict[str, Any]] = []
    background = _background(context)
    if background:
        _add(merged, "user", [{"type": "text", "text": background}])
    real_tools = bool(context.tools)
    for block in context.of_kind("tail", "recent"):
        role, parts = _raw_parts(block, real_tools=real_tools)
        _add(merged, role, parts)
    pinned = context.of_kind("pinned")
    if pinned:
        _add(merged, "user", [{"type": "text", "text": nest("evidence", _lines(pinned))}])
    for block in context.of_kind("question"):
        _add(merged, "user", [{"type": "text", "text": block.text}])
    if merged and merged[0]["role"] != "user":
        merged.insert(0, {"role": "user", "content": [{"type": "text", "text": "(earlier)"}]})
    return merged


def _background(context: Context) -> str:
    parts = [block_markup(b) for b in context.of_kind("node", "summary")]
    episodes = [block_markup(b) for b in context.of_kind("episode")]
    if episodes:
        parts.append(nest("episodes", "\n".join(episodes)))
    groups: dict[int, list[Block]] = {}
    for block in context.of_kind("retrieved"):
        groups.setdefault(int(block.meta.get("group", 0)), []).append(block)
    if groups:
        inner = "\n".join(nest("group", _lines(blocks)) for blocks in groups.values())
        parts.append(nest("retrieved", inner))
    return "\n".join(parts)


def _lines(blocks: Sequence[Block]) -> str:
    return "\n".join(
        wrap(
            "message",
            block.text,
            seq=block.message_seqs[0] if block.message_seqs else None,
            speaker=block.message.name if block.message is not None else None,
        )
        for block in blocks
    )


def _raw_parts(block: Block, *, real_tools: bool) -> tuple[str, list[dict[str, Any]]]:
    message = block.message
    if message is None or not real_tools or not message.blocks or block.meta.get("unpaired"):
        role = message.role if message is not None else "user"
        text = raw_line(block)
        parts = [{"type": "text", "text": text}] if text.strip() else []
        return ("assistant" if role == "assistant" else "user"), parts
    return _with_tools(message)


def _with_tools(message: Message) -> tuple[str, list[dict[str, Any]]]:
    parts: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for block in message.blocks:
        match str(block.get("type", "")):
            case "tool_use":
                parts.append({k: block[k] for k in ("type", "id", "name", "input")})
            case "tool_result":
                results.append(
                    {
                        "type": "tool_result",
                        "tool_use_id": block["tool_use_id"],
                        "content": escape(str(block.get("content", ""))) or "(empty)",
                    }
                )
    said = f"{message.speaker}: {message.content}" if message.speaker else message.content
    text = [{"type": "text", "text": escape(said)}] if message.content.strip() else []
    role = "assistant" if message.role == "assistant" else "user"
    return role, [*results, *text, *parts]


def _add(merged: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    """Append parts, joining messages of one role: the provider wants the roles to take turns."""
    if not parts:
        return
    if merged and merged[-1]["role"] == role:
        merged[-1]["content"].extend(parts)
    else:
        merged.append({"role": role, "content": list(parts)})
