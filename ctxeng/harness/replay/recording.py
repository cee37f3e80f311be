"""Clients, summarisers and distillers that pass everything on and keep a row of each request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxeng.core.calls import ModelClient, ModelRequest, ModelResponse, Usage
from ctxeng.core.errors import CallMissing, LimitReached, ModelError
from ctxeng.core.messages import Message
from ctxeng.core.protocols import (
    Distillation,
    Distiller,
    DistillTask,
    Summariser,
    Summary,
    SummaryTask,
)
from ctxeng.harness.replay.rows import packed, ranges_of

_UNSENT = tuple(f"{error.__name__}:" for error in (CallMissing, LimitReached))


def was_sent(call: Mapping[str, Any]) -> bool:
    """Return whether a row of the calls table left the machine: neither known nor held back."""
    return not call.get("from_ledger") and not str(call.get("error") or "").startswith(_UNSENT)


class RecordingClient:
    """Passes requests to another client; ``rows`` holds one calls-table row per request."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.rows: list[dict[str, Any]] = []

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the wrapped client's response; a failed call leaves a row with its error."""
        row: dict[str, Any] = {
            "role": request.role,
            "model": request.model,
            "prompt_id": request.prompt_id,
            "replicate": request.replicate,
        }
        try:
            # a replayed conversation is gone when its run is: nobody will ask to forget it
            response = await self._client.complete(replace(request, subject=""))
        except ModelError as error:
            told = f"{type(error).__name__}: {error}"
            self.rows.append({**row, **_billed(error), "error": told})
            raise
        self.rows.append({**row, **_response_columns(response)})
        return response


def _billed(error: ModelError) -> dict[str, Any]:
    """Return what a failed call was billed for: tries that came back useless."""
    if error.usage is None:
        return {}
    return {**_usage_columns(error.usage), "cost_usd": error.cost_usd}


def _usage_columns(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
    }


def _response_columns(response: ModelResponse) -> dict[str, Any]:
    return {
        "key": response.key,
        "answered_by": response.model,
        **_usage_columns(response.usage),
        "cost_usd": response.cost_usd,
        "latency_seconds": response.latency_seconds,
        "from_ledger": response.from_ledger,
    }


class RecordingSummariser:
    """Passes tasks to another summariser; every task becomes a row of the inputs table."""

    def __init__(
        self, summariser: Summariser, said: Sequence[Message], rows: list[dict[str, Any]]
    ) -> None:
        self._summariser = summariser
        self._texts = {message.seq: message.text for message in said}
        self._rows = rows
        self.lossless = summariser.lossless
        self.prompt_hash = summariser.prompt_hash

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the wrapped summariser's answer; a failure leaves a row with its error."""
        cut = {m.seq: m.text for m in task.messages if m.text != self._texts.get(m.seq)}
        row: dict[str, Any] = {
            "kind": task.kind,
            "level": task.level,
            "from_seq": task.core_from_seq,
            "to_seq": task.core_to_seq,
            "seqs": packed(ranges_of([m.seq for m in task.messages])),
            "cut": packed({str(seq): text for seq, text in cut.items()}),
        }
        try:
            summary = await self._summariser.summarise(task)
        except ModelError as error:
            self._rows.append({**row, "error": f"{type(error).__name__}: {error}"})
            raise
        self._rows.append({**row, "text": summary.text})
        return summary


class RecordingDistiller:
    """Passes tasks to another distiller; every task becomes a row of the inputs table."""

    def __init__(self, distiller: Distiller, rows: list[dict[str, Any]]) -> None:
        self._distiller = distiller
        self._rows = rows
        self.lossless = distiller.lossless
        self.prompt_hash = distiller.prompt_hash

    async def distil(self, task: DistillTask) -> Distillation:
        """Return the wrapped distiller's answer; a failure leaves a row with its error."""
        row: dict[str, Any] = {
            "kind": "memory",
            "level": 0,
            "from_seq": task.sources[0][0],
            "to_seq": task.sources[-1][1],
            "seqs": packed([]),
            "cut": packed({}),
        }
        try:
            answer = await self._distiller.distil(task)
        except ModelError as error:
            self._rows.append({**row, "error": f"{type(error).__name__}: {error}"})
            raise
        said = "\n".join(item.text for item in answer.items if item.status == "active")
        self._rows.append({**row, "text": said})
        return answer
