"""What the local API refuses is what the API refuses, said in its words."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from anthropic.types import ModelParam

from ctxeng.fakeapi.refusals import Refusal
from ctxeng.fakeapi.rules import check_count, check_message, known_models
from ctxeng.models.catalogue import catalogue
from tests.fakeapi.conftest import body

TOOL = {"name": "record", "input_schema": {"type": "object"}}
USE = {"type": "tool_use", "id": "t1", "name": "record", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(words: str = "hello", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


VALID: dict[str, dict[str, Any]] = {
    "plain": {},
    "blocks in Japanese and Korean": {"messages": [user(text("予算は?"), text("예산은?"))]},
    "the same role twice": {"messages": [user(text("a")), user(text("b"))]},
    "system as text": {"system": "Be brief."},
    "four marks": {"system": [text(cache_control=MARK)] * 4},
    "an hour before five minutes": {"system": [text(cache_control=HOUR), text(cache_control=MARK)]},
    "a forced tool": {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "record"}},
    "a pair of tool blocks": {
        "tools": [TOOL],
        "messages": [user(text()), assistant(text(), USE), user(RESULT, text("and?"))],
    },
    "prefill where it is taken": {"messages": [user(text()), assistant(text("It is"))]},
    "temperature where it is taken": {"temperature": 0},
    "streaming": {"stream": True},
    "thinking off": {"thinking": {"type": "disabled"}, "model": "claude-haiku-5-5"},
    "stop sequences": {"stop_sequences": ["\n\n"]},
    "a dated id": {"model": "claude-haiku-4-5-20251001"},
}


@pytest.mark.parametrize("changes", VALID.values(), ids=VALID)
def test_a_valid_request_is_taken(changes: dict[str, Any]) -> None:
    """Strictness refuses nothing that the API takes."""
    check_message(body(**changes))


def without(name: str) -> dict[str, Any]:
    return {k: v for k, v in body().items() if k != name}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown parameter": (body(colour="red"), "colour: Extra inputs are not permitted"),
    "no max_tokens": (without("max_tokens"), "max_tokens: Field required"),
    "no messages": (without("messages"), "messages: Field required"),
    "max_tokens as text": (body(max_tokens="100"), "max_tokens: Input should be a valid integer"),
    "empty messages": (body(messages=[]), "messages: at least one message is required"),
    "assistant first": (body(messages=[assistant(text())]), 'first message must use the "user"'),
    "unknown role": (body(messages=[{"role": "bot", "content": "x"}]), "Input should be 'user'"),
    "content is a number": (body(messages=[{"role": "user", "content": 7}]), "content"),
    "unknown key in a text block": (
        body(messages=[user(text(colour="red"))]),
        "messages.0.content.0.text.colour: Extra inputs are not permitted",
    ),
    "unknown block": (body(messages=[user({"type": "song"})]), "messages"),
    "no content": (body(messages=[{"role": "user", "content": ""}]), "non-empty content"),
    "no blocks": (body(messages=[user()]), "messages.0: all messages must have non-empty content"),
    "empty text block": (body(messages=[user(text(""))]), "text content blocks must be non-empty"),
    "blank text block": (body(messages=[user(text(" \n"))]), "must contain non-whitespace text"),
    "empty system block": (body(system=[text("")]), "system: text content blocks must be non-"),
    "five marks": (body(system=[text(cache_control=MARK)] * 5), "4 blocks with cache_control"),
    "five marks in three places": (
        body(
            tools=[{**TOOL, "cache_control": MARK}],
            system=[text(cache_control=MARK)] * 2,
            messages=[user(text(cache_control=MARK), text(cache_control=MARK))],
        ),
        "Found 5",
    ),
    "five minutes before an hour": (
        body(system=[text(cache_control=MARK), text(cache_control=HOUR)]),
        "a ttl='1h' cache_control block must not come after",
    ),
    "unknown time to live": (
        body(system=[text(cache_control={"type": "ephemeral", "ttl": "1d"})]), "ttl",
    ),
    "choice without tools": (body(tool_choice={"type": "auto"}), "while providing tools"),
    "choice of another tool": (
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "other"}), "'other' not found",
    ),
    "choice without a name": (body(tools=[TOOL], tool_choice={"type": "tool"}), "tool_choice"),
    "two tools of one name": (body(tools=[TOOL, TOOL]), "Tool names must be unique"),
    "a tool's name with a space": (body(tools=[{**TOOL, "name": "a b"}]), "should match"),
    "a tool without a schema": (body(tools=[{"name": "record"}]), "input_schema"),
    "a schema of no object": (
        body(tools=[{"name": "record", "input_schema": {"type": "array"}}]), "object",
    ),
    "use without result": (
        body(messages=[user(text()), assistant(USE), user(text())]),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1",
    ),
    "use at the end": (body(messages=[user(text()), assistant(USE)]), "`tool_use` ids were found"),
    "result without use": (body(messages=[user(RESULT)]), "unexpected `tool_use_id` found"),
    "result after text": (
        body(messages=[user(text()), assistant(USE), user(text(), RESULT)]), "immediately after",
    ),
    "use in a user's message": (body(messages=[user(USE)]), "only be in `assistant` messages"),
    "the same use twice": (
        body(messages=[user(text()), assistant(USE), user(RESULT), assistant(USE), user(RESULT)]),
        "ids must be unique",
    ),
    "prefill ends in a space": (
        body(messages=[user(text()), assistant(text("It is "))]), "trailing whitespace",
    ),
    "prefill where it is not taken": (
        body(model="claude-sonnet-5-5", messages=[user(text()), assistant(text("It"))]),
        "does not support assistant message prefill",
    ),
    "forced tool where it is not taken": (
        body(model="claude-sonnet-5-5", tools=[TOOL], tool_choice={"type": "any"}),
        "forced tool use is not supported by claude-sonnet-5-5",
    ),
    "forced tool while thinking": (
        body(
            max_tokens=2000, tools=[TOOL], tool_choice={"type": "any"},
            thinking={"type": "enabled", "budget_tokens": 1024},
        ),
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    "temperature where it is not taken": (
        body(model="claude-haiku-5-5", temperature=0), "`temperature` is not supported",
    ),
    "temperature out of range": (body(temperature=2), "temperature: Input should be"),
    "temperature as text": (body(temperature="0"), "temperature: Input should be"),
    "thinking off where it cannot be": (
        body(model="claude-sonnet-5-5", thinking={"type": "disabled"}), "thinking.type.disabled",
    ),
    "thinking longer than the answer": (
        body(thinking={"type": "enabled", "budget_tokens": 1024}), "less than max_tokens",
    ),
    "max_tokens below nothing": (body(max_tokens=-1), "greater than or equal to 0"),
    "max_tokens over the model's": (
        body(max_tokens=64_001), "max_tokens: 64001 > 64000, which is the maximum allowed",
    ),
    "a prompt over the window": (
        body(messages=[user(text("word " * 170_000))]), "prompt is too long: 212503 tokens > 200000",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "told"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_request_is_refused_in_the_apis_words(asked: dict[str, Any], told: str) -> None:
    """Status 400 of kind invalid_request_error, with a message that names the place."""
    with pytest.raises(Refusal) as caught:
        check_message(asked)
    assert (caught.value.status, caught.value.kind) == (400, "invalid_request_error")
    assert told in caught.value.text


def test_an_unknown_model_is_not_found() -> None:
    """As the API says it: 404, and the id."""
    with pytest.raises(Refusal, match="model: claude-haiku-9") as caught:
        check_message(body(model="claude-haiku-9"))
    assert (caught.value.status, caught.value.kind) == (404, "not_found_error")


def test_tokens_are_counted_without_max_tokens_and_with_the_same_rules() -> None:
    """The count endpoint takes no length of an answer."""
    check_count(without("max_tokens"))
    with pytest.raises(Refusal, match="max_tokens: Extra inputs"):
        check_count(body())
    with pytest.raises(Refusal, match="must be non-empty"):
        check_count({**without("max_tokens"), "messages": [user(text(""))]})


def test_every_model_of_the_sdk_and_of_the_catalogue_is_known() -> None:
    """A model that can be named in an experiment can be tried."""
    named = {name for part in get_args(ModelParam) for name in get_args(part)}
    assert named | set(catalogue()["models"]) == set(known_models())
    assert len(named) > 10
