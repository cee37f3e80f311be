"""The offline model as a client."""

from __future__ import annotations

import json
from typing import Any

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage
from ctxeng.core.errors import EmptyAnswer
from ctxeng.models.offline.cut import end_of_episode
from ctxeng.models.offline.distil import distil
from ctxeng.models.offline.prompt import tagged, target_tokens, texts
from ctxeng.models.offline.read import answer
from ctxeng.models.offline.summarise import summarise
from ctxeng.models.offline.words import estimated_tokens

OFFLINE = "offline"  # the model id of a request
VERSION = "offline-1"  # what answers; a part of the call's key


class OfflineModel:
    """Plays every role from the prompt alone; the judge's role it declines (``undecided``)."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the extractive answer; usage is estimated, latency is zero.

        Raises:
            EmptyAnswer: there is nothing to summarise.
        """
        match request.role:
            case "summariser" if request.tool is not None:
                pieces = tagged("\n".join(texts(request)))
                return _response(request, tool_input={"last_seq": end_of_episode(pieces)})
            case "summariser":
                return _response(request, text=_summary(request))
            case "distiller":
                pieces = tagged("\n".join(texts(request)))
                found = distil(pieces, target=target_tokens(request, pieces))
                return _response(request, tool_input=found)
            case "judge":
                verdict = {"verdict": "undecided", "reason": "the offline model does not judge"}
                return _response(request, tool_input=verdict)
            case _:
                return _response(request, text=_answer(request))


def _summary(request: ModelRequest) -> str:
    pieces = tagged("\n".join(texts(request)))
    kind = request.prompt_id.partition("@")[0]
    summary = summarise(pieces, kind=kind, target=target_tokens(request, pieces))
    if not summary:
        raise EmptyAnswer("prompt must hold something to summarise (offline).")
    return summary


def _answer(request: ModelRequest) -> str:
    blocks = list(texts(request))
    remembered = [str(b["text"]) for b in request.system if "<memory" in str(b.get("text", ""))]
    return answer(blocks[-1] if blocks else "", [*remembered, *blocks[:-1]])


def _response(
    request: ModelRequest, *, text: str = "", tool_input: dict[str, Any] | None = None
) -> ModelResponse:
    given = sum(estimated_tokens(part) for part in texts(request))
    given += sum(estimated_tokens(str(block.get("text", ""))) for block in request.system)
    said = text if tool_input is None else json.dumps(tool_input, ensure_ascii=False)
    return ModelResponse(
        text=text,
        tool_input=tool_input,
        stop_reason="tool_use" if tool_input is not None else "end_turn",
        model=VERSION,
        usage=Usage(input_tokens=given, output_tokens=estimated_tokens(said)),
    )
