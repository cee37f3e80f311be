"""A Messages API on loopback: real HTTP, scripted replies, every request kept.

    with serving() as server:
        server.play(overloaded(), answer("Kestrel"))
        ...  # a client with base_url=server.base_url
        server.requests[0].body["model"]

A new behaviour is a new function that returns a :class:`Reply`; a new endpoint is a new route.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

SOON = {"retry-after-ms": "1"}  # tells the SDK to try again at once
READY_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the server sends back.

    Args:
        cut: bytes after which the connection is dropped, None to send everything.
        hangs: send nothing until the client goes away.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: int | None = None
    hangs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class MessagesServer:
    """Plays its replies in order; the last one is repeated for as long as it is asked."""

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[Received] = []
        self._replies: list[Reply] = []
        self._lock = threading.Lock()
        self.app = Starlette(routes=[Route("/v1/messages", self._messages, methods=["POST"])])

    def play(self, *replies: Reply) -> None:
        """Forget what was, and play these replies from now on."""
        with self._lock:
            self._replies = list(replies)
            self.requests = []

    async def _messages(self, request: Request) -> _Answer:
        body = orjson.loads(await request.body())
        with self._lock:
            self.requests.append(
                Received(path=request.url.path, headers=dict(request.headers), body=body)
            )
            reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return _Answer(reply)


class _Answer:
    """An ASGI response that can also stop in the middle, or never start."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = self._reply
        if reply.hangs:
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        headers = {
            "content-type": reply.content_type,
            "content-length": str(len(reply.body)),
            **reply.headers,
        }
        await send(
            {
                "type": "http.response.start",
                "status": reply.status,
                "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
            }
        )
        if reply.cut is not None:
            part = reply.body[: reply.cut]
            await send({"type": "http.response.body", "body": part, "more_body": True})
            return  # uvicorn closes the connection of a response that is not complete
        await send({"type": "http.response.body", "body": reply.body})


@contextmanager
def serving() -> Iterator[MessagesServer]:
    """Serve on a free port of 127.0.0.1 in a thread, until the block ends."""
    server = MessagesServer()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    runner = _Runner(
        uvicorn.Config(
            server.app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
    )
    thread = threading.Thread(target=runner.run, args=([listener],), daemon=True)
    thread.start()
    if not runner.ready.wait(READY_SECONDS):
        raise RuntimeError("the messages server did not start")
    try:
        yield server
    finally:
        runner.should_exit = True
        thread.join(READY_SECONDS)
        listener.close()


class _Runner(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()


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
    return Reply(hangs=True)


def raw(body: bytes, *, content_type: str = "application/json", status: int = 200) -> Reply:
    """Return any bytes at all."""
    return Reply(status=status, body=body, content_type=content_type)


def bodies(requests: Sequence[Received]) -> list[dict[str, Any]]:
    """Return what was asked, without the transport."""
    return [request.body for request in requests]
