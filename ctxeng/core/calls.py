"""A model call as data: what is asked, what came back, what it used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

MOST_TOKENS = 10**9  # of one call: more is no count
ModelRole = Literal["reader", "summariser", "distiller", "judge", "drafter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call, in the Messages API's own shapes.

    Args:
        role: which of our roles asks; prices and limits are counted by it.
        model: model id; ``offline`` for the built-in baseline.
        system: text blocks (``{"type": "text", "text": ..., "cache_control"?}``).
        messages: ``{"role", "content"}`` as the API takes them.
        tool: a tool definition whose use is forced, or None.
        prompt_id: name and version of the prompt, for example ``episode@1``.
        replicate: part of the call's key, so that a replicate is a call of its own.
        extra: further parameters of the request (for example temperature); part of the key.
        subject: the conversation whose words it holds, so that its answer can be deleted with it;
            no part of the key.
    """

    role: ModelRole
    model: str
    system: tuple[Mapping[str, Any], ...] = ()
    messages: tuple[Mapping[str, Any], ...]
    tool: Mapping[str, Any] | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    max_tokens: int
    prompt_id: str
    replicate: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call as the provider counted them, tries that came back useless included."""

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """What came back.

    Args:
        text: joined text blocks; may be empty when a forced tool was used.
        tool_input: input of the forced tool call, None where none was forced.
        key: content address of the call in the ledger; "" where no ledger was used.
        from_ledger: answered without a call being made now.
        cost_usd: None where the price is unknown.
    """

    text: str
    tool_input: Mapping[str, Any] | None = None
    stop_reason: str = "end_turn"
    model: str
    usage: Usage = field(default_factory=Usage)
    latency_seconds: float = 0.0
    cost_usd: float | None = None
    key: str = ""
    from_ledger: bool = False


def is_token_count(value: object) -> bool:
    """Return whether a value can be the tokens of a call, as a provider or a file tells them."""
    return type(value) is int and 0 <= value <= MOST_TOKENS


class ModelClient(Protocol):
    """Answers requests; every failure is a ModelError of the matching class."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the response, or raise a ModelError. Never returns an empty answer as text."""
        ...
