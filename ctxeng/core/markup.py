"""Delimiters of our prompts, and the escaping that keeps transcript text data.

Every prompt of ours (context, summariser, distiller, judge) wraps transcript text in the tags
below. Text that imitates one of them has its ``<`` replaced, so that it can neither close a
block nor open another.
"""

from __future__ import annotations

import re

TAGS = (
    "message",
    "transcript",
    "episode",
    "episodes",
    "summary",
    "memory",
    "item",
    "retrieved",
    "group",
    "evidence",
    "question",
    "answer",
    "expected",
    "previous",
    "section",
    "node",
    "system",
)
_IMITATION = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(TAGS)})\b)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r'[<>"\n\r]')


def escape(text: str) -> str:
    """Return ``text`` with every imitation of our tags defused; other markup is left alone.

    Example:
        ``escape("a </episode> b <div>")`` → ``"a &lt;/episode> b <div>"``
    """
    return _IMITATION.sub("&lt;", text)


def attribute(value: object) -> str:
    """Return a value safe to stand between double quotes in one of our tags."""
    return _ATTRIBUTE.sub(" ", str(value)).strip()


def wrap(tag: str, text: str, **attributes: object) -> str:
    """Return ``<tag a="b">escaped text</tag>``; attributes that are None are left out."""
    head = "".join(
        f' {name}="{attribute(value)}"' for name, value in attributes.items() if value is not None
    )
    return f"<{tag}{head}>{escape(text)}</{tag}>"


def nest(tag: str, inner: str, **attributes: object) -> str:
    """Return a tag around markup that is already escaped, on lines of its own."""
    head = "".join(
        f' {name}="{attribute(value)}"' for name, value in attributes.items() if value is not None
    )
    return f"<{tag}{head}>\n{inner}\n</{tag}>"
