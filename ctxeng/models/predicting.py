"""A client that sends nothing: what the ledger holds is answered, every other call is foretold.

It stands where the real client stands, so that a dry run goes through the same code as the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ctxeng.core.calls import ModelRequest, ModelResponse, Usage
from ctxeng.models.keys import call_key
from ctxeng.models.ledger import Ledger
from ctxeng.models.offline import OFFLINE, OfflineModel
from ctxeng.models.offline.prompt import tagged, target_tokens, texts
from ctxeng.models.prices import cost_usd
from ctxeng.tokens import HeuristicCounter

FORETOLD = "foretold "  # how every answer begins that stands in for a reader's
_FILLER = "---- "  # a token or so to any counter, and no letter: it drifts into no language
_COUNT = HeuristicCounter().count
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")


class PredictingClient:
    """Answers from the ledger; a call it does not hold comes back with a stand-in answer.

    The first such response has ``from_ledger`` False, as the call would have to be made; the same
    call again is answered as the ledger would by then. The offline model costs nothing and
    answers itself.
    """

    def __init__(self, ledger: Ledger, *, fresh: bool = False, batch: bool = False) -> None:
        """Make a client over a ledger.

        Args:
            fresh: foretell every call anew. batch: at the price of Message Batches.
        """
        self._ledger = ledger
        self._fresh = fresh
        self._batch = batch
        self._offline = OfflineModel()
        self._foretold: dict[str, ModelResponse] = {}

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the held answer, or what stands in for it, with the usage it is expected to have.

        Raises:
            ModelError: the offline model's own.
        """
        key = call_key(request)
        foretold = self._foretold.get(key)
        if foretold is not None:
            return replace(foretold, from_ledger=True)
        held = self._ledger.find(key)
        if held is not None and not self._fresh:
            return held
        response = held or await self._answer(request, key)
        usage = response.usage if request.model == OFFLINE else expected_usage(request)
        cost = cost_usd(request.model, usage, batch=self._batch)
        told = replace(response, key=key, usage=usage, cost_usd=cost, from_ledger=False)
        self._foretold[key] = told
        return told

    async def _answer(self, request: ModelRequest, key: str) -> ModelResponse:
        if request.model == OFFLINE:
            return await self._offline.complete(request)
        return stand_in(request, key)


def expected_usage(request: ModelRequest) -> Usage:
    """Return the tokens a call is expected to use, nothing of it cached.

    Input by the local estimate. Output: the wanted length of a summary or memory, else
    ``max_tokens``, which is more than most answers take.
    """
    tools = (*request.tools, *((request.tool,) if request.tool is not None else ()))
    parts = [str(block.get("text", "")) for block in request.system]
    parts += [*texts(request), *(str(tool) for tool in tools)]
    return Usage(input_tokens=sum(map(_COUNT, parts)), output_tokens=expected_output(request))


def expected_output(request: ModelRequest) -> int:
    """Return the tokens an answer is expected to have."""
    if request.role not in ("summariser", "distiller"):
        return request.max_tokens
    return min(request.max_tokens, target_tokens(request, tagged("\n".join(texts(request)))))


def stand_in(request: ModelRequest, key: str) -> ModelResponse:
    """Return an answer of the expected length that no other call would get.

    Different calls must not come to look the same further on: the answer carries its key.
    """
    match request.role:
        case "summariser" if request.tool is not None:  # where to cut: as early as it may
            return _response(request, tool_input={"last_seq": 0})
        case "summariser":
            return _response(request, text=_sized(key, expected_output(request)))
        case "distiller":
            return _response(request, tool_input=_memory(request, key))
        case "judge":
            return _response(request, tool_input={"verdict": "undecided", "reason": "dry run"})
        case _:
            return _response(request, text=f"{FORETOLD}{key[:16].translate(_LETTERS)}")


def _memory(request: ModelRequest, key: str) -> dict[str, Any]:
    """Return one item that fills what the other items leave of the wanted length.

    It replaces the oldest item where there is one, so that memory grows no further than wanted.
    """
    items = [piece for piece in tagged("\n".join(texts(request))) if piece.tag == "item"]
    others = sum(_COUNT(piece.text) for piece in items[1:])
    return {
        "items": [
            {
                "kind": "stable_fact",
                "text": _sized(key, max(1, expected_output(request) - others)),
                "scope": "conversation",
                "confidence": 1.0,
                "sources": [],
                "replaces": items[0].attributes.get("id") if items else None,
            }
        ]
    }


def _sized(key: str, tokens: int) -> str:
    mark = str(int(key[:12], 16))
    missing = max(0, tokens - _COUNT(mark)) * 4 // len(_FILLER)
    return (mark + " " + _FILLER * missing).strip()


def _response(
    request: ModelRequest, *, text: str = "", tool_input: dict[str, Any] | None = None
) -> ModelResponse:
    reason = "end_turn" if tool_input is None else "tool_use"
    return ModelResponse(text=text, tool_input=tool_input, stop_reason=reason, model=request.model)
