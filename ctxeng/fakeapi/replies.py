"""What the server sends back, and how it can fail to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One HTTP response.

    Args:
        cut: bytes after which the connection is dropped, None to send everything.
        hang_seconds: send nothing for so long, or until the client goes away.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: int | None = None
    hang_seconds: float = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response as an ASGI application."""
        if self.hang_seconds and await _gone(receive, within_seconds=self.hang_seconds):
            return
        headers = {
            "content-type": self.content_type,
            "content-length": str(len(self.body)),
            **self.headers,
        }
        await send(
            {
                "type": "http.response.start",
                "status": self.status,
                "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
            }
        )
        if self.cut is not None:
            part = self.body[: self.cut]
            await send({"type": "http.response.body", "body": part, "more_body": True})
            return  # uvicorn closes the connection of a response that is not complete
        await send({"type": "http.response.body", "body": self.body})

    def dropped(self) -> Reply:
        """Return the same response with a connection that breaks half way."""
        return replace(self, cut=len(self.body) // 2)


async def _gone(receive: Receive, *, within_seconds: float) -> bool:
    """Wait, and return whether the client went away meanwhile."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
            return True
    return False


def json_reply(body: Any, *, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a success with a JSON body."""
    return Reply(body=orjson.dumps(body), headers=headers or {})


def error_reply(
    status: int, kind: str, text: str, *, headers: Mapping[str, str] | None = None
) -> Reply:
    """Return an error in the API's shape."""
    return Reply(status=status, body=orjson.dumps(error_body(kind, text)), headers=headers or {})


def error_body(kind: str, text: str) -> dict[str, Any]:
    """Return the API's error object."""
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_fake"}


def event_stream(message: Mapping[str, Any]) -> Reply:
    """Return a whole message as server-sent events, as the API streams it."""
    usage = dict(message["usage"])
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        events += _block_events(index, block)
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    events.append(
        {
            "type": "message_delta",
            "delta": stop,
            "usage": {"output_tokens": usage["output_tokens"]},
        }
    )
    events.append({"type": "message_stop"})
    body = b"".join(
        b"event: " + event["type"].encode() + b"\ndata: " + orjson.dumps(event) + b"\n\n"
        for event in events
    )
    return Reply(body=body, content_type="text/event-stream; charset=utf-8")


def _block_events(index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    empty, deltas = _deltas(block)
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _deltas(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "tool_use":
            parts = _parts(orjson.dumps(block["input"]).decode())
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            return {**block, "input": {}}, deltas
        case "thinking":
            signed = {"type": "signature_delta", "signature": block["signature"]}
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            return {**block, "thinking": "", "signature": ""}, [thought, signed]
        case _:
            return {**block, "text": ""}, [
                {"type": "text_delta", "text": part} for part in _parts(block["text"])
            ]


def _parts(text: str, length: int = 40) -> Sequence[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]
