"""What a call costs: a data file with date and source; an unknown model costs ``None``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

from ctxeng.core.calls import Usage

_DATED = re.compile(r"-\d{8}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Prices of one model in USD per token."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    min_cacheable_tokens: int


@lru_cache(maxsize=1)
def price_table() -> dict[str, Any]:
    """Return the price file as it ships, with its date and source."""
    loaded: dict[str, Any] = orjson.loads((files("ctxeng.models") / "prices.json").read_bytes())
    return loaded


def price_of(model: str) -> Price | None:
    """Return a model's prices, None when the table does not know it (dated ids are matched)."""
    table = price_table()
    entry = table["models"].get(model) or table["models"].get(_DATED.sub("", model))
    if entry is None:
        return None
    each = entry["input"] / 1e6
    return Price(
        input=each,
        output=entry["output"] / 1e6,
        cache_read=each * table["cache_read_factor"],
        cache_write=each * table["cache_write_factor"]["5m"],
        min_cacheable_tokens=entry["min_cacheable_tokens"],
    )


def cost_usd(model: str, usage: Usage, *, batch: bool = False) -> float | None:
    """Return what a call cost in USD, None when the price is unknown."""
    price = price_of(model)
    if price is None:
        return None
    total = (
        usage.input_tokens * price.input
        + usage.cached_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
        + usage.output_tokens * price.output
    )
    return total * (float(price_table()["batch_factor"]) if batch else 1.0)
