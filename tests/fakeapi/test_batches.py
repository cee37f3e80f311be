"""Message Batches through the SDK: created, asked after, read, cancelled, listed, expired."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from ctxeng.fakeapi import FakeApi, FaultPlan
from tests.fakeapi.conftest import body, client


def item(name: str, **changes: Any) -> dict[str, Any]:
    return {"custom_id": name, "params": body(**changes)}


async def ended(sdk: AsyncAnthropic, batch_id: str) -> Any:
    """Return a batch once it has ended."""
    while True:
        batch = await sdk.messages.batches.retrieve(batch_id)
        if batch.processing_status == "ended":
            return batch
        await asyncio.sleep(0.02)


async def results(sdk: AsyncAnthropic, batch_id: str) -> dict[str, Any]:
    return {
        line.custom_id: line.result async for line in await sdk.messages.batches.results(batch_id)
    }


async def test_a_batch_answers_each_item_under_its_id(sdk: AsyncAnthropic) -> None:
    """A valid item is answered as alone, at batch tier; an invalid one fails by itself."""
    alone = await sdk.messages.create(**body())
    made = await sdk.messages.batches.create(requests=[item("good"), item("bad", messages=[])])
    assert made.request_counts.processing == 2
    batch = await ended(sdk, made.id)
    counts = batch.request_counts
    assert (counts.succeeded, counts.errored, counts.processing) == (1, 1, 0)
    found = await results(sdk, made.id)
    assert found["good"].message.content == alone.content
    assert found["good"].message.usage.service_tier == "batch"
    assert found["bad"].error.error.type == "invalid_request_error"


async def test_results_are_not_there_before_the_end(start: Callable[..., FakeApi]) -> None:
    """Nor is their address."""
    async with client(start(batch_seconds=60)) as sdk:
        made = await sdk.messages.batches.create(requests=[item("a")])
        shown = await sdk.messages.batches.retrieve(made.id)
        assert (shown.processing_status, shown.results_url) == ("in_progress", None)
        with pytest.raises(anthropic.BadRequestError, match="not ended"):
            await sdk.get(f"/v1/messages/batches/{made.id}/results", cast_to=str)


async def test_a_cancelled_batch_ends_without_answers(start: Callable[..., FakeApi]) -> None:
    """Its items are cancelled, not failed, and it does not go on for as long as it would have."""
    async with client(start(batch_seconds=60)) as sdk:
        made = await sdk.messages.batches.create(requests=[item("a"), item("b")])
        assert (await sdk.messages.batches.cancel(made.id)).processing_status == "canceling"
        assert (await ended(sdk, made.id)).request_counts.canceled == 2
        assert {r.type for r in (await results(sdk, made.id)).values()} == {"canceled"}
        with pytest.raises(anthropic.BadRequestError, match="already ended"):
            await sdk.messages.batches.cancel(made.id)


async def test_a_batch_that_takes_longer_than_its_life_expires(
    start: Callable[..., FakeApi],
) -> None:
    """Every item that was not answered by then is expired."""
    api = start(batch_seconds=60, batch_life=timedelta(milliseconds=50))
    async with client(api) as sdk:
        made = await sdk.messages.batches.create(requests=[item("a")])
        assert (await ended(sdk, made.id)).request_counts.expired == 1


async def test_batches_are_listed_page_by_page_the_newest_first(
    start: Callable[..., FakeApi],
) -> None:
    """As the SDK walks through pages."""
    async with client(start()) as sdk:
        made = [await sdk.messages.batches.create(requests=[item("a")]) for _ in range(5)]
        listed = [batch.id async for batch in sdk.messages.batches.list(limit=2)]
    assert listed == [batch.id for batch in reversed(made)]


BAD: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "the same id twice": [item("a"), item("a")],
    "an id with a space": [item("a b")],
    "an id of 65 letters": [item("a" * 65)],
    "another key": [{**item("a"), "colour": "red"}],
}


@pytest.mark.parametrize("requests", BAD.values(), ids=BAD)
async def test_a_bad_batch_is_refused_as_a_whole(
    sdk: AsyncAnthropic, requests: list[dict[str, Any]]
) -> None:
    """Nothing of it is worked on."""
    with pytest.raises(anthropic.BadRequestError):
        await sdk.messages.batches.create(requests=requests)


async def test_an_unknown_batch_is_not_found(sdk: AsyncAnthropic) -> None:
    """404."""
    with pytest.raises(anthropic.NotFoundError):
        await sdk.messages.batches.retrieve("msgbatch_none")


async def test_items_fail_at_the_rate_of_the_plan(start: Callable[..., FakeApi]) -> None:
    """At a rate of one no item is answered well."""
    kinds = ("thinking_only", "refusal", "expired", "errored")
    api = start(faults=FaultPlan(rate=1.0, kinds=kinds))
    async with client(api) as sdk:
        texts = [[{"role": "user", "content": f"Question {i}?"}] for i in range(40)]
        made = await sdk.messages.batches.create(
            requests=[item(str(i), messages=text) for i, text in enumerate(texts)]
        )
        await ended(sdk, made.id)
        found = {r.type for r in (await results(sdk, made.id)).values()}
    assert found == {"succeeded", "expired", "errored"}
    assert api.faults.made.total() == 40
