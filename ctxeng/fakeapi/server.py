"""The endpoints."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from ctxeng.core.calls import ModelClient
from ctxeng.fakeapi.answering import answer
from ctxeng.fakeapi.batches import LIFE, BatchOffice, Result, errored
from ctxeng.fakeapi.faults import ANSWER_FAULTS, AnswerFault, FaultPlan
from ctxeng.fakeapi.prompt_cache import PromptCache
from ctxeng.fakeapi.refusals import Refusal
from ctxeng.fakeapi.replies import Reply, event_stream, json_reply
from ctxeng.fakeapi.rules import check_count, check_message, known_models
from ctxeng.fakeapi.tokens import prompt_tokens
from ctxeng.models.catalogue import facts_of
from ctxeng.models.offline import OfflineModel

LARGEST_BYTES = 32 * 1024 * 1024
LARGEST_BATCH_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Counts:
    """What the server has done.

    Args:
        messages: requests for one message that arrived, whatever became of them.
        items: items of batches that were worked on.
        bodies: how often each message or item was asked for, by its digest.
        refused: requests that were answered with an error of the client's.
    """

    messages: int = 0
    items: int = 0
    refused: int = 0
    batches: int = 0
    bodies: Counter[str] = field(default_factory=Counter)


class FakeApi:
    """The API as an ASGI application, ``app``.

    Args:
        faults: how it fails.
        latency_seconds: how long a message takes.
        batch_seconds: how long a batch takes; batch_life: when it expires.
        most_in_flight: messages at once; one more is answered with 429. None for no limit.
        keeps_requests: remember every request, for tests.
        models: who answers by model id, besides the API's own ids, for which the offline model
            answers. A model may raise a Refusal.
        on_request: called with the number of each request for a message, from 1, as it arrives.
    """

    def __init__(
        self,
        *,
        faults: FaultPlan | None = None,
        latency_seconds: float = 0.0,
        batch_seconds: float = 0.0,
        batch_life: timedelta = LIFE,
        most_in_flight: int | None = None,
        keeps_requests: bool = False,
        on_request: Callable[[int], None] | None = None,
        models: Mapping[str, ModelClient] | None = None,
    ) -> None:
        self.base_url = ""
        self.faults = faults or FaultPlan()
        self.counts = Counts()
        self.requests: list[Received] = []
        self.cache = PromptCache()
        self.latency_seconds = latency_seconds
        self.most_in_flight = most_in_flight
        self.on_request = on_request
        self.in_flight = 0
        self._models = models or {}
        self._keeps_requests = keeps_requests
        self._script: list[Reply] = []
        self._lock = threading.Lock()
        self.office = BatchOffice(self._item, seconds=batch_seconds, life=batch_life)
        one = "/v1/messages/batches/{batch_id}"
        self.app = Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", self._count_tokens, methods=["POST"]),
                Route("/v1/messages/batches", self._create_batch, methods=["POST"]),
                Route("/v1/messages/batches", self._list_batches, methods=["GET"]),
                Route(one, self._batch, methods=["GET"]),
                Route(f"{one}/results", self._results, methods=["GET"]),
                Route(f"{one}/cancel", self._cancel, methods=["POST"]),
                Route("/v1/models", self._list_models, methods=["GET"]),
                Route("/v1/models/{model}", self._list_models, methods=["GET"]),
            ]
        )

    def play(self, *replies: Reply) -> None:
        """Forget the requests, and answer messages and counts with these replies; the last one is
        repeated.

        Without a reply the server answers for itself again.
        """
        with self._lock:
            self._script = list(replies)
            self.requests = []

    def _scripted(self) -> Reply | None:
        with self._lock:
            if not self._script:
                return None
            return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    async def _received(self, request: Request, *, largest: int = LARGEST_BYTES) -> dict[str, Any]:
        """Return a request's body.

        Raises:
            Refusal: no key, no version, too large, or no JSON object.
        """
        raw = await request.body()
        headers = dict(request.headers)
        body: Any = {}
        try:
            body = orjson.loads(raw) if raw else {}
        except orjson.JSONDecodeError:
            raise Refusal("The request body is not valid JSON") from None
        if self._keeps_requests:
            with self._lock:
                self.requests.append(Received(path=request.url.path, headers=headers, body=body))
        if not (headers.get("x-api-key") or headers.get("authorization")):
            text = "x-api-key header is required"
            raise Refusal(text, status=401, kind="authentication_error")
        if "anthropic-version" not in headers:
            raise Refusal("anthropic-version: header is required")
        if len(raw) > largest:
            raise Refusal("Request exceeds the maximum size", status=413, kind="request_too_large")
        if not isinstance(body, dict):
            raise Refusal("body: Input should be an object")
        return body

    async def _messages(self, request: Request) -> Reply:
        try:
            body = await self._received(request)
            return self._scripted() or await self._message(body)
        except Refusal as refused:
            self.counts.refused += 1
            return self._scripted() or refused.reply()

    async def _message(self, body: dict[str, Any]) -> Reply:
        digest = _digest(body)
        self.counts.messages += 1
        self.counts.bodies[digest] += 1
        if self.on_request is not None:
            self.on_request(self.counts.messages)
        self.in_flight += 1
        try:
            if self.most_in_flight is not None and self.in_flight > self.most_in_flight:
                self.faults.made["over_limit"] += 1
                return self.faults.transport_reply("rate_limit", Reply())
            return await self._answered(body, digest)
        finally:
            self.in_flight -= 1

    async def _answered(self, body: dict[str, Any], digest: str) -> Reply:
        check_message(body, served=self._models)
        fault = self.faults.for_message(digest)
        if fault in ("rate_limit", "overloaded", "server_error", "timeout"):
            return self.faults.transport_reply(fault, Reply())
        if self.latency_seconds:
            await asyncio.sleep(self.latency_seconds)
        spoiled = fault if fault in ANSWER_FAULTS else None
        message = await self._says(body, digest, spoiled)
        headers = self._limit_headers()
        reply = (
            event_stream(message) if body.get("stream") else json_reply(message, headers=headers)
        )
        return self.faults.transport_reply(fault, reply) if fault == "dropped" else reply

    async def _says(
        self, body: dict[str, Any], digest: str, fault: AnswerFault | None
    ) -> dict[str, Any]:
        usage = self.cache.charge(body)
        model = self._models.get(body["model"]) or OfflineModel()
        return await answer(body, usage, digest=digest, model=model, fault=fault)

    def _limit_headers(self) -> dict[str, str]:
        """Return the rate-limit headers: the limit is one on requests in flight."""
        if self.most_in_flight is None:
            return {}
        name = "anthropic-ratelimit-requests"
        return {
            f"{name}-limit": str(self.most_in_flight),
            f"{name}-remaining": str(max(1, self.most_in_flight - self.in_flight)),
            f"{name}-reset": datetime.now(UTC).isoformat(),
        }

    async def _item(self, params: dict[str, Any]) -> Result:
        """Return the result of one item of a batch."""
        digest = _digest(params)
        self.counts.items += 1
        self.counts.bodies[digest] += 1
        try:
            if params.get("stream"):
                raise Refusal("stream: not supported in a batch")
            check_message(params, served=self._models)
            fault = self.faults.for_item(digest)
            if fault == "expired":
                return {"type": "expired"}
            if fault == "errored":
                return errored("api_error", "Internal server error")
            spoiled = fault if fault in ANSWER_FAULTS else None
            message = await self._says(params, digest, spoiled)
        except Refusal as refused:
            return errored(refused.kind, refused.text)
        message["usage"]["service_tier"] = "batch"
        return {"type": "succeeded", "message": message}

    async def _count_tokens(self, request: Request) -> Reply:
        async def count(body: dict[str, Any]) -> Reply:
            if scripted := self._scripted():
                return scripted
            check_count(body, served=self._models)
            return json_reply({"input_tokens": prompt_tokens(body)})

        return await self._endpoint(request, count)

    async def _create_batch(self, request: Request) -> Reply:
        async def create(body: dict[str, Any]) -> Reply:
            batch = self.office.create(body)
            self.counts.batches += 1
            return json_reply(batch.body(self.base_url))

        return await self._endpoint(request, create, largest=LARGEST_BATCH_BYTES)

    async def _list_batches(self, request: Request) -> Reply:
        async def page(_: dict[str, Any]) -> Reply:
            batches = self.office.newest_first()
            after = request.query_params.get("after_id")
            ids = [batch.batch_id for batch in batches]
            start = ids.index(after) + 1 if after in ids else 0
            limit = int(request.query_params.get("limit", 20))
            shown = batches[start : start + limit]
            return json_reply(
                {
                    "data": [batch.body(self.base_url) for batch in shown],
                    "first_id": shown[0].batch_id if shown else None,
                    "last_id": shown[-1].batch_id if shown else None,
                    "has_more": start + limit < len(batches),
                }
            )

        return await self._endpoint(request, page)

    async def _batch(self, request: Request) -> Reply:
        async def show(_: dict[str, Any]) -> Reply:
            batch = self.office.find(request.path_params["batch_id"])
            return json_reply(batch.body(self.base_url))

        return await self._endpoint(request, show)

    async def _results(self, request: Request) -> Reply:
        async def read(_: dict[str, Any]) -> Reply:
            batch = self.office.find(request.path_params["batch_id"])
            if batch.ended_at is None:
                raise Refusal("Batch has not ended yet")
            return Reply(body=batch.lines(), content_type="application/x-jsonl")

        return await self._endpoint(request, read)

    async def _cancel(self, request: Request) -> Reply:
        async def cancel(_: dict[str, Any]) -> Reply:
            batch = self.office.cancel(request.path_params["batch_id"])
            return json_reply(batch.body(self.base_url))

        return await self._endpoint(request, cancel)

    async def _list_models(self, request: Request) -> Reply:
        async def show(_: dict[str, Any]) -> Reply:
            wanted = request.path_params.get("model")
            if wanted is None:
                found = [_model_info(name) for name in (*known_models(), *self._models)]
                first, last = found[0]["id"], found[-1]["id"]
                return json_reply(
                    {"data": found, "first_id": first, "last_id": last, "has_more": False}
                )
            if wanted not in (*known_models(), *self._models):
                raise Refusal(f"model: {wanted}", status=404, kind="not_found_error")
            return json_reply(_model_info(wanted))

        return await self._endpoint(request, show)

    async def _endpoint(
        self, request: Request, respond: Any, *, largest: int = LARGEST_BYTES
    ) -> Reply:
        """Answer a request that is not for a message, failing as often as told."""
        try:
            body = await self._received(request, largest=largest)
            fault = self.faults.for_endpoint(f"{request.url.path} {_digest(body)}")
            if fault is not None and fault != "dropped":
                return self.faults.transport_reply(fault, Reply())
            reply: Reply = await respond(body)
            return reply if fault is None else self.faults.transport_reply(fault, reply)
        except Refusal as refused:
            self.counts.refused += 1
            return refused.reply()


def _digest(body: Mapping[str, Any]) -> str:
    """Return the hash of what is asked, however the answer is to come."""
    asked = {name: value for name, value in body.items() if name != "stream"}
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _model_info(model: str) -> dict[str, Any]:
    facts = facts_of(model)
    return {
        "id": model,
        "type": "model",
        "display_name": model.replace("-", " ").title(),
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": facts.window_tokens,
        "max_tokens": facts.max_output_tokens,
    }
