"""How many calls may be in flight: fewer when the provider says so, more again when it answers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

BACK_OFF = 0.7  # share of the calls in flight that may stay after a rate limit
LONGEST_PAUSE_SECONDS = 60.0
_REMAINING = "-remaining"
_RATE_LIMIT = "anthropic-ratelimit-"


class Throttle:
    """Lets calls start, at most ``most`` at once, fewer after a 429 or 529.

    Additive increase, multiplicative decrease: of the answers to calls that were in flight
    together only the first rate limit counts, and a whole round of successes allows one call more.
    A header that says nothing is left holds new calls until the limit is reset.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.allowed = float(most)
        self.in_flight = 0
        self.round = 0
        self._resumes_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a place, and for the end of a pause; give the place back afterwards."""
        await self._place()
        try:
            loop = asyncio.get_running_loop()
            while (pause := self._resumes_at - loop.time()) > 0:  # noqa: ASYNC110 (its end may move)
                await asyncio.sleep(pause)
            yield
        finally:
            self.in_flight -= 1
            self._wake()

    def observe(self, status: int, headers: Mapping[str, str], *, sent_in_round: int) -> None:
        """Learn from an answer to a call that was sent in a given :attr:`round`."""
        if status in (429, 529):
            if sent_in_round == self.round:
                self.round += 1
                self.allowed = max(1.0, self.allowed * BACK_OFF)
            if status == 429:  # it is about this account; an overload is not
                self._pause(_seconds(headers.get("retry-after")))
        elif status < 400:
            self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)
            self._wake()
        self._pause(_exhausted_seconds(headers))

    async def _place(self) -> None:
        if self.in_flight < int(self.allowed) and not self._waiting:
            self.in_flight += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._waiting.remove(place)
            else:  # the place was given in the same moment
                self.in_flight -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self.in_flight < int(self.allowed):
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def _pause(self, seconds: float) -> None:
        if seconds > 0:
            until = asyncio.get_running_loop().time() + min(seconds, LONGEST_PAUSE_SECONDS)
            self._resumes_at = max(self._resumes_at, until)


def _exhausted_seconds(headers: Mapping[str, str]) -> float:
    """Return how long the limits that have nothing left stay so, in seconds; 0 where none is."""
    resets = [
        headers.get(name.removesuffix(_REMAINING) + "-reset", "")
        for name, value in headers.items()
        if name.startswith(_RATE_LIMIT) and name.endswith(_REMAINING) and value.strip() == "0"
    ]
    return max((_seconds_until(reset) for reset in resets), default=0.0)


def _seconds_until(moment: str) -> float:
    try:
        return (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return 0.0


def _seconds(value: str | None) -> float:
    try:
        return float(value or 0)
    except ValueError:
        return 0.0
