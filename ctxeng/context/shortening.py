"""Cut a text that is too long, on grapheme borders, with a visible mark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import regex

from ctxeng.core.messages import JsonBlock, Message

MARK = " […cut…] "
_GRAPHEME = regex.compile(r"\X")


def shorten(text: str, *, room_tokens: int, count: Callable[[str], int]) -> str:
    """Return the text cut in the middle so that it fits; the head keeps two thirds.

    Returns the mark alone when not even a grapheme fits beside it, and "" for no room at all.
    """
    if count(text) <= room_tokens:
        return text
    if room_tokens <= 0:
        return ""
    if count(MARK) >= room_tokens:
        return MARK.strip()
    graphemes = _GRAPHEME.findall(text)
    low, high = 0, len(graphemes)
    while low < high:
        middle = (low + high + 1) // 2
        if count(_cut(graphemes, middle)) <= room_tokens:
            low = middle
        else:
            high = middle - 1
    return _cut(graphemes, low) if low else MARK.strip()


def shorten_message(message: Message, *, room_tokens: int, count: Callable[[str], int]) -> Message:
    """Return a message whose text fits: tool results give way first, then the words.

    The tool structure stays: every call and result keeps its id.
    """
    if count(message.text) <= room_tokens:
        return message
    results = [i for i, b in enumerate(message.blocks) if _is_result(b)]
    blocks = list(message.blocks)
    for i in results:
        others = count(replace(message, blocks=_emptied(blocks, i)).text)
        blocks[i] = {
            **blocks[i],
            "content": shorten(
                _result_text(blocks[i]), room_tokens=max(0, room_tokens - others), count=count
            ),
        }
    shorter = replace(message, blocks=tuple(blocks))
    if count(shorter.text) <= room_tokens:
        return shorter
    rest = count(replace(shorter, content="").text)
    content = shorten(message.content, room_tokens=max(0, room_tokens - rest), count=count)
    return replace(shorter, content=content)


def _cut(graphemes: list[str], kept: int) -> str:
    tail = kept // 3
    end = graphemes[len(graphemes) - tail :] if tail else []
    return "".join(graphemes[: kept - tail]) + MARK + "".join(end)


def _is_result(block: JsonBlock) -> bool:
    return str(block.get("type", "")).endswith("tool_result")


def _result_text(block: JsonBlock) -> str:
    content = block.get("content", "")
    return content if isinstance(content, str) else str(content)


def _emptied(blocks: list[JsonBlock], index: int) -> tuple[JsonBlock, ...]:
    return tuple({**b, "content": ""} if i == index else b for i, b in enumerate(blocks))
