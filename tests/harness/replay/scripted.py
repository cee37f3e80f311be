"""Model clients that answer from a script, and readers that use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage
from ctxeng.harness.replay.plan import Readers
from ctxeng.harness.scoring.judge import judge_system

Said = str | Mapping[str, Any] | None | Exception


class Scripted:
    """Answers requests in order: a text, the input of a forced tool, or an error to raise."""

    def __init__(self, *said: Said) -> None:
        self.requests: list[ModelRequest] = []
        self._said = list(said)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer of the script."""
        self.requests.append(request)
        said = self._said.pop(0)
        if isinstance(said, Exception):
            raise said
        return ModelResponse(
            text=said if isinstance(said, str) else "",
            tool_input=said if isinstance(said, Mapping) else None,
            model=request.model,
            usage=Usage(input_tokens=100, cached_tokens=40, cache_write_tokens=5, output_tokens=7),
            latency_seconds=0.5,
            cost_usd=0.001,
            key=f"k{len(self.requests)}",
        )


def readers(
    reader: Scripted | None = None, judge: Scripted | None = None, **changes: Any
) -> Readers:
    """Return readers with these clients."""
    made = Readers(
        reader=reader,
        reader_model="reader-model",
        reader_max_tokens=80,
        reader_system="Answer.",
        reader_prompt_id="reader@1",
        judge=judge,
        judge_model="judge-model",
        judge_system=judge_system(),
        judge_prompt_id="judge@1",
    )
    return replace(made, **changes)
