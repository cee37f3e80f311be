"""The provider's prompt cache: prefixes, minimum length, time to live.

Source: the provider's documentation of prompt caching. A prefix is written at a breakpoint if it
is long enough for the model; it is looked for at each breakpoint and up to 20 blocks before it; a
hit renews its time to live.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ctxeng.fakeapi.tokens import block_tokens, prompt_blocks
from ctxeng.models.prices import price_of

LOOK_BACK_BLOCKS = 20
DEFAULT_MINIMUM_TOKENS = 1024
LIFE_SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputUsage:
    """Input tokens of one request, by what they cost."""

    uncached: int
    read: int
    written_5m: int
    written_1h: int

    def body(self) -> dict[str, Any]:
        """Return the usage as the API reports it."""
        return {
            "input_tokens": self.uncached,
            "cache_read_input_tokens": self.read,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        }


@dataclass(frozen=True, slots=True)
class _Prefix:
    digest: str
    tokens: int
    ttl: str | None  # set where a breakpoint follows


class PromptCache:
    """Which prefixes are warm, by a clock in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._expires: dict[str, tuple[float, float]] = {}  # digest → expiry, life

    def charge(self, body: Mapping[str, Any]) -> InputUsage:
        """Return what a request's input costs, and remember its prefixes."""
        prefixes = _prefixes(body)
        total = prefixes[-1].tokens if prefixes else 0
        marks = [i for i, prefix in enumerate(prefixes) if prefix.ttl]
        read = self._longest_hit(prefixes, marks)
        written = {"5m": 0, "1h": 0}
        reached = read
        for i in marks:
            prefix = prefixes[i]
            if prefix.tokens < minimum_tokens(body["model"]):
                continue
            life = LIFE_SECONDS[prefix.ttl or "5m"]
            self._expires[prefix.digest] = (self._clock() + life, life)
            written[prefix.ttl or "5m"] += max(0, prefix.tokens - reached)
            reached = max(reached, prefix.tokens)
        return InputUsage(
            uncached=total - reached,
            read=read,
            written_5m=written["5m"],
            written_1h=written["1h"],
        )

    def _longest_hit(self, prefixes: list[_Prefix], marks: list[int]) -> int:
        for mark in reversed(marks):
            for i in range(mark, max(-1, mark - LOOK_BACK_BLOCKS), -1):
                found = self._expires.get(prefixes[i].digest)
                if found is not None and found[0] > self._clock():
                    self._expires[prefixes[i].digest] = (self._clock() + found[1], found[1])
                    return prefixes[i].tokens
        return 0


def minimum_tokens(model: str) -> int:
    """Return the shortest prefix that a model's cache keeps."""
    price = price_of(model)
    return (price.min_cacheable_tokens if price is not None else None) or DEFAULT_MINIMUM_TOKENS


def _prefixes(body: Mapping[str, Any]) -> list[_Prefix]:
    digest = hashlib.sha256(str(body["model"]).encode())
    found, tokens = [], 0
    for block in prompt_blocks(body):
        mark = block.get("cache_control")
        bare = {k: v for k, v in block.items() if k != "cache_control"}
        digest.update(orjson.dumps(bare, option=orjson.OPT_SORT_KEYS))
        tokens += block_tokens(block)
        found.append(_Prefix(digest.hexdigest(), tokens, mark.get("ttl", "5m") if mark else None))
    return found
