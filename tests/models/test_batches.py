"""Calls through Message Batches against the local API: gathered, paid once, found again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import KeyRefused, ModelRefused, ModelRejected, ModelUnavailable
from ctxeng.fakeapi import FakeApi, FaultPlan, serving
from ctxeng.fakeapi.faults import ITEM_FAULTS, Fault
from ctxeng.fakeapi.refusals import Refusal
from ctxeng.models import Delivery, Ledger, open_client
from ctxeng.models.batches import BatchModel
from ctxeng.models.keys import call_key
from ctxeng.models.ledger import Wave
from ctxeng.models.prices import cost_usd
from tests.support.calls import HAIKU, request

QUIET = 0.05
POLL = 0.02


@pytest.fixture
def start(canary: str) -> Iterator[Callable[..., FakeApi]]:
    """Return a starter of servers, which are stopped afterwards."""
    running = []

    def begin(**options: Any) -> FakeApi:
        context = serving(FakeApi(**options))
        running.append(context)
        return context.__enter__()

    yield begin
    for context in running:
        context.__exit__(None, None, None)


@pytest.fixture
async def opened() -> AsyncIterator[Callable[..., BatchModel]]:
    """Return a maker of clients, which are closed afterwards."""
    made: list[BatchModel] = []

    def make(api: FakeApi, ledger: Ledger | None = None, **options: Any) -> BatchModel:
        how = {"quiet_seconds": QUIET, "poll_seconds": POLL, **options}
        made.append(BatchModel(ledger or Ledger.open(None), base_url=api.base_url, **how))
        return made[-1]

    yield make
    for model in made:
        await model.aclose()


def about(number: int) -> ModelRequest:
    """Return a question whose answer holds its number."""
    texts = (f"House {number} is red.", "Which house is red?")
    content = [{"type": "text", "text": text} for text in texts]
    return request(messages=({"role": "user", "content": content},))


def numbers(count: int) -> list[ModelRequest]:
    return [about(number) for number in range(count)]


async def all_of(model: Any, asked: list[ModelRequest]) -> list[Any]:
    return await asyncio.gather(*(model.complete(one) for one in asked), return_exceptions=True)


async def test_calls_that_wait_together_are_one_batch(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel]
) -> None:
    """Thirty calls at once are one batch, and each gets its own answer."""
    api = start()
    answers = await all_of(opened(api), numbers(30))
    assert [a.text for a in answers] == [f"House {i} is red." for i in range(30)]
    assert (api.counts.batches, api.counts.items, api.counts.messages) == (1, 30, 0)


async def test_chains_go_wave_by_wave(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel]
) -> None:
    """Five chains of three calls, each waiting for the one before, are three batches of five."""
    api = start()
    model = opened(api, quiet_seconds=0.3)

    async def chain(number: int) -> None:
        for step in range(3):
            await model.complete(about(10 * number + step))

    await asyncio.gather(*(chain(number) for number in range(5)))
    assert (api.counts.batches, api.counts.items) == (3, 15)


async def test_a_wave_over_the_largest_size_is_several_batches(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel]
) -> None:
    """Ten calls in batches of four at most: 4, 4, 2."""
    api = start()
    answers = await all_of(opened(api, largest_wave=4), numbers(10))
    assert len({a.text for a in answers}) == 10
    assert api.counts.batches == 3


async def test_a_call_in_a_batch_costs_half(start: Callable[..., FakeApi]) -> None:
    """The ledger's price is the batch price."""
    api = start()
    how = Delivery(batched=True, base_url=api.base_url, quiet_seconds=QUIET, poll_seconds=POLL)
    async with open_client(ledger=Ledger.open(None), delivery=how) as client:
        response = await client.complete(about(1))
    whole = cost_usd(HAIKU, response.usage)
    assert whole is not None
    assert response.cost_usd == pytest.approx(whole / 2)


RETRIED: dict[str, tuple[Fault, ...]] = {
    "expired": ("expired",),
    "errored": ("errored",),
    "useless": ("thinking_only", "refusal", "max_tokens"),
}


@pytest.mark.parametrize("kinds", RETRIED.values(), ids=RETRIED)
async def test_items_that_fail_are_sent_again_in_the_next_batch(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel], kinds: tuple[Fault, ...]
) -> None:
    """Half of the items expire, fail or come back useless; all are answered in the end, each try paid."""
    api = start(faults=FaultPlan(rate=0.5, seed=1, kinds=kinds, most_in_a_row=2))
    answers = await all_of(opened(api), numbers(20))
    assert [a.text for a in answers] == [f"House {i} is red." for i in range(20)]
    assert api.faults.made.total() > 5
    assert api.counts.items == 20 + api.faults.made.total()
    useless = 0 if kinds[0] in ITEM_FAULTS else api.faults.made.total()
    least = min(a.usage.output_tokens for a in answers)  # "House 1 is red." is four tokens
    assert sum(a.usage.output_tokens for a in answers) >= 20 * least + 2 * useless


async def test_an_item_that_always_fails_is_an_error_in_its_own_class(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel]
) -> None:
    """After four tries: expired is unavailable, a refusal is refused, and its bill is told."""
    expiring = start(batch_seconds=9, batch_life=timedelta(milliseconds=1))
    (late,) = await all_of(opened(expiring), [about(1)])
    assert type(late) is ModelUnavailable
    assert "got expired (reader)" in str(late)
    assert expiring.counts.batches == 4
    refusing = start(faults=FaultPlan(rate=1.0, kinds=("refusal",)))
    (refused,) = await all_of(opened(refusing), [about(1)])
    assert type(refused) is ModelRefused
    assert refused.usage is not None
    assert refused.usage.output_tokens == 4 * 2  # "I can't" is two tokens


async def test_an_invalid_item_is_rejected_and_its_neighbours_are_answered(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel]
) -> None:
    """It is not sent again."""
    api = start()
    bad = request(messages=({"role": "user", "content": ""},))
    answers = await all_of(opened(api), [about(1), bad, about(2)])
    assert [getattr(a, "text", None) for a in answers] == [
        "House 1 is red.",
        None,
        "House 2 is red.",
    ]
    assert type(answers[1]) is ModelRejected
    assert api.counts.batches == 1


@pytest.mark.parametrize("kind", ["dropped", "server_error", "overloaded", "rate_limit"])
async def test_trouble_with_the_transport_pays_for_nothing_twice(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel], kind: Fault
) -> None:
    """Above all where the batch was taken and only the answer was lost: it is looked for first."""
    api = start(
        faults=FaultPlan(rate=1.0, kinds=(kind,), most_in_a_row=1, retry_after_seconds=0.01)
    )
    answers = await all_of(opened(api), numbers(3))
    assert [a.text for a in answers] == [f"House {i} is red." for i in range(3)]
    assert (api.counts.batches, api.counts.items) == (1, 3)
    assert api.faults.made[kind] >= 2


async def left_in_flight(api: FakeApi, ledger: Ledger, asked: list[ModelRequest]) -> None:
    """Send a batch and go away before it has ended, as a killed process does."""
    model = BatchModel(ledger, base_url=api.base_url, quiet_seconds=QUIET, poll_seconds=POLL)
    tasks = [asyncio.create_task(model.complete(one)) for one in asked]
    while not ledger.batch_ids():  # noqa: ASYNC110 - a file is looked into
        await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await model.aclose()


async def test_a_batch_in_flight_is_picked_up_by_its_id(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel], tmp_path: Path
) -> None:
    """Another process asks the same: nothing is sent, the first batch's answers arrive."""
    api = start(batch_seconds=0.2)
    path = tmp_path / "ledger.sqlite"
    await left_in_flight(api, Ledger.open(path), numbers(8))
    answers = await all_of(opened(api, Ledger.open(path)), numbers(8))
    assert [a.text for a in answers] == [f"House {i} is red." for i in range(8)]
    assert (api.counts.batches, api.counts.items) == (1, 8)


async def test_what_is_asked_beside_a_batch_in_flight_is_a_batch_of_its_own(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel]
) -> None:
    """Only the calls that are in neither the ledger nor a batch are sent."""
    api = start(batch_seconds=0.2)
    ledger = Ledger.open(None)
    await left_in_flight(api, ledger, numbers(5))
    answers = await all_of(opened(api, ledger), numbers(8))
    assert len({a.text for a in answers}) == 8
    assert (api.counts.batches, api.counts.items) == (2, 8)


async def test_a_batch_whose_id_was_not_noted_is_found_by_its_custom_ids(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel]
) -> None:
    """Killed between the provider's yes and our note; another batch of the same size is not taken for it."""
    api = start()
    ledger = Ledger.open(None)
    await left_in_flight(api, ledger, numbers(4))
    await left_in_flight(api, Ledger.open(None), [about(i) for i in range(100, 104)])
    ledger._connection.execute("UPDATE waves SET batch_id = NULL")
    answers = await all_of(opened(api, ledger), numbers(4))
    assert [a.text for a in answers] == [f"House {i} is red." for i in range(4)]
    assert (api.counts.batches, api.counts.items) == (2, 8)


async def test_a_batch_that_was_never_taken_is_sent(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel]
) -> None:
    """Killed after our note and before the provider heard of it; or the provider forgot it."""
    ledger = Ledger.open(None)
    await left_in_flight(start(), ledger, numbers(4))
    other = start()
    for forgotten in ("batch_id = NULL", "batch_id = 'msgbatch_of_another_server'"):
        ledger._connection.execute(f"UPDATE waves SET {forgotten}, done = 0")
        answers = await all_of(opened(other, ledger), numbers(4))
        assert [a.text for a in answers] == [f"House {i} is red." for i in range(4)]
    assert (
        other.counts.items == 4 + 4
    )  # its answers went to no ledger here, so the second asks anew


async def test_an_answered_batch_is_never_asked_after_again(
    start: Callable[..., FakeApi], tmp_path: Path
) -> None:
    """Once the ledger holds the answers the batch is done: a rerun sends no request at all."""
    api = start(keeps_requests=True)
    how = Delivery(batched=True, base_url=api.base_url, quiet_seconds=QUIET, poll_seconds=POLL)
    for _ in range(2):
        ledger = Ledger.open(tmp_path / "ledger.sqlite")
        async with open_client(ledger=ledger, delivery=how) as client:
            await all_of(client, numbers(6))
            sent = len(api.requests)
            await client.complete(about(50))
        ledger.close()
    assert len(api.requests) == sent
    assert api.counts.items == 7
    assert Ledger.open(tmp_path / "ledger.sqlite").open_waves() == []


async def test_a_bad_batch_fails_every_call_of_the_batch_once(
    start: Callable[..., FakeApi],
    opened: Callable[..., BatchModel],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch refused as a whole is the failure of each of its calls."""
    api = start()
    monkeypatch.setattr("ctxeng.fakeapi.batches.MOST_REQUESTS", 2)
    answers = await all_of(opened(api), numbers(3))
    assert [type(a) for a in answers] == [ModelRejected] * 3
    assert "batch: status 400: requests: List should have 1 to 2 items" in str(answers[0])
    assert api.counts.batches == 0


KEY_FAULTS = [(401, "authentication_error"), (403, "permission_error")]


@pytest.mark.parametrize(("status", "kind"), KEY_FAULTS)
async def test_a_key_that_one_model_is_not_open_to_is_refused_and_not_tried_again(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel], status: int, kind: str
) -> None:
    """The item says so; its neighbours are answered."""

    class Closed:
        async def complete(self, request: ModelRequest) -> ModelResponse:
            raise Refusal("not with this key", status=status, kind=kind)

    api = start(models={"closed-1": Closed()})
    asked = [about(1), replace(about(2), model="closed-1")]
    answer, refused = await all_of(opened(api), asked)
    assert answer.text == "House 1 is red."
    assert type(refused) is KeyRefused
    assert str(refused) == f"{kind}: not with this key"
    assert api.counts.batches == 1


@pytest.mark.parametrize(("status", "kind"), KEY_FAULTS)
async def test_a_key_that_is_not_taken_at_all_is_refused(
    start: Callable[..., FakeApi], opened: Callable[..., BatchModel],
    monkeypatch: pytest.MonkeyPatch, status: int, kind: str,
) -> None:  # fmt: skip
    """Where a batch is sent, and where one is looked for that a killed run left unnoted."""
    api, ledger = start(), Ledger.open(None)

    def refuse(*_: object) -> Any:
        raise Refusal("invalid x-api-key", status=status, kind=kind)

    monkeypatch.setattr(api.office, "create", refuse)
    monkeypatch.setattr(api.office, "newest_first", refuse)
    sent = await all_of(opened(api), numbers(2))
    left = call_key(about(9))
    ledger.wave_opened(Wave(name="left", sent_at=time.time(), keys=(left,)))
    (found,) = await asyncio.wait_for(all_of(opened(api, ledger), [about(9)]), 20)
    for failed in (*sent, found):
        assert type(failed) is KeyRefused
        assert str(failed) == f"batch: status {status}: invalid x-api-key"
    assert [wave.name for wave in ledger.open_waves()] == ["left"]


def test_a_calls_address_is_a_valid_custom_id() -> None:
    """At most 64 letters, digits, hyphens and underscores."""
    assert len(call_key(about(1))) == 64
