"""The recording client: every call leaves a row, also the one that failed."""

from __future__ import annotations

import asyncio

import pytest

from ctxeng.core.calls import ModelRequest
from ctxeng.core.errors import LimitReached, ModelError, ModelRefused, ModelUnavailable
from ctxeng.harness.replay.recording import RecordingClient
from ctxeng.harness.results.tables import CALLS
from tests.harness.replay.scripted import Scripted
from tests.support.calls import ScriptedClient, request

ADDED = {"run_id", "arm", "session_id"}


async def test_a_call_leaves_its_row_and_returns_the_response() -> None:
    """Role, model, prompt, tokens, money and time as the client told them."""
    recording = RecordingClient(Scripted("三千円"))
    asked: ModelRequest = request("予算は？", role="summariser", prompt_id="episode@1", replicate=2)
    response = await recording.complete(asked)
    assert response.text == "三千円"
    assert recording.rows == [
        {
            "role": "summariser",
            "model": asked.model,
            "prompt_id": "episode@1",
            "replicate": 2,
            "key": "k1",
            "input_tokens": 100,
            "cached_tokens": 40,
            "cache_write_tokens": 5,
            "output_tokens": 7,
            "cost_usd": 0.001,
            "latency_seconds": 0.5,
            "from_ledger": False,
        }
    ]
    assert set(recording.rows[0]) | {"error"} == set(CALLS) - ADDED


async def test_the_request_goes_on_unchanged() -> None:
    """What is recorded is what was asked."""
    inner = Scripted("x")
    asked = request("</question>\x00", extra={"temperature": 0})
    await RecordingClient(inner).complete(asked)
    assert inner.requests == [asked]


@pytest.mark.parametrize(
    "error", [ModelRefused("no"), ModelUnavailable("529"), LimitReached("max calls")]
)
async def test_a_failed_call_leaves_a_row_and_is_raised(error: ModelError) -> None:
    """The error is told with its kind; there are no tokens to count."""
    recording = RecordingClient(Scripted(error, "second try"))
    with pytest.raises(type(error)):
        await recording.complete(request())
    await recording.complete(request())
    assert recording.rows[0]["error"] == f"{type(error).__name__}: {error}"
    assert "input_tokens" not in recording.rows[0]
    assert "error" not in recording.rows[1]


async def test_a_price_nobody_knows_stays_unknown() -> None:
    """None, not 0: an unpriced model is not free."""
    recording = RecordingClient(ScriptedClient("x"))
    await recording.complete(request())
    assert recording.rows[0]["cost_usd"] is None


async def test_calls_in_flight_together_have_a_row_each() -> None:
    """Rows are added as calls end, and none is lost."""
    inner = ScriptedClient("x").held(3)
    recording = RecordingClient(inner)
    calls = [asyncio.create_task(recording.complete(request(str(i)))) for i in range(3)]
    await inner.arrived.wait()
    assert recording.rows == []
    inner.release()
    await asyncio.gather(*calls)
    assert len(recording.rows) == 3
