"""The provider's request as a pure function of a context.

Order is cache-friendly: system text and memory first, up to a breakpoint; after it the time
and what changes more often (summaries, episodes, retrieved groups), then the raw messages, then
the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from ctxeng.core.context import Block, BlockKind, Context
from ctxeng.core.markup import escape, nest, wrap
from ctxeng.core.messages import Message, block_text, result_text

MAX_BREAKPOINTS = 4
_API_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")  # what the provider takes as an id or a name
_ID_KEY = {"tool_use": "id", "tool_result": "tool_use_id"}
_TAG_OF: Mapping[BlockKind, str] = {
    "node": "summary",
    "summary": "summary",
    "episode": "episode",
}


def anthropic_request(context: Context) -> dict[str, Any]:
    """Return ``system``, ``messages`` and, where the product has tools, ``tools``."""
    head = context.of_kind("system", "memory", "now")
    breakpoints = [i for i, block in enumerate(head) if block.cache_breakpoint][-MAX_BREAKPOINTS:]
    request: dict[str, Any] = {
        "system": [_system_block(b, cached=i in breakpoints) for i, b in enumerate(head)],
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
    if block.kind in ("system", "now", "question"):
        return block.text
    return raw_line(block)


def raw_line(block: Block) -> str:
    """Return a raw message as escaped text, led by the speaker's name where one is known."""
    speaker = block.message.speaker if block.message is not None else None
    return escape(f"{speaker}: {block.text}" if speaker else block.text)


def _system_block(block: Block, *, cached: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"type": "text", "text": block_markup(block)}
    if cached:
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
    return _paired(merged)


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
    if message is None or not real_tools or not message.blocks:
        role = message.role if message is not None else "user"
        text = raw_line(block)
        parts = [{"type": "text", "text": text}] if text.strip() else []
        return ("assistant" if role == "assistant" else "user"), parts
    return _with_tools(message)


def _with_tools(message: Message) -> tuple[str, list[dict[str, Any]]]:
    calls: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    said = [message.content] if message.content.strip() else []
    for block in message.blocks:
        if _is_call(block):
            calls.append({key: block[key] for key in ("type", "id", "name", "input")})
        elif block.get("type") == "tool_result" and block.get("tool_use_id"):
            results.append(_result(block))
        elif text := block_text(block).strip():
            said.append(text)
    line = "\n".join(said)
    if line and message.speaker:
        line = f"{message.speaker}: {line}"
    words = [{"type": "text", "text": escape(line)}] if line else []
    role = "assistant" if message.role == "assistant" else "user"
    return role, [*results, *words, *calls]


def _is_call(block: Mapping[str, Any]) -> bool:
    """Return whether the provider would take a block as a tool call."""
    return (
        block.get("type") == "tool_use"
        and isinstance(block.get("input"), Mapping)
        and all(_API_NAME.fullmatch(str(block.get(key, ""))) for key in ("id", "name"))
    )


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    body = {
        "type": "tool_result",
        "tool_use_id": str(block["tool_use_id"]),
        "content": escape(result_text(block)) or "(empty)",
    }
    return {**body, "is_error": True} if block.get("is_error") else body


def _paired(turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the turns with tool traffic as the provider takes it.

    A call stays a call only where its result stands in the very next turn, and results open their
    turn; what has lost its other half (cut away, redacted, never answered) is shown as text.
    """
    paired: list[dict[str, Any]] = []
    seen: set[str] = set()
    open_calls: set[str] = set()
    for turn, following in zip_longest(turns, turns[1:]):
        if turn["role"] == "user":
            parts = _native(turn["content"], "tool_result", open_calls)
            parts.sort(key=lambda part: part["type"] != "tool_result")
        else:
            answered = _tool_ids(following["content"], "tool_result") if following else set()
            open_calls = (_tool_ids(turn["content"], "tool_use") & answered) - seen
            seen |= open_calls
            parts = _native(turn["content"], "tool_use", open_calls)
        paired.append({"role": turn["role"], "content": parts})
    return paired


def _tool_ids(parts: Sequence[Mapping[str, Any]], kind: str) -> set[str]:
    return {str(part[_ID_KEY[kind]]) for part in parts if part["type"] == kind}


def _native(parts: Sequence[dict[str, Any]], kind: str, ids: set[str]) -> list[dict[str, Any]]:
    """Return the parts; tool parts of another kind or id, and repetitions, turned into text."""
    left = set(ids)
    kept: list[dict[str, Any]] = []
    for part in parts:
        if part["type"] == "text":
            kept.append(part)
        elif part["type"] == kind and part[_ID_KEY[kind]] in left:
            left.discard(part[_ID_KEY[kind]])
            kept.append(part)
        else:
            kept.append({"type": "text", "text": escape(block_text(part))})
    return kept


def _add(merged: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    """Append parts, joining messages of one role: the provider wants the roles to take turns."""
    if not parts:
        return
    if merged and merged[-1]["role"] == role:
        merged[-1]["content"].extend(parts)
    else:
        merged.append({"role": role, "content": list(parts)})
