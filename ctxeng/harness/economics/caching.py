"""The provider's prompt cache, by its published rules.

A prefix is cached up to a breakpoint if it is long enough for the model, byte for byte, and lives
for its time to live after its last use. A request reads the longest live prefix that ends at most
``LOOKBACK`` blocks before one of its breakpoints, and writes what lies between it and its last
breakpoint.

Source: Anthropic, prompt caching (see the price file for the minimum by model).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.harness.economics.turns import Prefixes, Request
from ctxeng.models.prices import MIN_CACHEABLE_TOKENS, Price, Ttl

LOOKBACK = 20
TTL_SECONDS: dict[Ttl, float] = {"5m": 300.0, "1h": 3600.0}

# Where breakpoints stand: as the builder sets them; after the memory block; after memory and after
# the block of summaries; and moving: after both of these, after the newest block, and after the one
# before it, because a question looks different once it has become history. Four is the limit.
Placement = Literal["none", "built", "memory", "summaries", "moving"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Where the tokens of a prompt came from."""

    read: int = 0
    written: int = 0
    uncached: int = 0

    def __add__(self, other: Split) -> Split:
        return Split(
            read=self.read + other.read,
            written=self.written + other.written,
            uncached=self.uncached + other.uncached,
        )

    @property
    def tokens(self) -> int:
        """Return all tokens."""
        return self.read + self.written + self.uncached

    @property
    def read_share(self) -> float | None:
        """Return the share of tokens read from the cache, 0..1; None without a token."""
        return self.read / self.tokens if self.tokens else None


def breakpoints(request: Request, placement: Placement) -> tuple[int, ...]:
    """Return the pieces of a request that a breakpoint follows."""
    match placement:
        case "none":
            places: set[int | None] = set()
        case "built":
            places = set(request.built)
        case "memory":
            places = {request.memory}
        case "summaries":
            places = {request.memory, request.summaries}
        case "moving":
            last = len(request.pieces) - 1
            head = (
                request.memory if request.memory is not None else max(request.built, default=None)
            )
            places = {head, request.summaries, last - 1, last}
    return tuple(sorted(place for place in places if place is not None and place >= 0))


class PromptCache:
    """One conversation's cache: what was written, and until when it lives."""

    def __init__(self, *, ttl_seconds: float, min_tokens: int) -> None:
        self._ttl = ttl_seconds
        self._min_tokens = min_tokens
        self._prefixes = Prefixes()
        self._until: dict[int, float] = {}

    def send(self, request: Request, places: Sequence[int]) -> Split:
        """Return how a request's tokens split, and remember what it writes and reads."""
        prefixes, upto = self._prefixes.of(request.pieces), request.upto
        total = upto[-1] if upto else 0
        hit = self._longest(prefixes, places, request.at_seconds)
        read = upto[hit] if hit is not None else 0
        kept = [place for place in places if upto[place] >= self._min_tokens]
        for place in [*kept, *([hit] if hit is not None else [])]:
            self._until[prefixes[place]] = request.at_seconds + self._ttl
        written = max((upto[place] for place in kept), default=read) - read
        written = max(0, written)
        return Split(read=read, written=written, uncached=total - read - written)

    def _longest(self, prefixes: Sequence[int], places: Sequence[int], now: float) -> int | None:
        alive = (
            back
            for place in places
            for back in range(place, max(-1, place - LOOKBACK), -1)
            if self._until.get(prefixes[back], 0.0) > now
        )
        return max(alive, default=None)


def splits(
    requests: Sequence[Request],
    *,
    placement: Placement,
    ttl: Ttl,
    min_tokens: int,
) -> list[Split]:
    """Return how the tokens of each request of a session split, in order.

    Args:
        min_tokens: the shortest prefix that is cached; 0 to see what a minimum costs.
    """
    cache = PromptCache(ttl_seconds=TTL_SECONDS[ttl], min_tokens=min_tokens)
    return [cache.send(request, breakpoints(request, placement)) for request in requests]


def minimum(price: Price) -> int:
    """Return the shortest prefix a model caches, in tokens; the usual one where it is not known."""
    known = price.min_cacheable_tokens
    return MIN_CACHEABLE_TOKENS if known is None else known
