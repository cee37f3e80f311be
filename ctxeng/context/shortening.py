"""Cut a text that is too long, on grapheme borders, with a visible mark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

import regex

from ctxeng.context.sections import priced
from ctxeng.core.context import Block
from ctxeng.core.messages import JsonBlock, Message, result_text
from ctxeng.retrieval.analyser import analyse


class Cut(Protocol):
    """Cuts a text so that it fits, with a visible mark."""

    def __call__(self, text: str, *, room_tokens: int, count: Callable[[str], int]) -> str: ...


MARK = " […cut…] "
# marks that modify a full stop are one grapheme with it
_SENTENCE = regex.compile(r"[^.!?。！？\n]*(?:[.!?。！？\n]+[\p{M}\u200d]*|$)")
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


def cut_around(
    text: str,
    wanted: Collection[str],
    *,
    room_tokens: int,
    count: Callable[[str], int],
    towards_end: bool = False,
) -> str:
    """Return the sentence that shares most terms with ``wanted`` and what fits around it.

    The first of equals; the text before it and after it is taken in turn. A sentence that is too
    long alone is shortened. What is cut is seen to be cut.

    Args:
        towards_end: where no sentence shares a term, start from the last one instead of the first.
    """
    if count(text) <= room_tokens:
        return text
    sentences = [found for found in _SENTENCE.findall(text) if found]
    shared = [len(_terms(sentence).intersection(wanted)) for sentence in sentences]
    last = towards_end and not any(shared)
    low = len(sentences) - 1 if last else shared.index(max(shared))
    if count(MARK + sentences[low] + MARK) > room_tokens:
        limit = min(room_tokens, count(sentences[low]) - 1)  # so that a mark is set in any case
        cut = shorten(sentences[low], room_tokens=limit, count=count)
        return cut if MARK.strip() in cut else MARK.strip()
    low, high = _grown(sentences, low, room_tokens=room_tokens, count=count)
    kept = "".join(sentences[low:high])
    return (MARK if low else "") + kept + (MARK if high < len(sentences) else "")


@lru_cache(maxsize=4096)
def _terms(sentence: str) -> frozenset[str]:
    return frozenset(analyse(sentence))


def _grown(
    sentences: Sequence[str], place: int, *, room_tokens: int, count: Callable[[str], int]
) -> tuple[int, int]:
    """Return the run of sentences around one that fits, taken before and after it in turn."""
    low, high = place, place + 1
    used = count(MARK + sentences[place] + MARK)
    backwards = True
    while True:
        before = low > 0 and used + count(sentences[low - 1]) <= room_tokens
        after = high < len(sentences) and used + count(sentences[high]) <= room_tokens
        if not before and not after:
            return low, high
        if before and (backwards or not after):
            low -= 1
            used += count(sentences[low])
        else:
            used += count(sentences[high])
            high += 1
        backwards = not backwards


def around_match(
    block: Block,
    wanted: Collection[str],
    room_tokens: int,
    count: Callable[[str], int],
    *,
    towards_end: bool = False,
) -> Block | None:
    """Return a raw block cut around its best sentence; None where no word of it would be left."""
    if block.message is None or room_tokens <= 0:
        return None
    bare = priced(replace(block, text=""), count).tokens
    text = cut_around(
        block.text,
        wanted,
        room_tokens=max(0, room_tokens - bare),
        count=count,
        towards_end=towards_end,
    )
    if not text.replace(MARK.strip(), "").strip():
        return None
    message = block.message.with_(content=text, blocks=())
    cut = priced(replace(block, text=text, message=message, shortened=True), count)
    return cut if cut.tokens <= room_tokens else None


def squeezed(
    blocks: Sequence[Block], room_tokens: int, count: Callable[[str], int], cut: Cut = shorten
) -> list[Block] | None:
    """Return raw blocks shortened to fit evenly, None when not even marks fit.

    The smaller ones stay whole; what is left is shared by the larger ones.
    """
    fair = room_tokens // max(len(blocks), 1)
    small = sum(b.tokens for b in blocks if b.tokens <= fair)
    large = [b for b in blocks if b.tokens > fair]
    each = (room_tokens - small) // max(len(large), 1)
    fitting = [_shortened(b, each, count, cut) if b.tokens > fair else b for b in blocks]
    return fitting if sum(b.tokens for b in fitting) <= room_tokens else None


def _shortened(block: Block, room: int, count: Callable[[str], int], cut: Cut) -> Block:
    assert block.message is not None
    bare = priced(
        replace(block, text="", message=block.message.with_(content="", blocks=())), count
    )
    text_room = room - bare.tokens
    while True:
        message = shorten_message(
            block.message, room_tokens=max(0, text_room), count=count, cut=cut
        )
        is_cut = block.shortened or message.text != block.message.text
        shorter = priced(
            replace(block, text=message.text, message=message, shortened=is_cut), count
        )
        if shorter.tokens <= room or text_room <= 0:
            return shorter
        text_room -= shorter.tokens - room


def shorten_message(
    message: Message, *, room_tokens: int, count: Callable[[str], int], cut: Cut = shorten
) -> Message:
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
            "content": cut(
                result_text(blocks[i]), room_tokens=max(0, room_tokens - others), count=count
            ),
        }
    shorter = replace(message, blocks=tuple(blocks))
    if count(shorter.text) <= room_tokens:
        return shorter
    rest = count(replace(shorter, content="").text)
    content = cut(message.content, room_tokens=max(0, room_tokens - rest), count=count)
    return replace(shorter, content=content)


def _cut(graphemes: list[str], kept: int) -> str:
    tail = kept // 3
    end = graphemes[len(graphemes) - tail :] if tail else []
    return "".join(graphemes[: kept - tail]) + MARK + "".join(end)


def _is_result(block: JsonBlock) -> bool:
    return str(block.get("type", "")).endswith("tool_result")


def _emptied(blocks: list[JsonBlock], index: int) -> tuple[JsonBlock, ...]:
    return tuple({**b, "content": ""} if i == index else b for i, b in enumerate(blocks))
