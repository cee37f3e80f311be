"""Small readings of foreign JSON values that every importer needs, none of which can raise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ctxeng.harness.probes.model import Span
from ctxeng.harness.sessions.records import parse_timestamp


def listed(value: Any) -> list[Any]:
    """Return a list as it is, an object alone in a list, and nothing for anything else."""
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, dict) else []


def mapped(value: Any) -> dict[str, Any]:
    """Return an object as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """Return text for a string or number; nothing for null, booleans, lists and objects."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def spans_of(seqs: Iterable[int]) -> tuple[Span, ...]:
    """Return sorted seqs as spans of neighbours.

    Example:
        ``[3, 4, 9]`` → spans 3–4 and 9–9
    """
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and seq == runs[-1][1] + 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    return tuple(Span(from_seq=first, to_seq=last) for first, last in runs)


def moment(value: Any) -> datetime | None:
    """Return an ISO text, or seconds or milliseconds since 1970, as an aware datetime."""
    if isinstance(value, str) and re.fullmatch(r"\d{9,13}(\.\d+)?", value):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, tz=UTC)
        except (ValueError, OverflowError, OSError):
            return None
    return parse_timestamp(value)


def placeholder(
    kind: str, *, media_type: str = "", size: int | None = None, title: str = ""
) -> dict[str, Any]:
    """Return the block that stands for something that is no text: its type, size and title."""
    block: dict[str, Any] = {"type": kind}
    if media_type:
        block["media_type"] = media_type
    if size is not None:
        block["bytes"] = size
    if title:
        block["title"] = title
    return block


def base64_bytes(encoded: Any) -> int | None:
    """Return how many bytes base64 text stands for, None where it is no text."""
    if not isinstance(encoded, str):
        return None
    return len(encoded) * 3 // 4 - encoded[-2:].count("=")


def joined(parts: Iterable[str]) -> str:
    """Return the parts that are not blank, a blank line between them."""
    return "\n\n".join([part for part in parts if part and not part.isspace()])


def first_text(record: Mapping[str, Any], *keys: str) -> str:
    """Return the first of the named values that is text and not empty."""
    return next((text for key in keys if (text := text_of(record.get(key)))), "")
