"""What the API refuses beyond the shape of a request, one rule a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from ctxeng.fakeapi.refusals import Refusal
from ctxeng.fakeapi.shapes import SAMPLING, check_count_shape, check_message_shape
from ctxeng.fakeapi.tokens import prompt_blocks, prompt_tokens
from ctxeng.models.catalogue import catalogue, facts_of

MOST_BREAKPOINTS = 4
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

Body = Mapping[str, Any]


@cache
def known_models() -> tuple[str, ...]:
    """Return the ids in the installed SDK's list and in our catalogue."""
    from anthropic.types import ModelParam

    named = [name for part in get_args(ModelParam) for name in get_args(part)]
    return tuple(dict.fromkeys([*named, *catalogue()["models"]]))


def check_message(body: dict[str, Any], *, served: Collection[str] = ()) -> None:
    """Refuse what ``POST /v1/messages`` refuses.

    Args:
        served: ids of models that this server has besides those of the API.

    Raises:
        Refusal: with the status, error type and wording of the API, as near as is known.
    """
    check_message_shape(body)
    _known(body, served)
    for rule in (*_CONTENT_RULES, _output_limit, _thinking, _sampling, _window):
        rule(body)


def check_count(body: dict[str, Any], *, served: Collection[str] = ()) -> None:
    """Refuse what ``POST /v1/messages/count_tokens`` refuses."""
    check_count_shape(body)
    _known(body, served)
    for rule in _CONTENT_RULES:
        rule(body)


def blocks_of(message: Body) -> list[Body]:
    """Return a message's content as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _known(body: Body, served: Collection[str]) -> None:
    if body["model"] not in (*known_models(), *served):
        raise Refusal(f"model: {body['model']}", status=404, kind="not_found_error")


def _roles(body: Body) -> None:
    messages = body["messages"]
    if not messages:
        raise Refusal("messages: at least one message is required")
    if messages[0]["role"] != "user":
        raise Refusal('messages: first message must use the "user" role')
    if messages[-1]["role"] == "assistant":
        _prefill(body)


def _prefill(body: Body) -> None:
    if not facts_of(body["model"]).prefill:
        raise Refusal(
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )
    last = blocks_of(body["messages"][-1])
    if last and last[-1].get("text", "").endswith((" ", "\n", "\t")):
        raise Refusal("messages: final assistant content cannot end with trailing whitespace")


def _not_empty(body: Body) -> None:
    last = len(body["messages"]) - 1
    for i, message in enumerate(body["messages"]):
        blocks = blocks_of(message)
        optional = i == last and message["role"] == "assistant"
        if not optional and (not blocks or message["content"] == ""):
            raise Refusal(
                f"messages.{i}: all messages must have non-empty content except for the optional "
                "final assistant message"
            )
        _texts(blocks, at="messages")
    system = body.get("system", ())
    _texts([] if isinstance(system, str) else system, at="system")


def _texts(blocks: Sequence[Body], *, at: str) -> None:
    for block in blocks:
        if block.get("type") == "text" and not block["text"]:
            raise Refusal(f"{at}: text content blocks must be non-empty")
        if block.get("type") == "text" and not block["text"].strip():
            raise Refusal(f"{at}: text content blocks must contain non-whitespace text")


def _tool_pairs(body: Body) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    for i, message in enumerate(body["messages"]):
        blocks = blocks_of(message)
        _results(i, blocks, waiting)
        waiting = [b["id"] for b in blocks if b["type"] == "tool_use"]
        if waiting and message["role"] != "assistant":
            raise Refusal(f"messages.{i}: `tool_use` blocks can only be in `assistant` messages")
        if seen & set(waiting) or len(set(waiting)) < len(waiting):
            raise Refusal(f"messages.{i}: `tool_use` ids must be unique")
        seen |= set(waiting)
    if waiting:
        _results(len(body["messages"]), [], waiting)


def _results(i: int, blocks: Sequence[Body], waiting: Sequence[str]) -> None:
    kinds = [block["type"] for block in blocks]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    unexpected = [name for name in results if name not in waiting]
    if unexpected:
        raise Refusal(
            f"messages.{i}.content: unexpected `tool_use_id` found in `tool_result` blocks: "
            f"{', '.join(unexpected)}. Each `tool_result` block must have a corresponding "
            "`tool_use` block in the previous message."
        )
    missing = [name for name in waiting if name not in results]
    if missing or "tool_result" in kinds[len(results) :]:
        raise Refusal(
            f"messages.{i - 1}: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after: {', '.join(missing or waiting)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )


def _tools(body: Body) -> None:
    names = [tool.get("name", "") for tool in body.get("tools", ())]
    for i, tool in enumerate(body.get("tools", ())):
        if not _TOOL_NAME.fullmatch(names[i]):
            raise Refusal(f"tools.{i}.custom.name: String should match '{_TOOL_NAME.pattern}'")
        if "input_schema" in tool and tool["input_schema"].get("type") != "object":
            raise Refusal(f"tools.{i}.custom.input_schema.type: Input should be 'object'")
    if len(set(names)) < len(names):
        raise Refusal("tools: Tool names must be unique.")
    _tool_choice(body, names)


def _tool_choice(body: Body, names: Sequence[str]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not names:
        raise Refusal("tool_choice: tool_choice may only be specified while providing tools")
    if choice["type"] == "tool" and choice["name"] not in names:
        raise Refusal(f"tool_choice: Tool '{choice['name']}' not found in provided tools")
    if choice["type"] in ("tool", "any"):
        if not facts_of(body["model"]).forced_tool:
            raise Refusal(f"tool_choice: forced tool use is not supported by {body['model']}")
        if body.get("thinking", {}).get("type") in ("enabled", "adaptive"):
            raise Refusal("Thinking may not be enabled when tool_choice forces tool use.")


def _breakpoints(body: Body) -> None:
    marks = [block["cache_control"] for block in prompt_blocks(body) if block.get("cache_control")]
    if len(marks) > MOST_BREAKPOINTS:
        raise Refusal(
            f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {len(marks)}."
        )
    lives = [mark.get("ttl", "5m") for mark in marks]
    if "5m" in lives and "1h" in lives[lives.index("5m") :]:
        raise Refusal(
            "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
        )


def _output_limit(body: Body) -> None:
    most = facts_of(body["model"]).max_output_tokens
    wanted = body["max_tokens"]
    if wanted < 0:
        raise Refusal("max_tokens: Input should be greater than or equal to 0")
    if most is not None and wanted > most:
        raise Refusal(
            f"max_tokens: {wanted} > {most}, which is the maximum allowed number of output tokens "
            f"for {body['model']}"
        )


def _thinking(body: Body) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind, quiet = thinking["type"], facts_of(body["model"]).no_thinking
    refused = {
        "disabled": quiet == "between_tools",
        "between_tools": quiet != "between_tools",
        "enabled": quiet is not None,
    }
    if refused.get(kind, False):
        raise Refusal(f'thinking: "thinking.type.{kind}" is not supported for this model')
    if kind == "enabled" and not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
        raise Refusal("thinking.budget_tokens: must be at least 1024 and less than max_tokens")


def _sampling(body: Body) -> None:
    given = [name for name in SAMPLING if name in body]
    if given and not facts_of(body["model"]).sampling:
        raise Refusal(f"{given[0]}: `{given[0]}` is not supported for this model")
    for name in given:
        value = body[name]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= (1 if name != "top_k" else 2**31):
            raise Refusal(f"{name}: Input should be a number in range")


def _window(body: Body) -> None:
    window, tokens = facts_of(body["model"]).window_tokens, prompt_tokens(body)
    if window is not None and tokens > window:
        raise Refusal(f"prompt is too long: {tokens} tokens > {window} maximum")


_CONTENT_RULES: tuple[Callable[[Body], None], ...] = (
    _roles,
    _not_empty,
    _tool_pairs,
    _tools,
    _breakpoints,
)


def tool_uses(body: Body) -> Iterator[Body]:
    """Yield the tools that a request offers, the forced one alone where one is forced."""
    choice = body.get("tool_choice") or {}
    for tool in body.get("tools", ()):
        if choice.get("type") != "tool" or tool["name"] == choice["name"]:
            yield tool
