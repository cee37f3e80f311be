"""Message Batches: taken, worked off in the background, read as JSON Lines."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import orjson

from ctxeng.fakeapi.refusals import Refusal
from ctxeng.fakeapi.replies import error_body

MOST_REQUESTS = 100_000
LIFE = timedelta(hours=24)
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

Result = dict[str, Any]
Work = Callable[[dict[str, Any]], Awaitable[Result]]
Status = Literal["in_progress", "canceling", "ended"]


@dataclass(slots=True, kw_only=True)
class Batch:
    """One batch and what has come of its items."""

    batch_id: str
    created_at: datetime
    expires_at: datetime
    requests: list[dict[str, Any]]
    results: dict[str, Result] = field(default_factory=dict)
    cancelled_at: datetime | None = None
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    ended_at: datetime | None = None

    @property
    def status(self) -> Status:
        """Return where it stands."""
        if self.ended_at is not None:
            return "ended"
        return "canceling" if self.cancelled_at is not None else "in_progress"

    def body(self, base_url: str) -> dict[str, Any]:
        """Return the batch as the API shows it; counts move once it has ended."""
        ended = self.ended_at is not None
        kinds = [result["type"] for result in self.results.values()] if ended else []
        counts = {k: kinds.count(k) for k in ("succeeded", "errored", "canceled", "expired")}
        return {
            "id": self.batch_id,
            "type": "message_batch",
            "processing_status": self.status,
            "request_counts": {"processing": len(self.requests) - len(kinds), **counts},
            "created_at": self.created_at.isoformat(),
            "expires_at": self.expires_at.isoformat(),
            "ended_at": self.ended_at.isoformat() if self.ended_at else None,
            "cancel_initiated_at": self.cancelled_at.isoformat() if self.cancelled_at else None,
            "archived_at": None,
            "results_url": (
                f"{base_url}/v1/messages/batches/{self.batch_id}/results" if ended else None
            ),
        }

    def lines(self) -> bytes:
        """Return the results as JSON Lines, not in the order of the requests."""
        return b"".join(
            orjson.dumps({"custom_id": name, "result": self.results[name]}) + b"\n"
            for name in sorted(self.results)
        )


class BatchOffice:
    """Takes batches and works them off.

    Args:
        work: makes one item's result from its parameters.
        seconds: how long a batch takes; its items are answered at the end.
        life: after that its unanswered items expire.
    """

    def __init__(self, work: Work, *, seconds: float, life: timedelta = LIFE) -> None:
        self._work = work
        self._seconds = seconds
        self._life = life
        self._batches: dict[str, Batch] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def create(self, body: Mapping[str, Any]) -> Batch:
        """Take a batch.

        Raises:
            Refusal: it holds no request, too many, or custom ids that are bad or not unique.
        """
        requests = _checked(body)
        now = datetime.now(UTC)
        number = f"{len(self._batches)}/{now.isoformat()}"
        batch = Batch(
            batch_id=f"msgbatch_{hashlib.sha256(number.encode()).hexdigest()[:24]}",
            created_at=now,
            expires_at=now + self._life,
            requests=requests,
        )
        self._batches[batch.batch_id] = batch
        task = asyncio.create_task(self._run(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return batch

    def find(self, batch_id: str) -> Batch:
        """Return a batch by id.

        Raises:
            Refusal: 404.
        """
        if batch_id not in self._batches:
            raise Refusal(f"batch: {batch_id}", status=404, kind="not_found_error")
        return self._batches[batch_id]

    def newest_first(self) -> list[Batch]:
        """Return every batch, the newest first."""
        return list(reversed(self._batches.values()))

    def cancel(self, batch_id: str) -> Batch:
        """Cancel what is not answered yet; the batch ends at once."""
        batch = self.find(batch_id)
        if batch.ended_at is not None:
            raise Refusal("Batch has already ended")
        batch.cancelled_at = batch.cancelled_at or datetime.now(UTC)
        batch.cancelled.set()
        return batch

    async def _run(self, batch: Batch) -> None:
        left = min(self._seconds, self._life.total_seconds())
        with suppress(TimeoutError):
            await asyncio.wait_for(batch.cancelled.wait(), left)
        for item in batch.requests:
            name = item["custom_id"]
            if batch.cancelled_at is not None:
                batch.results[name] = {"type": "canceled"}
            elif self._seconds > self._life.total_seconds():
                batch.results[name] = {"type": "expired"}
            else:
                batch.results[name] = await self._work(item["params"])
        batch.ended_at = datetime.now(UTC)


def errored(kind: str, text: str) -> Result:
    """Return the result of an item that failed."""
    return {"type": "errored", "error": error_body(kind, text)}


def _checked(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    if set(body) != {"requests"} or not isinstance(body["requests"], list):
        raise Refusal("requests: Field required, and nothing else")
    requests = body["requests"]
    if not 1 <= len(requests) <= MOST_REQUESTS:
        raise Refusal(f"requests: List should have 1 to {MOST_REQUESTS} items")
    for i, item in enumerate(requests):
        shaped = isinstance(item, dict) and set(item) == {"custom_id", "params"}
        if not shaped or not isinstance(item["params"], dict):
            raise Refusal(f"requests.{i}: must hold custom_id and params, and nothing else")
        if not _CUSTOM_ID.fullmatch(str(item["custom_id"])):
            raise Refusal(f"requests.{i}.custom_id: String should match '{_CUSTOM_ID.pattern}'")
    if len({item["custom_id"] for item in requests}) < len(requests):
        raise Refusal("requests: custom_id must be unique within a batch")
    return requests
