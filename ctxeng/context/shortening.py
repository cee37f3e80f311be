"""Cut a text that is too long, on grapheme borders, with a visible mark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import regex

from ctxeng.core.messages import JsonBlock, Message, result_text

MARK = " […cut…] "
_GRAPHEME = regex.compile(r"\X")


def shorten(text: str, *, room_tokens: int, count: Callable[[str], int]) -> str:
    """Return the text cut in the middle so that it fits; the head keeps two thirds.

    Where not even a grapheme fits beside the mark, returns the mark alone, or the text itself if
    that is no longer than the mark: what is cut is always seen to be cut.
    """
    if count(text) <= max(room_tokens, count(MARK.strip())):
        return text
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
                result_text(blocks[i]), room_tokens=max(0, room_tokens - others), count=count
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


def _emptied(blocks: list[JsonBlock], index: int) -> tuple[JsonBlock, ...]:
    return tuple({**b, "content": ""} if i == index else b for i, b in enumerate(blocks))
