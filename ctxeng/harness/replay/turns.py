"""Replay a session turn by turn: the prompts production would have sent, and compaction's calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import orjson

from ctxeng.core.calls import ModelClient, ModelRequest, ModelResponse
from ctxeng.core.context import Context
from ctxeng.core.errors import BudgetTooSmall
from ctxeng.core.messages import Message, Session
from ctxeng.core.protocols import TokenCounter
from ctxeng.harness.economics.turns import CompactionCall, Piece, Request, Sitting
from ctxeng.harness.replay.plan import Arm, ReplayPlan
from ctxeng.harness.replay.unit import Played, play
from ctxeng.store import Store

ASSUMED_GAP_SECONDS = 60.0  # between messages that carry no time
TURN_TOKENS = 4  # what a message's role and frame cost, as the builder counts it


class MeteringClient:
    """Passes requests on and counts each by the local counter, whatever the model reports.

    An answer counts for at most ``max_tokens``: a provider would have stopped there.
    ``at_seq`` is set by whoever plays the session: the newest message.
    """

    def __init__(self, client: ModelClient, counter: TokenCounter) -> None:
        self._client = client
        self._count = counter.count
        self.at_seq = 0
        self.calls: list[CompactionCall] = []

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the wrapped client's response; a failed call is not counted."""
        response = await self._client.complete(request)
        fixed = [str(block.get("text", "")) for block in request.system]
        if request.tool is not None:
            fixed.append(_json(request.tool))
        said = response.text if response.tool_input is None else _json(response.tool_input)
        self.calls.append(
            CompactionCall(
                at_seq=self.at_seq,
                role=request.role,
                kind=request.prompt_id.partition("@")[0],
                instruction_tokens=sum(map(self._count, fixed)),
                given_tokens=sum(self._count(str(m["content"])) for m in request.messages),
                output_tokens=min(self._count(said), request.max_tokens),
            )
        )
        return response


async def sit(
    plan: ReplayPlan, arm: Arm, session: Session, *, store: Store, system: str = ""
) -> Sitting:
    """Return what a session sends under an arm: a request wherever the assistant answered.

    Each prompt knows what was stored when the question came, and no later summary.

    Args:
        system: the product's system text, sent with every request.
    """
    meter = MeteringClient(plan.writer, plan.counter)

    def appended(seq: int) -> None:
        meter.at_seq = seq

    played = await play(
        plan, arm, session, store=store, client=meter, replicate=0, on_append=appended
    )
    times = message_times(played.messages)
    pieces = _Pieces(plan.counter)
    requests = [
        await _request(played, seq, at_seconds=times[seq], system=system, pieces=pieces)
        for seq in asked_seqs(played.messages)
    ]
    await store.discard_conversation(played.conversation_id)
    return Sitting(
        arm=arm.name,
        session_id=session.session_id,
        messages=len(played.messages),
        requests=tuple(requests),
        calls=tuple(meter.calls),
        untimed=sum(1 for m in played.messages if m.timestamp is None),
    )


def asked_seqs(messages: Sequence[Message]) -> list[int]:
    """Return the messages that the assistant's next message answers."""
    return [
        message.seq
        for message, answer in pairwise(messages)
        if message.role != "assistant" and answer.role == "assistant"
    ]


def message_times(messages: Sequence[Message]) -> list[float]:
    """Return each message's time in seconds; one without a time comes a while after the last."""
    times: list[float] = []
    for message in messages:
        before = times[-1] if times else 0.0
        if message.timestamp is None:
            times.append(before + (ASSUMED_GAP_SECONDS if times else 0.0))
        else:
            stamp = message.timestamp.timestamp()
            times.append(max(before, stamp) if times else stamp)
    return times


class _Pieces:
    """Makes pieces of requests; equal ones are one object, counted once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._count = counter.count
        self._known: dict[tuple[str, str, int], Piece] = {}

    def of(self, body: Mapping[str, Any]) -> Iterator[Piece]:
        """Yield a request's blocks in order, a message's frame counted with its first block."""
        for block in body["system"]:
            yield self._piece("system", block["text"], 0)
        for message in body["messages"]:
            for place, block in enumerate(message["content"]):
                text = block["text"] if block["type"] == "text" else _json(block)
                if text:
                    yield self._piece(message["role"], text, 0 if place else TURN_TOKENS)

    def _piece(self, role: str, text: str, frame: int) -> Piece:
        key = (role, text, frame)
        if key not in self._known:
            self._known[key] = Piece(role=role, text=text, tokens=self._count(text) + frame)
        return self._known[key]


async def _request(
    played: Played, seq: int, *, at_seconds: float, system: str, pieces: _Pieces
) -> Request:
    context = await _context(played, seq, system=system)
    body = context.to_anthropic()
    return Request(
        seq=seq,
        at_seconds=at_seconds,
        pieces=tuple(pieces.of(body)),
        built=tuple(i for i, block in enumerate(body["system"]) if "cache_control" in block),
        memory=len(body["system"]) - 1 if context.of_kind("memory") else None,
        summaries=len(body["system"]) if _has_background(context) else None,
        answer_tokens=_answer_tokens(played.messages, seq),
    )


async def _context(played: Played, seq: int, *, system: str) -> Context:
    """Return the prompt that a message was answered from.

    A tool's result is no question, and a message that alone exceeds the budget cannot be one: they
    stand in the window, where they are shortened if need be.
    """
    build, name = played.parts.builder.build, played.conversation_id
    message = played.messages[seq]
    if message.role == "user":
        with suppress(BudgetTooSmall):
            return await build(name, message.text, as_of=seq - 1, system=system)
    return await build(name, "", as_of=seq, system=system)


def _has_background(context: Context) -> bool:
    """Return whether the first block of the messages holds summaries or retrieved messages."""
    return bool(context.of_kind("node", "summary", "episode", "retrieved"))


def _answer_tokens(messages: Sequence[Message], seq: int) -> int:
    tokens = 0
    for message in messages[seq + 1 :]:
        if message.role != "assistant":
            break
        tokens += message.tokens or 0
    return tokens


def _json(value: object) -> str:
    return orjson.dumps(value, default=str).decode()
