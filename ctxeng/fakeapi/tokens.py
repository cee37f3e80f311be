"""What a prompt weighs, block by block, by the local estimate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from ctxeng.tokens import HeuristicCounter

BLOCK_TOKENS = 3  # what stands around a block: role, kind, borders
_COUNTER = HeuristicCounter()


def prompt_blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield everything cacheable in the API's order: tools, system, messages.

    ``cache_control`` of the whole request counts as a mark on the last block.
    """
    blocks = list(_blocks(body))
    if body.get("cache_control") and blocks:
        blocks[-1] = {**blocks[-1], "cache_control": body["cache_control"]}
    yield from blocks


def _blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from body.get("tools", ())
    yield from _as_blocks(body.get("system", ()))
    for message in body["messages"]:
        for block in _as_blocks(message["content"]):
            yield {**block, "role": message["role"]}


def _as_blocks(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def block_tokens(block: Mapping[str, Any]) -> int:
    """Return the tokens of one block."""
    if block.get("type") == "text":
        return _COUNTER.count(block["text"]) + BLOCK_TOKENS
    content = {k: v for k, v in block.items() if k not in ("cache_control", "role")}
    return _COUNTER.count(orjson.dumps(content).decode()) + BLOCK_TOKENS


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """Return the input tokens of a request."""
    return sum(block_tokens(block) for block in prompt_blocks(body))


def text_tokens(text: str) -> int:
    """Return the tokens of a text, at least one."""
    return max(1, _COUNTER.count(text))
