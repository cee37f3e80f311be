"""Messages without a space in them (base64, minified code, a key held down) cost linear time.

Quadratic patterns would take hours on these lengths: the time-out fails them, no clock is compared.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ctxeng.core.messages import Message
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.models.offline.distil import distil
from ctxeng.models.offline.prompt import Tagged, tagged
from ctxeng.models.offline.summarise import salience, section_of
from ctxeng.retrieval.gate import should_retrieve
from ctxeng.retrieval.reference import references

LETTERS = 150_000


def piece(text: str) -> Tagged:
    return Tagged(tag="message", attributes={"seq": "1", "speaker": "user"}, text=text)


READERS: dict[str, Callable[[str], object]] = {
    "how telling a sentence is": salience,
    "the section of a task state": section_of,
    "what is worth remembering": lambda text: distil([piece(text)], target=100),
    "the tags of a prompt": lambda text: tagged(f"<message {text}>{text}</message>"),
    "the gate of retrieval": should_retrieve,
    "the answer to a probe": lambda text: score_literal(
        question="Which ticket?",
        kind="identifier",
        expect=[["CB-20418"]],
        forbid=[],
        answer=f"CB-20418 {text}",
    ),
    "what a question names": lambda text: references(
        text, [Message(seq=0, role="user", content=text)]
    ),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["a", "1", "-", "1-", "あ", " ", "\n"])
@pytest.mark.parametrize("what", READERS)
def test_a_word_of_any_length_is_read_in_linear_time(what: str, unit: str) -> None:
    """150,000 characters, over and over the same."""
    READERS[what](unit * (LETTERS // len(unit)))
