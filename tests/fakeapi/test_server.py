"""The endpoints through the ordinary SDK: what a program that knows nothing of the fake gets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import get_args

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import ModelParam

from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import InputError
from ctxeng.fakeapi import FakeApi, serve
from ctxeng.fakeapi.refusals import Refusal
from ctxeng.fakeapi.serving import bound
from tests.fakeapi.conftest import HAIKU, body, client

JUDGE = {
    "name": "record_verdict",
    "input_schema": {
        "type": "object",
        "properties": {"verdict": {"type": "string"}, "reason": {"type": "string"}},
    },
}


async def test_the_answer_is_read_from_the_prompt_and_says_who_gave_it(sdk: AsyncAnthropic) -> None:
    """The offline model found the sentence; no report can take the answer for Claude's."""
    context = {"role": "user", "content": "The budget is 1,850 euros. The colour is blue."}
    question = {"role": "user", "content": "What is the budget?"}
    message = await sdk.messages.create(**body(messages=[context, question]))
    assert message.content[0].text == "The budget is 1,850 euros."
    assert message.model == f"offline-1:{HAIKU}"
    assert (message.stop_reason, message.usage.service_tier) == ("end_turn", "standard")


async def test_another_model_may_answer_and_is_named(start: Callable[..., FakeApi]) -> None:
    """By its own id, beside the API's; where it was cut, and what it refuses, is passed on."""

    class Parrot:
        async def complete(self, request: ModelRequest) -> ModelResponse:
            said = str(request.messages[-1]["content"])
            if "long" in said:
                raise Refusal("prompt is too long: 9 tokens > 8 maximum")
            return ModelResponse(text=said, stop_reason="max_tokens", model="parrot-1")

    async with client(start(models={"parrot": Parrot()})) as sdk:
        messages = [{"role": "user", "content": "Polly"}]
        message = await sdk.messages.create(**body(model="parrot", messages=messages))
        assert (message.content[0].text, message.model) == ("Polly", "parrot-1:parrot")
        assert message.stop_reason == "max_tokens"
        assert (await sdk.messages.create(**body())).model == f"offline-1:{HAIKU}"
        assert "parrot" in [model.id async for model in sdk.models.list()]
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            messages = [{"role": "user", "content": "long"}]
            await sdk.messages.create(**body(model="parrot", messages=messages))
        with pytest.raises(anthropic.NotFoundError):
            await sdk.messages.create(**body(model="macaw"))


async def test_an_answer_longer_than_max_tokens_is_cut_and_says_so(sdk: AsyncAnthropic) -> None:
    """Five tokens are at most twenty letters."""
    said = "The budget for the kitchen is one thousand eight hundred and fifty euros."
    messages = [{"role": "user", "content": said}, {"role": "user", "content": "The budget?"}]
    message = await sdk.messages.create(**body(messages=messages, max_tokens=5))
    assert message.content[0].text == "The budget for the k"
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 5)


async def test_input_tokens_are_what_the_count_endpoint_says(sdk: AsyncAnthropic) -> None:
    """One counter for both; Japanese weighs about a token a character."""
    asked = body(system="Be brief.", messages=[{"role": "user", "content": "予算はいくらですか"}])
    message = await sdk.messages.create(**asked)
    counted = await sdk.messages.count_tokens(
        **{k: v for k, v in asked.items() if k != "max_tokens"}
    )
    assert counted.input_tokens == message.usage.input_tokens == (3 + 3) + (10 + 3)


async def test_usage_tells_what_the_cache_did(start: Callable[..., FakeApi]) -> None:
    """Written by the first request and read by the second."""
    system = [{"type": "text", "text": "a" * 20_000, "cache_control": {"type": "ephemeral"}}]
    async with client(start()) as sdk:
        first = (await sdk.messages.create(**body(system=system))).usage
        second = (await sdk.messages.create(**body(system=system))).usage
    assert (first.cache_creation_input_tokens, first.cache_read_input_tokens) == (5003, 0)
    assert (second.cache_creation_input_tokens, second.cache_read_input_tokens) == (0, 5003)
    assert first.cache_creation.ephemeral_5m_input_tokens == 5003


@pytest.mark.parametrize("forced", [False, True], ids=["text", "tool"])
async def test_a_streamed_message_is_the_message(sdk: AsyncAnthropic, forced: bool) -> None:
    """The SDK puts the events together to what it would have got at once."""
    choice = {"tool_choice": {"type": "tool", "name": JUDGE["name"]}, "tools": [JUDGE]}
    asked = body(**(choice if forced else {}))
    whole = await sdk.messages.create(**asked)
    async with sdk.messages.stream(**asked) as stream:
        streamed = await stream.get_final_message()
    dumped = streamed.model_dump(exclude={"content": {"__all__": {"parsed_output"}}})
    assert dumped == whole.model_dump()
    assert streamed.content[0].type == ("tool_use" if forced else "text")


async def test_a_forced_judge_calls_its_tool_and_decides_nothing(sdk: AsyncAnthropic) -> None:
    """The verdict is the offline judge's."""
    message = await sdk.messages.create(**body(tools=[JUDGE], tool_choice={"type": "any"}))
    (block,) = message.content
    assert (block.type, block.name, block.input["verdict"]) == (
        "tool_use", "record_verdict", "undecided",
    )  # fmt: skip
    assert message.stop_reason == "tool_use"


async def test_an_error_has_the_apis_shape_and_the_sdks_class(sdk: AsyncAnthropic) -> None:
    """What a client branches on."""
    with pytest.raises(anthropic.BadRequestError) as bad:
        await sdk.messages.create(**body(messages=[]))
    assert bad.value.body["type"] == "error"
    assert bad.value.body["error"] == {
        "type": "invalid_request_error",
        "message": "messages: at least one message is required",
    }
    with pytest.raises(anthropic.NotFoundError):
        await sdk.messages.create(**body(model="claude-haiku-9"))


async def test_a_request_without_key_or_version_or_json_is_refused(api: FakeApi) -> None:
    """What the SDK always sends, the server wants."""
    url = f"{api.base_url}/v1/messages"
    version, key = {"anthropic-version": "2023-06-01"}, {"x-api-key": "k"}
    async with httpx2.AsyncClient() as plain:
        keyless = await plain.post(url, json=body(), headers=version)
        old = await plain.post(url, json=body(), headers=key)
        broken = await plain.post(url, content=b"{", headers={**version, **key})
        listed = await plain.post(url, json=[], headers={**version, **key})
    assert keyless.status_code == 401
    assert keyless.json()["error"]["type"] == "authentication_error"
    assert [r.status_code for r in (old, broken, listed)] == [400, 400, 400]


async def test_the_models_are_those_of_the_sdk(sdk: AsyncAnthropic) -> None:
    """A page of all, and one by id."""
    named = {name for part in get_args(ModelParam) for name in get_args(part)}
    listed = [model.id async for model in sdk.models.list()]
    assert named <= set(listed)
    one = await sdk.models.retrieve(HAIKU)
    assert (one.max_input_tokens, one.max_tokens) == (200_000, 64_000)
    with pytest.raises(anthropic.NotFoundError):
        await sdk.models.retrieve("claude-haiku-9")


async def test_more_in_flight_than_allowed_is_a_rate_limit(start: Callable[..., FakeApi]) -> None:
    """Of four at once with room for three one is turned away; headers tell what is left."""
    api = start(most_in_flight=3, latency_seconds=0.3)
    async with client(api) as sdk:
        asked = [sdk.messages.with_raw_response.create(**body()) for _ in range(4)]
        done = await asyncio.gather(*asked, return_exceptions=True)
    turned = [one for one in done if isinstance(one, anthropic.RateLimitError)]
    assert len(turned) == 1
    (header,) = {
        one.headers["anthropic-ratelimit-requests-limit"] for one in done if one not in turned
    }
    assert header == "3"


def test_a_port_that_is_taken_is_told_in_one_line(api: FakeApi) -> None:
    """The remedy is named."""
    port = int(api.base_url.rsplit(":", 1)[1])
    with pytest.raises(InputError, match=f"port must be free, got {port}"):
        serve(FakeApi(), port=port, on_ready=lambda _: None)


async def test_answers_leave_at_once_and_do_not_wait_for_an_acknowledgement() -> None:
    accepted: asyncio.Queue[int] = asyncio.Queue()

    def seen(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw = writer.get_extra_info("socket")
        accepted.put_nowait(raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = bound(0)
    async with await asyncio.start_server(seen, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        assert await accepted.get() == 1
        writer.close()
