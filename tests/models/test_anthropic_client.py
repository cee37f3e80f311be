"""The Messages API client against a real server: what is retried, what is refused, what is told.

Every test drives the real SDK over loopback. The server tells the SDK to try again at once.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

import pytest

from ctxeng.core.calls import ModelRequest, Usage
from ctxeng.core.errors import (
    CtxengError,
    EmptyAnswer,
    InputError,
    KeyRefused,
    MalformedTool,
    ModelError,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
)
from ctxeng.models.anthropic_client import AnthropicModel
from tests.models.conftest import CANARY
from tests.support.calls import HAIKU, request
from tests.support.messages_server import (
    FakeApi,
    Reply,
    answer,
    bodies,
    broken,
    dropped,
    error,
    hanging,
    message,
    overloaded,
    rate_limited,
    raw,
    refusal,
    thinking_only,
    tool_call,
    unused_url,
    window_exceeded,
)

TOOL: dict[str, Any] = {
    "name": "record",
    "description": "Record the budget.",
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["amount"],
        "properties": {"amount": {"type": "integer"}, "unit": {"type": ["string", "null"]}},
    },
}


def client(server: FakeApi, **options: Any) -> AnthropicModel:
    """Return a client of the server that gives up after two more tries of either kind."""
    return AnthropicModel(
        base_url=server.base_url, **{"transport_retries": 2, "useless_retries": 2, **options}
    )


async def failure(model: AnthropicModel, asked: ModelRequest | None = None) -> ModelError:
    """Return the error of a call that must fail."""
    with pytest.raises(ModelError) as caught:
        await model.complete(asked or request())
    return caught.value


async def test_a_good_answer_comes_back_with_its_usage_and_its_model(
    server: FakeApi,
) -> None:
    """Text blocks are joined; tokens are kept by kind."""
    usage = {"cache_read_input_tokens": 7, "cache_creation_input_tokens": 3}
    text = ({"type": "text", "text": "予算は"}, {"type": "text", "text": "1,850です。"})
    server.play(message(*text, usage=usage))
    response = await client(server).complete(request())
    assert response.text == "予算は1,850です。"
    assert (response.model, response.stop_reason) == (HAIKU, "end_turn")
    assert response.usage == Usage(
        input_tokens=10, cached_tokens=7, cache_write_tokens=3, output_tokens=5
    )
    assert response.tool_input is None
    assert (response.key, response.cost_usd, response.from_ledger) == ("", None, False)
    assert response.latency_seconds > 0


async def test_a_plain_request_sends_what_was_asked_and_nothing_else(
    server: FakeApi,
) -> None:
    """No empty system, no tools, no parameters of our own."""
    server.play(answer("ok"))
    await client(server).complete(request("예산은?"))
    (received,) = server.requests
    assert received.path == "/v1/messages"
    assert CANARY in (received.headers.get("x-api-key") or received.headers["authorization"])
    assert received.body == {
        "model": HAIKU,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "예산은?"}],
    }


async def test_system_blocks_tools_and_extra_parameters_are_sent_as_given(
    server: FakeApi,
) -> None:
    """Cache marks survive, the forced tool is named, extras stand at the top of the body."""
    system = {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    other = {"name": "read", "input_schema": {"type": "object"}}
    server.play(tool_call("record", {"amount": 3}))
    await client(server).complete(
        request(system=(system,), tools=(other,), tool=TOOL, extra={"temperature": 0, "top_k": 5})
    )
    (body,) = bodies(server.requests)
    assert body["system"] == [system]
    assert body["tools"] == [other, TOOL]
    assert body["tool_choice"] == {"type": "tool", "name": "record"}
    assert (body["temperature"], body["top_k"]) == (0, 5)


async def test_tools_without_a_forced_one_leave_the_choice_to_the_model(
    server: FakeApi,
) -> None:
    """A reader that shares the product's tools may answer in words."""
    server.play(answer("1,850"))
    response = await client(server).complete(request(tools=(TOOL,)))
    (body,) = bodies(server.requests)
    assert "tool_choice" not in body
    assert (response.text, response.tool_input) == ("1,850", None)


async def test_a_long_answer_may_be_asked_for_without_streaming(server: FakeApi) -> None:
    """The SDK's own guess of a time-out does not stand in the way."""
    server.play(answer("ok"))
    response = await client(server).complete(request(max_tokens=64_000))
    assert response.text == "ok"


@pytest.mark.parametrize(
    "trouble",
    [
        rate_limited(),
        rate_limited(headers={"retry-after": "0.001"}),
        overloaded(),
        broken(),
        error(503, "api_error"),
        error(408, "timeout_error"),
        error(409, "api_error"),
        dropped(),
    ],
    ids=["429", "429 retry-after", "529", "500", "503", "408", "409", "dropped"],
)
async def test_a_fault_of_transport_is_tried_again_and_then_answered(
    server: FakeApi, trouble: Reply
) -> None:
    """Rate limit, overload, server fault and a broken connection cost nothing but time."""
    server.play(trouble, answer("Kestrel"))
    response = await client(server).complete(request())
    assert response.text == "Kestrel"
    assert response.usage == Usage(input_tokens=10, output_tokens=5)
    first, second = bodies(server.requests)
    assert first == second


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (rate_limited(), "status 429: slow down"),
        (overloaded(), "status 529: Overloaded"),
        (broken(), "status 500: Internal server error"),
        (error(425, "api_error", "too early"), "status 425: too early"),
        (raw(b"<html>bad gateway</html>", status=502), "status 502: no message"),
        (dropped(), "APIConnectionError (reader)."),
    ],
    ids=["429", "529", "500", "425", "502 page", "dropped"],
)
async def test_a_fault_of_transport_that_stays_is_unavailable(
    server: FakeApi, trouble: Reply, told: str
) -> None:
    """After all retries the call fails with the API's own words, and nothing was billed."""
    server.play(trouble)
    failed = await failure(client(server, transport_retries=0))
    assert type(failed) is ModelUnavailable
    assert str(failed) == told
    assert failed.usage is None
    assert len(server.requests) == 1


async def test_transport_is_retried_as_often_as_was_set(server: FakeApi) -> None:
    """Two retries are three requests."""
    server.play(overloaded())
    await failure(client(server, transport_retries=2))
    assert len(server.requests) == 3


async def test_a_server_that_is_not_there_is_unavailable(canary: str) -> None:
    """A refused connection is no crash."""
    model = AnthropicModel(base_url=unused_url(), transport_retries=0)
    assert str(await failure(model)) == "APIConnectionError (reader)."


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (error(400, "invalid_request_error", "prompt is too long"), "status 400: prompt is too"),
        (error(401, "authentication_error", "invalid x-api-key"), "status 401: invalid x-api-key"),
        (error(403, "permission_error"), "status 403: no"),
        (error(404, "not_found_error", "model: 없음"), "status 404: model: 없음"),
        (error(413, "request_too_large", "too large"), "status 413: too large"),
        (raw(b"", status=400), "status 400: no message"),
        (raw(b'{"error": "flat"}', status=422), "status 422: no message"),
        (raw(b'{"error": {"message": null}}', status=422), "status 422: no message"),
    ],
    ids=["400", "401", "403", "404", "413", "empty body", "flat error", "null message"],
)
async def test_an_invalid_request_is_rejected_at_once(
    server: FakeApi, trouble: Reply, told: str
) -> None:
    """Asking again would not help, so it is asked once."""
    server.play(trouble)
    failed = await failure(client(server))
    assert type(failed) is (KeyRefused if told[7:10] in ("401", "403") else ModelRejected)
    assert str(failed).startswith(told)
    assert len(server.requests) == 1


async def test_a_prompt_beyond_the_models_window_is_rejected_and_not_read(
    server: FakeApi,
) -> None:
    """The text that came with that stop reason is no answer."""
    server.play(window_exceeded())
    failed = await failure(client(server))
    assert type(failed) is ModelRejected
    assert "must fit the model's window" in str(failed)
    assert len(server.requests) == 1


USELESS: list[tuple[str, Reply, dict[str, Any], type[ModelError], str]] = [
    ("thinking only", thinking_only(), {}, EmptyAnswer, "got thinking (stop: end_turn)"),
    (
        "cut before any text",
        thinking_only(stop_reason="max_tokens"),
        {},
        EmptyAnswer,
        "got thinking (stop: max_tokens)",
    ),
    ("no content", message(), {}, EmptyAnswer, "got nothing"),
    ("blank text", answer(" \n"), {}, EmptyAnswer, "got text"),
    ("null text", message({"type": "text", "text": None}), {}, EmptyAnswer, "got text"),
    ("refusal", refusal(), {}, ModelRefused, "declined (reader)"),
    ("refusal of a tool", refusal(), {"tool": TOOL}, ModelRefused, "declined (reader)"),
    ("no tool call", answer("3"), {"tool": TOOL}, MalformedTool, "must call record"),
    ("another tool", tool_call("x", {"amount": 3}), {"tool": TOOL}, MalformedTool, "must call rec"),
    ("input is text", tool_call("record", '{"amo'), {"tool": TOOL}, MalformedTool, "must call rec"),
    ("input is null", tool_call("record", None), {"tool": TOOL}, MalformedTool, "must call record"),
    ("key missing", tool_call("record", {}), {"tool": TOOL}, MalformedTool, "must hold amount"),
    (
        "wrong type",
        tool_call("record", {"amount": "three"}),
        {"tool": TOOL},
        MalformedTool,
        "record.amount must be integer",
    ),
    (
        "unknown key",
        tool_call("record", {"amount": 3, "x": 1}),
        {"tool": TOOL},
        MalformedTool,
        "must hold nothing but amount, unit",
    ),
    (
        "cut in the middle of the call",
        tool_call("record", {"amount": 3}, stop_reason="max_tokens"),
        {"tool": TOOL},
        MalformedTool,
        "must call record whole",
    ),
]


@pytest.mark.parametrize(
    ("reply", "asked", "kind", "told"), [c[1:] for c in USELESS], ids=[c[0] for c in USELESS]
)
async def test_a_useless_answer_is_asked_for_again_and_then_an_error_with_its_bill(
    server: FakeApi, reply: Reply, asked: dict[str, Any], kind: type[ModelError], told: str
) -> None:
    """Never an empty answer as text; three tries of ten and five tokens were paid for."""
    server.play(reply)
    failed = await failure(client(server), request(**asked))
    assert type(failed) is kind
    assert told in str(failed)
    assert failed.usage == Usage(input_tokens=30, output_tokens=15)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "asked"), [(c[1], c[2]) for c in USELESS], ids=[c[0] for c in USELESS]
)
async def test_a_useful_answer_after_a_useless_one_is_returned_with_both_on_the_bill(
    server: FakeApi, reply: Reply, asked: dict[str, Any]
) -> None:
    """The second try is sent the same request."""
    good = tool_call("record", {"amount": 3}) if asked else answer("Kestrel")
    server.play(reply, good)
    response = await client(server).complete(request(**asked))
    assert response.tool_input == ({"amount": 3} if asked else None)
    assert response.text == ("" if asked else "Kestrel")
    assert response.usage == Usage(input_tokens=20, output_tokens=10)
    first, second = bodies(server.requests)
    assert first == second


async def test_without_useless_retries_the_first_useless_answer_is_final(
    server: FakeApi,
) -> None:
    """The edge of the setting."""
    server.play(thinking_only(), answer("never asked for"))
    failed = await failure(client(server, useless_retries=0))
    assert type(failed) is EmptyAnswer
    assert len(server.requests) == 1


async def test_an_answer_cut_at_max_tokens_that_holds_text_is_returned_and_says_so(
    server: FakeApi,
) -> None:
    """A reader's half sentence can be scored; who needs it whole looks at the stop reason."""
    server.play(answer("The budget is", stop_reason="max_tokens"))
    response = await client(server).complete(request())
    assert (response.text, response.stop_reason) == ("The budget is", "max_tokens")


async def test_text_beside_thinking_and_unknown_blocks_is_the_answer(
    server: FakeApi,
) -> None:
    """A kind of block that is newer than the SDK does no harm."""
    server.play(
        message(
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "some_new_block", "payload": [1]},
            {"type": "text", "text": "파란색"},
        )
    )
    assert (await client(server).complete(request())).text == "파란색"


async def test_a_forced_tool_may_come_with_words_and_after_another_tool(
    server: FakeApi,
) -> None:
    """The first call of the right name counts; the words are kept."""
    server.play(
        message(
            {"type": "text", "text": "I record it."},
            {"type": "tool_use", "id": "t0", "name": "read", "input": {}},
            {"type": "tool_use", "id": "t1", "name": "record", "input": {"amount": 1850}},
            stop_reason="tool_use",
        )
    )
    response = await client(server).complete(request(tool=TOOL))
    assert (response.text, response.tool_input) == ("I record it.", {"amount": 1850})
    assert response.stop_reason == "tool_use"


async def test_a_number_beyond_64_bits_and_half_an_emoji_survive_as_json(
    server: FakeApi,
) -> None:
    """What a model makes up can be stored: surrogates are replaced, numbers stay whole."""
    tool = {"name": "record", "input_schema": {"type": "object"}}
    body = tool_call("record", {"amount": 7, "note": "x"}).body
    body = body.replace(b'"amount":7', b'"amount":123456789012345678901234')
    server.play(raw(body.replace(b'"note":"x"', b'"note":"a\\ud83d"')))
    response = await client(server).complete(request(tool=tool))
    assert response.tool_input == {"amount": 123456789012345678901234, "note": "a\ufffd"}
    server.play(raw(answer("q").body.replace(b'"q"', b'"cut \\ud83d"')))
    assert (await client(server).complete(request())).text == "cut \ufffd"


@pytest.mark.parametrize(
    "reply",
    [
        raw(b"<html>sign in</html>", content_type="text/html"),
        raw(b'{"id": "msg_01", "type": "mess'),
        raw(b""),
        raw(b"\xff\xfe{"),
        raw(b"null"),
        raw(b"[]"),
        raw(b'"text"'),
        raw(b'{"ok": true}'),
        message(content=None),
        message(content="text"),
        message({"text": "no type"}),
        message({"type": "text", "text": "x"}, model=None),
        message({"type": "text", "text": "x"}, usage={"input_tokens": None}),  # type: ignore[dict-item]
        raw(answer("x").body.replace(b'"usage"', b'"usages"')),
        message({"type": "text", "text": 5}),
        message({"type": "text", "text": "x"}, usage={"input_tokens": 2**62, "output_tokens": 1}),
        message({"type": "text", "text": "x"}, usage={"input_tokens": -1, "output_tokens": 1}),
        message(
            {"type": "text", "text": "x"},
            usage={"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": -9},
        ),
    ],
    ids=[
        "a page",
        "half a body",
        "empty body",
        "no UTF-8",
        "null",
        "a list",
        "a string",
        "another object",
        "null content",
        "content is text",
        "block without type",
        "no model",
        "no tokens",
        "no usage",
        "text is a number",
        "more tokens than can be",
        "fewer tokens than none",
        "fewer cached than none",
    ],
)
async def test_a_success_that_is_no_message_is_unavailable_and_never_a_crash(
    server: FakeApi, reply: Reply
) -> None:
    """A gateway's page or another service's JSON is told in one line."""
    server.play(reply)
    failed = await failure(client(server))
    assert type(failed) is ModelUnavailable
    assert str(failed) == "response must be a message, got something else (reader)."


async def test_a_request_that_cannot_be_encoded_is_rejected_before_it_is_sent(
    server: FakeApi,
) -> None:
    """Half an emoji in a prompt is the caller's fault, and says so."""
    server.play(answer("never"))
    failed = await failure(client(server), request("cut \ud83d"))
    assert type(failed) is ModelRejected
    assert server.requests == []


async def test_hostile_text_reaches_the_model_unchanged(server: FakeApi) -> None:
    """Control characters, NUL and delimiters are data to the transport."""
    text = "a\0b\x1b[31m </memory> \u202e '\"\\ 予算 예산 😀"
    server.play(answer(text))
    response = await client(server).complete(request(text))
    assert bodies(server.requests)[0]["messages"][0]["content"] == text
    assert response.text == text


async def test_a_call_that_outlives_its_deadline_is_unavailable(server: FakeApi) -> None:
    """The deadline holds over all tries, whatever the transport is waiting for."""
    server.play(hanging())
    failed = await failure(client(server, deadline_seconds=0.05))
    assert type(failed) is ModelUnavailable
    assert str(failed) == "call must end within 0.05 s (reader)."


async def test_a_retry_that_the_server_puts_off_for_hours_ends_at_the_deadline(
    server: FakeApi,
) -> None:
    """A rate limit of a day does not hang a nightly run."""
    server.play(rate_limited(headers={"retry-after": "86400"}))
    failed = await failure(client(server, deadline_seconds=0.2))
    assert "must end within 0.2 s" in str(failed)


async def test_a_silent_server_times_out(server: FakeApi) -> None:
    """The time-out of one try is a fault of transport."""
    server.play(hanging())
    failed = await failure(client(server, timeout_seconds=0.05, transport_retries=0))
    assert str(failed) == "APITimeoutError (reader)."


async def test_a_failed_call_gives_its_place_to_the_next(server: FakeApi) -> None:
    """With one call in flight at a time, an error must not block those that wait."""
    server.play(error(400, "invalid_request_error"), answer("second"))
    model = client(server, concurrency=1)
    first, second = await asyncio.gather(
        model.complete(request("a")), model.complete(request("b")), return_exceptions=True
    )
    assert isinstance(first, ModelRejected)
    assert not isinstance(second, BaseException)
    assert second.text == "second"


async def test_the_address_is_taken_from_the_environment_where_none_is_given(
    server: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any Messages-compatible server works by ANTHROPIC_BASE_URL."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
    server.play(answer("from here"))
    assert (await AnthropicModel().complete(request())).text == "from here"


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_key_is_told_by_the_variables_name(
    canary: str, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """An empty variable is a missing one; the way without a key is named."""
    if value is None:
        monkeypatch.delenv("ANTHROPIC_API_KEY")
    else:
        monkeypatch.setenv("ANTHROPIC_API_KEY", value)
    with pytest.raises(InputError, match=r"ANTHROPIC_API_KEY must be set .* model id `offline`"):
        AnthropicModel()


async def test_an_auth_token_does_in_the_place_of_a_key(
    server: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gateways hand out bearer tokens."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-77")
    server.play(answer("ok"))
    await client(server).complete(request())
    assert server.requests[0].headers["authorization"] == "Bearer token-77"


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
@pytest.mark.parametrize(
    "key", [f"{CANARY}\n", f" {CANARY}", f"{CANARY}予", f"a {CANARY}", f"{CANARY}\x7f"]
)
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(
    canary: str, monkeypatch: pytest.MonkeyPatch, name: str, key: str
) -> None:
    """A line break at the end of a pasted key is the usual case."""
    monkeypatch.setenv(name, key)
    with pytest.raises(InputError, match=f"{name} must be printable ASCII") as caught:
        AnthropicModel()
    assert CANARY not in "".join(traceback.format_exception(caught.value))


LEAKY = [
    error(401, "authentication_error", f"invalid x-api-key: {CANARY}"),
    error(400, "invalid_request_error", "x" * 290 + CANARY),
    error(429, "rate_limit_error", f"{CANARY} is over its limit"),
    raw(CANARY.encode(), status=500),
    raw(CANARY.encode(), content_type="text/plain"),
    raw(f'{{"error": "{CANARY}"}}'.encode(), status=418),
    message({"type": CANARY.replace("-", "_")}, stop_reason="end_turn"),
    dropped(),
    hanging(),
    refusal(),
    window_exceeded(),
    thinking_only(),
]


@pytest.mark.parametrize("reply", LEAKY)
async def test_the_key_is_in_no_error_message_no_traceback_and_no_log(
    server: FakeApi, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    """Even where the server repeats it; asked with logging at its loudest."""
    caplog.set_level(logging.DEBUG)
    server.play(reply)
    model = client(
        server, transport_retries=0, useless_retries=0, timeout_seconds=1, deadline_seconds=0.3
    )
    failed = await failure(model)
    shown = "".join(traceback.format_exception(failed))
    assert CANARY not in f"{failed} {failed!r} {failed.args} {vars(failed)} {shown}"
    assert CANARY not in caplog.text
    assert isinstance(failed, CtxengError)


async def test_an_echoed_key_is_taken_out_before_the_message_is_shortened(
    server: FakeApi,
) -> None:
    """No part of it stands at the cut either."""
    server.play(error(400, "invalid_request_error", "x" * 290 + CANARY))
    told = str(await failure(client(server)))
    assert told == "status 400: " + "x" * 290 + "[key]"
    server.play(error(400, "invalid_request_error", "y" * 1000))
    assert str(await failure(client(server))) == "status 400: " + "y" * 300
