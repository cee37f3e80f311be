"""Message Batches as a client: calls that wait at the same time are sent together.

Nothing here knows what the calls are for. Whoever waits for answers at once (all sessions' next
compaction, all readers, all judges) gets into one batch: it is sent when no further call has come
for a moment. A call's content address is its custom id, and the ledger notes a batch before it is
sent and its id afterwards, so that a killed run finds its batches again and pays for none twice.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage
from ctxeng.core.errors import ModelError, ModelRejected, ModelUnavailable
from ctxeng.models.batch_transport import BatchTransport, Unreachable
from ctxeng.models.exchange import USELESS, message_of, parameters, response_of, usage_of
from ctxeng.models.keys import call_key
from ctxeng.models.ledger import Ledger, Wave

if TYPE_CHECKING:
    from anthropic.types.messages import MessageBatchIndividualResponse

QUIET_SECONDS = 2.0  # with no further call, everything that waits is sent
POLL_SECONDS = 20.0
LARGEST_WAVE = 10_000  # calls in a batch; the API takes 100,000 and 256 MB
TRIES = 4
SUBMIT_TRIES = 50


@dataclass(slots=True, kw_only=True)
class _Waiting:
    """A call somebody waits for."""

    key: str
    request: ModelRequest
    answer: asyncio.Future[ModelResponse]
    wasted: Usage | None = None
    tries: int = 0


class BatchModel:
    """Gathers calls into batches, and answers each when its batch has ended."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        base_url: str | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        poll_seconds: float = POLL_SECONDS,
        largest_wave: int = LARGEST_WAVE,
        tries: int = TRIES,
    ) -> None:
        """Make a client.

        Args:
            tries: how often an item that expired, failed or came back useless is sent in all.

        Raises:
            InputError: no key is set, or one that no header can carry.
        """
        self._ledger = ledger
        self._transport = BatchTransport(base_url=base_url, poll_seconds=poll_seconds)
        self._quiet_seconds = quiet_seconds
        self._largest_wave = largest_wave
        self._tries = tries
        self._waiting: dict[str, _Waiting] = {}
        self._gathered: dict[str, _Waiting] = {}
        self._sent: dict[str, str] = {}  # key of a call → the wave it is in
        self._arrived: dict[str, MessageBatchIndividualResponse | None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._resumed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop waiting; batches in flight go on at the provider and are found again."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._transport.aclose()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the answer once the call's batch has ended.

        Raises:
            ModelUnavailable: it expired, or failed at the provider, in every try.
            KeyRefused: the key is not taken, for all calls or for this model.
            ModelRejected: the request is invalid, or does not fit the model's window.
            ModelRefused, EmptyAnswer, MalformedTool: every try came back useless.
        """
        if not self._resumed:
            self._resumed = True
            self._resume()
        item = _Waiting(
            key=call_key(request),
            request=request,
            answer=asyncio.get_running_loop().create_future(),
        )
        self._waiting[item.key] = item
        if item.key in self._arrived:
            self._settle(item, self._arrived.pop(item.key))
        elif item.key not in self._sent:
            self._gather(item)
        return await item.answer

    def _gather(self, item: _Waiting) -> None:
        self._gathered[item.key] = item
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._quiet_seconds, self._send_gathered)

    def _send_gathered(self) -> None:
        items, self._gathered = list(self._gathered.values()), {}
        for start in range(0, len(items), self._largest_wave):
            part = items[start : start + self._largest_wave]
            for item in part:
                item.tries += 1
            self._start(self._new_wave(part))

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _resume(self) -> None:
        """Take up the batches that an earlier run left; of two with the same call the later."""
        waves = self._ledger.open_waves()
        for wave in waves:
            self._sent.update(dict.fromkeys(wave.keys, wave.name))
        for wave in waves:
            self._start(self._taken_up(wave))

    async def _taken_up(self, wave: Wave) -> None:
        with _Failing(self, wave.keys):
            batch_id = wave.batch_id or await self._transport.find(
                wave, known=self._ledger.batch_ids()
            )
            if batch_id is None:
                self._lost(wave)
                return
            self._ledger.wave_sent(wave.name, batch_id)
            await self._collect(wave, batch_id)

    async def _new_wave(self, items: Iterable[_Waiting]) -> None:
        requests = {item.key: parameters(item.request) for item in items}
        wave = Wave(name=uuid.uuid4().hex, sent_at=time.time(), keys=tuple(requests))
        self._sent.update(dict.fromkeys(wave.keys, wave.name))
        with _Failing(self, wave.keys):
            self._ledger.wave_opened(wave)
            batch_id = await self._submitted(wave, requests)
            self._ledger.wave_sent(wave.name, batch_id)
            await self._collect(wave, batch_id)

    async def _submitted(self, wave: Wave, requests: dict[str, Any]) -> str:
        """Send a batch once: where it is unclear whether one was taken, look for it first."""
        for _ in range(SUBMIT_TRIES):
            try:
                return await self._transport.create(requests)
            except Unreachable as unclear:
                await asyncio.sleep(unclear.pause_seconds)
                found = await self._transport.find(wave, known=self._ledger.batch_ids())
                if found is not None:
                    return found
        raise ModelUnavailable(f"batch must be taken within {SUBMIT_TRIES} tries.")

    async def _collect(self, wave: Wave, batch_id: str) -> None:
        results = await self._transport.results(batch_id)
        if results is None:
            self._lost(wave)
            return
        for key in wave.keys:
            if self._sent.get(key) != wave.name:
                continue  # a later batch has it
            del self._sent[key]
            item = self._waiting.get(key)
            if item is None:
                self._arrived[key] = results.get(key)
            else:
                self._settle(item, results.get(key))

    def _lost(self, wave: Wave) -> None:
        """Send again what is waited for of a batch that the provider does not know."""
        self._ledger.wave_done(wave.name)
        for key in [key for key in wave.keys if self._sent.get(key) == wave.name]:
            del self._sent[key]
            if key in self._waiting:
                self._gather(self._waiting[key])

    def _settle(self, item: _Waiting, result: MessageBatchIndividualResponse | None) -> None:
        """Answer a call from its item's result, or send it again while it may be."""
        try:
            response = self._response(item, result)
        except ModelError as error:
            final = isinstance(error, ModelRejected) or item.tries >= self._tries
            if not final:
                self._gather(item)
                return
            error.usage = item.wasted
            self._fail(item, error)
        else:
            del self._waiting[item.key]
            if not item.answer.done():
                item.answer.set_result(response)

    def _response(
        self, item: _Waiting, result: MessageBatchIndividualResponse | None
    ) -> ModelResponse:
        role = item.request.role
        outcome = result.result if result is not None else None
        if outcome is None or outcome.type in ("expired", "canceled"):
            what = "expired" if outcome is None else outcome.type
            raise ModelUnavailable(f"batch item must be answered, got {what} ({role}).")
        if outcome.type == "errored":
            raise self._transport.item_error(outcome.error)
        if outcome.type != "succeeded":
            raise ModelUnavailable(f"batch item must be answered, got {outcome.type} ({role}).")
        message = message_of(item.request, outcome.message)
        used = usage_of(message) if item.wasted is None else item.wasted + usage_of(message)
        try:
            return replace(response_of(item.request, message), usage=used)
        except USELESS:
            item.wasted = used
            raise

    def _fail(self, item: _Waiting, error: ModelError) -> None:
        self._waiting.pop(item.key, None)
        if not item.answer.done():
            item.answer.set_exception(error)

    def fail_all(self, keys: Iterable[str], error: ModelError) -> None:
        """Give up every call of a batch that could not be sent or read."""
        for key in keys:
            self._sent.pop(key, None)
            item = self._waiting.get(key)
            if item is not None:
                own = type(error)(str(error))
                own.usage = item.wasted
                self._fail(item, own)


class _Failing:
    """Turns the failure of a whole batch into the failure of each of its calls."""

    def __init__(self, model: BatchModel, keys: Iterable[str]) -> None:
        self._model = model
        self._keys = tuple(keys)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, ModelError):
            return False
        self._model.fail_all(self._keys, error)
        return True
