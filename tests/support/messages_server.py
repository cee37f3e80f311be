"""Scripted replies for the local Messages API: what a test wants to come back, to the byte.

with serving(FakeApi(keeps_requests=True)) as server:
    server.play(overloaded(), answer("Kestrel"))
    ...  # a client with base_url=server.base_url
    server.requests[0].body["model"]
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from ctxeng.fakeapi import FakeApi, Received, Reply, serving

SOON = {"retry-after-ms": "1"}  # tells the SDK to try again at once

__all__ = ["FakeApi", "Received", "Reply", "serving", "serving_script"]


@contextmanager
def serving_script(*replies: Reply) -> Iterator[FakeApi]:
    """Serve these replies until the block ends."""
    with serving(FakeApi(keeps_requests=True)) as server:
        server.play(*replies)
        yield server


def unused_url() -> str:
    """Return the address of a port of 127.0.0.1 at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def message(
    *content: Mapping[str, Any],
    stop_reason: str = "end_turn",
    usage: Mapping[str, int] | None = None,
    **changes: Any,
) -> Reply:
    """Return a whole Messages API response with these content blocks."""
    body = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, **(usage or {})},
        **changes,
    }
    return Reply(body=orjson.dumps(body))


def answer(text: str, **how: Any) -> Reply:
    """Return a message of one text block."""
    return message({"type": "text", "text": text}, **how)


def tool_call(name: str, given: Any, *, stop_reason: str = "tool_use", **how: Any) -> Reply:
    """Return a message that calls a tool."""
    block = {"type": "tool_use", "id": "toolu_01", "name": name, "input": given}
    return message(block, stop_reason=stop_reason, **how)


def thinking_only(*, stop_reason: str = "end_turn") -> Reply:
    """Return a message that holds a thinking block and no text."""
    block = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    return message(block, stop_reason=stop_reason)


def refusal() -> Reply:
    """Return a message in which the model declined half way."""
    return answer("I can't", stop_reason="refusal")


def window_exceeded() -> Reply:
    """Return a message that stopped at the end of the model's window."""
    return answer("The", stop_reason="model_context_window_exceeded")


def error(status: int, kind: str, text: str = "no", *, headers: Mapping[str, str] = SOON) -> Reply:
    """Return an error in the API's shape."""
    body = {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_01"}
    return Reply(status=status, body=orjson.dumps(body), headers=headers)


def rate_limited(*, headers: Mapping[str, str] = SOON) -> Reply:
    """Return status 429."""
    return error(429, "rate_limit_error", "slow down", headers=headers)


def overloaded() -> Reply:
    """Return status 529."""
    return error(529, "overloaded_error", "Overloaded")


def broken() -> Reply:
    """Return status 500."""
    return error(500, "api_error", "Internal server error")


def dropped(after_bytes: int = 20) -> Reply:
    """Return a good message whose connection breaks in the middle."""
    whole = answer("never seen")
    return Reply(body=whole.body, headers=SOON, cut=after_bytes)


def hanging() -> Reply:
    """Return nothing for as long as the client waits."""
    return Reply(hang_seconds=600)


def raw(body: bytes, *, content_type: str = "application/json", status: int = 200) -> Reply:
    """Return any bytes at all."""
    return Reply(status=status, body=body, content_type=content_type)


def bodies(requests: Sequence[Received]) -> list[dict[str, Any]]:
    """Return what was asked, without the transport."""
    return [request.body for request in requests]
