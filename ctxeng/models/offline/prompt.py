"""Read a request as the model would: plain texts, and the tags our prompts are written in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ctxeng.core.calls import ModelRequest

_TAG = re.compile(r"<(message|node|episode|item|previous|section)\b([^>]*)>(.*?)</\1>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(?<!\w)(\w+)="([^"]*)"')
_ANY_TAG = re.compile(
    r"</?(?:message|transcript|episode|episodes|summary|memory|item|retrieved|group|evidence|node|"
    r"question|previous|section|system)\b[^>]*>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """One tagged piece of a prompt."""

    tag: str
    attributes: dict[str, str]
    text: str


def tagged(text: str) -> list[Tagged]:
    """Return every tagged piece of a prompt, in order."""
    return [
        Tagged(tag=m[1], attributes=dict(_ATTRIBUTE.findall(m[2])), text=unescape(m[3]).strip())
        for m in _TAG.finditer(text)
    ]


def unescape(text: str) -> str:
    """Undo the defusing of imitated tags."""
    return text.replace("&lt;", "<")


def without_tags(text: str) -> str:
    """Return a prompt's text with our own tags taken out."""
    return unescape(_ANY_TAG.sub("\n", text))


def texts(request: ModelRequest) -> Iterator[str]:
    """Yield the text blocks of the messages, in order."""
    for message in request.messages:
        content = message["content"]
        if isinstance(content, str):
            yield content
            continue
        for block in content:
            if block.get("type") == "text":
                yield block["text"]
            elif block.get("type") == "tool_result":
                yield str(block.get("content", ""))


def target_tokens(request: ModelRequest, pieces: list[Tagged]) -> int:
    """Return the wanted length that the prompt names, else half of max_tokens."""
    for piece in pieces:
        if piece.tag == "section" and piece.attributes.get("name") == "target_tokens":
            return int(piece.text)
    return request.max_tokens // 2
