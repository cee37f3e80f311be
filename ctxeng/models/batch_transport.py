"""The Message Batches API over the SDK: create, find, wait for, read."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxeng.core.errors import KeyRefused, ModelError, ModelRejected, ModelUnavailable
from ctxeng.models.ledger import Wave
from ctxeng.models.sdk import open_sdk, reason, secrets

if TYPE_CHECKING:
    from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse

    Results = dict[str, MessageBatchIndividualResponse]

TRANSPORT_RETRIES = 6
TIMEOUT_SECONDS = 120.0
GIVE_UP_SECONDS = 26 * 3600.0  # a batch expires after 24 hours
READ_TRIES = 5
CLOCK_SKEW_SECONDS = 600.0
_PERMANENT = ("invalid_request_error", "request_too_large", "not_found_error")
_KEY = ("authentication_error", "permission_error")


@dataclass(slots=True)
class Unreachable(Exception):
    """It is not known whether a batch was taken: look for it before sending it again."""

    pause_seconds: float


class _Unreadable(Exception):
    """The results of a batch could not be read this time."""


class BatchTransport:
    """One door to the batches of a Messages-compatible server."""

    def __init__(self, *, base_url: str | None, poll_seconds: float) -> None:
        """Make a client.

        Raises:
            InputError: no key is set, or one that no header can carry.
        """
        self._secrets = secrets()
        self._poll_seconds = poll_seconds
        self._client = open_sdk(
            base_url=base_url, retries=TRANSPORT_RETRIES, timeout_seconds=TIMEOUT_SECONDS
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def create(self, requests: Mapping[str, Any]) -> str:
        """Send one batch and return its id; a rate limit is waited for.

        Raises:
            Unreachable: the server may have taken it all the same.
            KeyRefused: the key is not taken.
            ModelRejected: it is invalid as a whole.
        """
        import anthropic

        items: Any = [{"custom_id": key, "params": body} for key, body in requests.items()]
        once = self._client.with_options(max_retries=0)  # a retry could send it twice
        while True:
            try:
                return (await once.messages.batches.create(requests=items)).id
            except anthropic.RateLimitError as error:
                await asyncio.sleep(_pause(error.response.headers, self._poll_seconds))
            except anthropic.APIStatusError as error:
                if error.status_code < 500:
                    raise self._status_error(error) from None
                raise Unreachable(_pause(error.response.headers, self._poll_seconds)) from None
            except (anthropic.AnthropicError, json.JSONDecodeError):
                raise Unreachable(self._poll_seconds) from None

    async def find(self, wave: Wave, *, known: Collection[str]) -> str | None:
        """Return the id of the batch that holds exactly a wave's calls, None where there is none.

        Custom ids show in a batch's results alone, so a batch of the right size that is not yet
        ``known`` is waited for, and then looked into.

        Raises:
            KeyRefused, ModelUnavailable: the batches there are cannot be listed or read.
        """
        for batch_id in await self._candidates(wave, known):
            results = await self.results(batch_id)
            if results is not None and set(results) == set(wave.keys):
                return batch_id
        return None

    async def results(self, batch_id: str) -> Results | None:
        """Wait for the end of a batch and return its results by custom id; None: no such batch.

        Raises:
            ModelUnavailable: it did not end in time, or its results cannot be read.
        """
        if not await self._ended(batch_id):
            return None
        for _ in range(READ_TRIES):
            try:
                return await self._read(batch_id)
            except _Unreadable:
                await asyncio.sleep(self._poll_seconds)
        raise ModelUnavailable(f"results of batch {batch_id} must be readable, got none.")

    async def _read(self, batch_id: str) -> Results:
        """Read the results whole, so that the SDK retries a connection that breaks in the middle.

        Raises:
            _Unreadable: they did not come, or are no JSON Lines.
        """
        import anthropic
        from anthropic.types.messages import MessageBatchIndividualResponse

        path = f"/v1/messages/batches/{batch_id}/results"
        try:
            text = await self._client.get(path, cast_to=str)
            lines = [json.loads(line) for line in text.split("\n") if line.strip()]
            found = [MessageBatchIndividualResponse.construct(**line) for line in lines]
            return {each.custom_id: each for each in found}
        except (anthropic.AnthropicError, ValueError, TypeError, AttributeError):
            raise _Unreadable from None

    def item_error(self, error: Any) -> ModelError:
        """Return what went wrong with one item of a batch."""
        body = error.model_dump(warnings=False)
        told = reason(body, self._secrets)
        kind = (body.get("error") or {}).get("type")
        if kind in _KEY:
            return KeyRefused(f"{kind}: {told}")
        return (ModelRejected if kind in _PERMANENT else ModelUnavailable)(f"{kind}: {told}")

    async def _candidates(self, wave: Wave, known: Collection[str]) -> list[str]:
        import anthropic

        found: list[str] = []
        try:
            async for batch in self._client.messages.batches.list(limit=100):
                if batch.created_at.timestamp() < wave.sent_at - CLOCK_SKEW_SECONDS:
                    break
                if batch.id not in known and _size(batch) == len(wave.keys):
                    found.append(batch.id)
        except anthropic.APIStatusError as error:
            if error.status_code < 500 and error.status_code != 429:
                raise self._status_error(error) from None
            raise ModelUnavailable(f"batches: status {error.status_code}.") from None
        except (anthropic.AnthropicError, json.JSONDecodeError):
            raise ModelUnavailable("batches must be listed, got no answer.") from None
        return found

    async def _ended(self, batch_id: str) -> bool:
        """Wait until a batch has ended; return False where the server does not know it."""
        import anthropic

        started = time.monotonic()
        while time.monotonic() - started < GIVE_UP_SECONDS:
            try:
                batch = await self._client.messages.batches.retrieve(batch_id)
                if batch.processing_status == "ended":
                    return True
            except anthropic.NotFoundError:
                return False
            except anthropic.APIStatusError as error:
                if error.status_code < 500 and error.status_code != 429:
                    raise self._status_error(error) from None
            except anthropic.AnthropicError:
                pass  # a network that is down for an hour does not lose a batch
            await asyncio.sleep(self._poll_seconds)
        raise ModelUnavailable(f"batch {batch_id} must end within {GIVE_UP_SECONDS:g} s.")

    def _status_error(self, error: Any) -> ModelRejected:
        told = reason(error.body, self._secrets)
        kind = KeyRefused if error.status_code in (401, 403) else ModelRejected
        return kind(f"batch: status {error.status_code}: {told}")


def _size(batch: MessageBatch) -> int:
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


def _pause(headers: Mapping[str, str], otherwise: float) -> float:
    try:
        return float(headers.get("retry-after", otherwise))
    except ValueError:
        return otherwise
