"""A model client that passes calls on and keeps one row for each."""

from __future__ import annotations

from typing import Any

from ctxeng.core.calls import ModelClient, ModelRequest, ModelResponse
from ctxeng.core.errors import ModelError


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
            response = await self._client.complete(request)
        except ModelError as error:
            self.rows.append({**row, "error": f"{type(error).__name__}: {error}"})
            raise
        self.rows.append({**row, **_response_columns(response)})
        return response


def _response_columns(response: ModelResponse) -> dict[str, Any]:
    return {
        "key": response.key,
        "input_tokens": response.usage.input_tokens,
        "cached_tokens": response.usage.cached_tokens,
        "cache_write_tokens": response.usage.cache_write_tokens,
        "output_tokens": response.usage.output_tokens,
        "cost_usd": response.cost_usd,
        "latency_seconds": response.latency_seconds,
        "from_ledger": response.from_ledger,
    }
