"""The one choke point for text on its way into Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SURROGATES = {code: 0xFFFD for code in range(0xD800, 0xE000)}
_UNSTORABLE = {0: None, **_SURROGATES}


def clean_text(text: str) -> str:
    """Return text that Postgres can hold: no NUL, no lone surrogate (U+FFFD stands for it)."""
    if text.isascii() and "\0" not in text:
        return text
    return text.translate(_UNSTORABLE)


def clean_json(value: Any) -> Any:
    """Return a JSON value with every string in it cleaned, keys included."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): clean_json(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [clean_json(inner) for inner in value]
    return value
