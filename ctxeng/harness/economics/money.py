"""What a session costs under one arm, turn by turn, with compaction and caching included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctxeng.core.errors import SettingsError
from ctxeng.harness.economics.caching import Placement, Split, minimum, splits
from ctxeng.harness.economics.turns import CompactionCall, Sitting
from ctxeng.models.prices import Price, Ttl, price_of

Money = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payers:
    """The models whose prices are used, by role."""

    reader: str
    summariser: str
    distiller: str

    def price(self, role: str) -> Price:
        """Return a role's prices.

        Raises:
            SettingsError: the price table does not know the model.
        """
        model = {"reader": self.reader, "summariser": self.summariser}.get(role, self.distiller)
        price = price_of(model)
        if price is None:
            raise SettingsError(
                f"economics.{role} must be a model of the price table, got {model!r} "
                "(price unknown). Name another model whose prices stand for it."
            )
        return price


@dataclass(frozen=True, slots=True, kw_only=True)
class Caching:
    """A way to use the prompt cache."""

    placement: Placement
    ttl: Ttl = "5m"

    @property
    def label(self) -> str:
        """Return a name for tables: ``none``, ``built 5m``, ``moving 1h`` …"""
        return "none" if self.placement == "none" else f"{self.placement} {self.ttl}"


NO_CACHE = Caching(placement="none")
CACHINGS = (
    NO_CACHE,
    Caching(placement="built"),
    Caching(placement="built", ttl="1h"),
    Caching(placement="moving"),
    Caching(placement="moving", ttl="1h"),
)


def session_splits(sitting: Sitting, caching: Caching, payers: Payers) -> list[Split]:
    """Return how each request's tokens split for the reader's model."""
    return splits(
        sitting.requests,
        placement=caching.placement,
        ttl=caching.ttl,
        min_tokens=minimum(payers.price("reader")),
    )


def request_usd(split: Split, answer_tokens: int, price: Price, ttl: Ttl) -> float:
    """Return what one request to the reader costs."""
    price = price.for_prompt(split.tokens)
    return (
        split.uncached * price.input
        + split.read * price.cache_read
        + split.written * price.write(ttl)
        + answer_tokens * price.output
    )


def call_usd(call: CompactionCall, payers: Payers) -> float:
    """Return what one call of compaction costs."""
    price = payers.price(call.role).for_prompt(call.input_tokens)
    return call.input_tokens * price.input + call.output_tokens * price.output


def spending(sitting: Sitting, caching: Caching, payers: Payers) -> Money:
    """Return the money spent up to and with each turn: ``(messages,)``, USD, never falling."""
    spent = np.zeros(sitting.messages)
    price = payers.price("reader")
    for request, split in zip(
        sitting.requests, session_splits(sitting, caching, payers), strict=True
    ):
        spent[request.seq] += request_usd(split, request.answer_tokens, price, caching.ttl)
    for call in sitting.calls:
        spent[call.at_seq] += call_usd(call, payers)
    return np.cumsum(spent)


def pays_from(arm: Money, full: Money) -> int | None:
    """Return the turn from which an arm has cost less than the whole history, to the end.

    Args:
        arm, full: ``(messages,)`` money spent up to each turn of the same session.

    Returns:
        A turn (0-based), or None where the arm does not end cheaper.
    """
    cheaper = arm < full - 1e-12
    if not len(cheaper) or not cheaper[-1]:
        return None
    dearer = np.flatnonzero(~cheaper)
    return int(dearer[-1]) + 1 if len(dearer) else 0


def total(parts: Sequence[Split]) -> Split:
    """Return the sum of splits."""
    return sum(parts, Split())
