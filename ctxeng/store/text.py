"""The one choke point for text on its way into Postgres."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ctxeng.core.text import well_formed


def clean_text(text: str) -> str:
    """Return text that Postgres can hold: no NUL, no lone surrogate (U+FFFD stands for it)."""
    return well_formed(text).replace("\0", "")


def clean_json(value: Any) -> Any:
    """Return a JSON value Postgres can hold: strings cleaned, None for NaN and infinity."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): clean_json(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [clean_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
