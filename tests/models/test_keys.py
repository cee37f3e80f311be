"""The content address of a call: equal for equal calls, another for any difference."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import ModelRejected
from ctxeng.models.keys import call_key, request_body
from ctxeng.models.offline import VERSION
from tests.support.calls import request

PLAIN = request()
TOOL = {"name": "record", "input_schema": {"type": "object"}}


def test_the_key_is_the_sha256_of_the_canonical_json() -> None:
    """Compared with the standard library's JSON: keys sorted, no spaces, UTF-8."""
    asked = request("予算は？ 예산 \0 \"'", system=({"type": "text", "text": "é"},), tool=TOOL)
    body = json.dumps(
        request_body(asked), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert call_key(asked) == hashlib.sha256(body.encode()).hexdigest()


def test_the_key_of_a_plain_call_stays_the_same_over_releases() -> None:
    """An answered call is never paid for twice: the body is written out here by hand."""
    body = (
        '{"extra":{},"max_tokens":100,"messages":[{"content":"What is the budget?","role":"user"}],'
        '"model":"claude-haiku-4-5","prompt_id":"reader@1","replicate":0,"system":[],"tool":null,'
        '"tools":[]}'
    )
    assert call_key(PLAIN) == hashlib.sha256(body.encode()).hexdigest()


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "claude-sonnet-4-5"},
        {"system": ({"type": "text", "text": ""},)},
        {"messages": ({"role": "user", "content": "What is the budget"},)},
        {"messages": ({"role": "assistant", "content": "What is the budget?"},)},
        {"tool": TOOL},
        {"tools": (TOOL,)},
        {"max_tokens": 101},
        {"prompt_id": "reader@2"},
        {"replicate": 1},
        {"extra": {"temperature": 0}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_everything_that_decides_the_answer_changes_the_key(changes: dict[str, Any]) -> None:
    """Parameters, words, prompt version and replicate number."""
    assert call_key(request(**changes)) != call_key(PLAIN)


def test_the_role_that_asks_and_the_order_of_keys_do_not_change_the_key() -> None:
    """Two roles with the same request share the answer."""
    assert call_key(request(role="judge")) == call_key(PLAIN)
    turned = {"content": "What is the budget?", "role": "user"}
    assert call_key(request(messages=(turned,))) == call_key(PLAIN)
    assert call_key(request(messages=[turned])) == call_key(PLAIN)


def test_the_offline_model_is_addressed_with_its_version() -> None:
    """A new release of the extractive model does not answer from an old ledger."""
    assert request_body(request(model="offline"))["model"] == VERSION != "offline"


@pytest.mark.parametrize("words", ["cut \ud83d", "\udc00"])
def test_a_request_with_half_an_emoji_is_rejected_with_who_asked(words: str) -> None:
    """It could be neither addressed nor sent."""
    with pytest.raises(ModelRejected, match=r"request must be JSON, got .*\(reader, reader@1\)"):
        call_key(request(words))


def test_a_number_beyond_64_bits_is_rejected() -> None:
    """A recorded tool call may hold one."""
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {"n": 1 << 64}}
    with pytest.raises(ModelRejected, match="request must be JSON"):
        call_key(request(messages=({"role": "assistant", "content": [block]},)))


WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@given(WORDS, WORDS, st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=50, deadline=None)
def test_calls_have_one_key_exactly_when_they_are_equal(
    one: str, two: str, first: int, second: int
) -> None:
    """No two different texts or replicates share an answer."""
    keys = call_key(request(one, replicate=first)), call_key(request(two, replicate=second))
    assert (keys[0] == keys[1]) is ((one, first) == (two, second))
