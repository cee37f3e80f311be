"""What a call costs: a data file with date and source; an unknown model costs ``None``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

import orjson

from ctxeng.core.calls import Usage

Ttl = Literal["5m", "1h"]
MIN_CACHEABLE_TOKENS = 1024  # where the table does not say
_DATED = re.compile(r"-\d{8}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Prices of one model in USD per token.

    Args:
        cache_write, cache_write_1h: a prefix kept for five minutes, or for an hour.
        min_cacheable_tokens: shorter prefixes are not cached; None: not published.
        window_tokens: longest prompt the model takes.
        long_prompt: prices of a request whose prompt is over ``long_over_tokens``, None: the same.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float
    batch_input: float
    batch_output: float
    min_cacheable_tokens: int | None
    window_tokens: int
    long_over_tokens: int | None = None
    long_prompt: Price | None = None

    def for_prompt(self, tokens: int) -> Price:
        """Return the prices of a request with a prompt of so many tokens, cached ones included."""
        if self.long_prompt is None or self.long_over_tokens is None:
            return self
        return self.long_prompt if tokens > self.long_over_tokens else self

    def write(self, ttl: Ttl) -> float:
        """Return the price of writing a token to the cache for a time to live."""
        return self.cache_write if ttl == "5m" else self.cache_write_1h


@lru_cache(maxsize=1)
def price_table() -> dict[str, Any]:
    """Return the price file as it ships, with its date and source."""
    loaded: dict[str, Any] = orjson.loads((files("ctxeng.models") / "prices.json").read_bytes())
    return loaded


@lru_cache(maxsize=256)
def price_of(model: str) -> Price | None:
    """Return a model's prices, None when the table does not know it (dated ids are matched)."""
    models = price_table()["models"]
    entry = models.get(model) or models.get(_DATED.sub("", model))
    if entry is None:
        return None
    long = entry.get("long_prompt")
    return _price(
        entry,
        about=entry,
        long_over_tokens=long["over_tokens"] if long else None,
        long_prompt=_price(long, about=entry) if long else None,
    )


def cost_usd(model: str, usage: Usage, *, batch: bool = False, ttl: Ttl = "5m") -> float | None:
    """Return what a call cost in USD, None when the price is unknown.

    Args:
        ttl: how long what was written to the cache is kept.
    """
    price = price_of(model)
    if price is None:
        return None
    price = price.for_prompt(usage.input_tokens + usage.cached_tokens + usage.cache_write_tokens)
    given, said = (price.batch_input, price.batch_output) if batch else (price.input, price.output)
    share = given / price.input if price.input else 1.0
    cached = usage.cached_tokens * price.cache_read + usage.cache_write_tokens * price.write(ttl)
    return usage.input_tokens * given + cached * share + usage.output_tokens * said


def _price(
    row: Mapping[str, Any],
    *,
    about: Mapping[str, Any],
    long_over_tokens: int | None = None,
    long_prompt: Price | None = None,
) -> Price:
    return Price(
        input=row["input"] / 1e6,
        output=row["output"] / 1e6,
        cache_read=row["cache_read"] / 1e6,
        cache_write=row["cache_write_5m"] / 1e6,
        cache_write_1h=row["cache_write_1h"] / 1e6,
        batch_input=row["batch_input"] / 1e6,
        batch_output=row["batch_output"] / 1e6,
        min_cacheable_tokens=about["min_cacheable_tokens"],
        window_tokens=about["window_tokens"],
        long_over_tokens=long_over_tokens,
        long_prompt=long_prompt,
    )
