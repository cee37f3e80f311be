"""The shape of a request: the SDK's own request types, with no key that they do not name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from anthropic.types import (
    TextBlockParam,
    ThinkingBlockParam,
    ToolResultBlockParam,
    ToolUseBlockParam,
)
from anthropic.types.message_count_tokens_params import MessageCountTokensParams
from anthropic.types.message_create_params import (
    MessageCreateParamsNonStreaming,
    MessageCreateParamsStreaming,
)
from pydantic import ConfigDict, TypeAdapter, ValidationError

from ctxeng.fakeapi.refusals import Refusal

SAMPLING = ("temperature", "top_p", "top_k")  # the API takes them, the SDK's types do not name them
_STRICT = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
_BLOCKS: dict[str, Any] = {
    "text": TextBlockParam,
    "thinking": ThinkingBlockParam,
    "tool_result": ToolResultBlockParam,
    "tool_use": ToolUseBlockParam,
}


def check_message_shape(body: dict[str, Any]) -> None:
    """Refuse a body for ``/v1/messages`` that the SDK's types do not describe.

    Raises:
        Refusal: a parameter is missing, unknown or of the wrong type.
    """
    shape = MessageCreateParamsStreaming if body.get("stream") else MessageCreateParamsNonStreaming
    _check(shape, {k: v for k, v in body.items() if k not in SAMPLING}, at="")
    _check_blocks(body)


def check_count_shape(body: dict[str, Any]) -> None:
    """Refuse a body for ``/v1/messages/count_tokens`` that the SDK's types do not describe."""
    _check(MessageCountTokensParams, body, at="")
    _check_blocks(body)


def _check_blocks(body: dict[str, Any]) -> None:
    """Check content blocks by their own type: the SDK's union also takes what it answers with."""
    for i, message in enumerate(body["messages"]):
        content = message["content"]
        for j, block in enumerate(content if isinstance(content, list) else ()):
            if block.get("type") in _BLOCKS:
                kind = block["type"]
                _check(_BLOCKS[kind], block, at=f"messages.{i}.content.{j}.{kind}")


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    # within a tuple, because a TypedDict alone takes no configuration from outside
    return TypeAdapter(tuple[shape], config=_STRICT)


def _check(shape: Any, value: dict[str, Any], *, at: str) -> None:
    try:
        (read,) = _adapter(shape).validate_python((value,))
    except ValidationError as error:
        raise _refusal(error, at=at, skip=1) from None
    _exhaust(read, at=at)


def _exhaust(value: Any, *, at: str) -> None:
    """Read lists that are validated as they are read."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _exhaust(inner, at=f"{at}.{name}".strip("."))
        return
    if not isinstance(value, Iterator | list | tuple):
        return
    items, place = iter(value), 0
    while True:
        try:
            _exhaust(next(items), at=f"{at}.{place}")
        except StopIteration:
            return
        except ValidationError as error:
            raise _refusal(error, at=f"{at}.{place}", skip=0) from None
        place += 1


def _refusal(error: ValidationError, *, at: str, skip: int) -> Refusal:
    first = error.errors(include_url=False, include_input=False)[0]
    path = [str(part) for part in first["loc"][skip:] if "[" not in str(part)]
    return Refusal(f"{'.'.join([at, *path]).strip('.')}: {first['msg']}")
