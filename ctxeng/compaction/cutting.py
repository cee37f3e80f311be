"""Where an episode ends, decided by a model call; off the request path, and once for each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxeng.compaction.models import transcript
from ctxeng.compaction.prompts import prompt_id, prompt_text
from ctxeng.core.calls import ModelClient, ModelRequest
from ctxeng.core.errors import MalformedTool
from ctxeng.core.messages import Message
from ctxeng.core.settings import EpisodeSettings

CUT_TOOL: dict[str, Any] = {
    "name": "end_episode",
    "description": "Say which message is the last of the first episode.",
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["last_seq"],
        "properties": {"last_seq": {"type": "integer"}},
    },
}


class ModelCutter:
    """Asks a model for the end of the next episode, by a forced tool call."""

    def __init__(
        self, client: ModelClient, model: str, *, extra: Mapping[str, Any] | None = None
    ) -> None:
        self._client = client
        self._model = model
        self._extra = dict(extra or {})

    async def end_of_episode(
        self,
        messages: Sequence[Message],
        settings: EpisodeSettings,
        *,
        replicate: int = 0,
        conversation_id: str = "",
    ) -> int:
        """Return the last seq of the first episode; a place out of the limits is moved into them.

        Args:
            messages: the next ``settings.max_size`` messages, the first of them uncovered.

        Raises:
            MalformedTool: no whole number came back.
        """
        limits = {
            "min_size": settings.min_size, "max_size": settings.max_size, "size": settings.size,
        }  # fmt: skip
        text = prompt_text("cut").format(**limits)
        response = await self._client.complete(
            ModelRequest(
                role="summariser",
                model=self._model,
                system=({"type": "text", "text": text},),
                messages=(
                    {
                        "role": "user",
                        "content": transcript(messages, core_from=messages[0].seq),
                    },
                ),
                tool=CUT_TOOL,
                max_tokens=200,
                prompt_id=prompt_id("cut"),
                replicate=replicate,
                extra=self._extra,
                subject=conversation_id,
            )
        )
        last = (response.tool_input or {}).get("last_seq")
        if not isinstance(last, int) or isinstance(last, bool):
            raise MalformedTool(f"end_episode.last_seq must be a whole number, got {last!r}.")
        first = messages[0].seq
        return min(max(last, first + settings.min_size - 1), first + settings.max_size - 1)
