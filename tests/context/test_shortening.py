"""Cutting texts that are too long."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.context.shortening import MARK, cut_around, shorten, shorten_message
from ctxeng.core.messages import Message
from ctxeng.tokens import HeuristicCounter

COUNT = HeuristicCounter().count
BARE = MARK.strip()
FAMILY = "👩‍👩‍👧‍👦"


def by_characters(text: str) -> int:
    """Count a token per character, so that examples can be checked by hand."""
    return len(text)


def tool_message(content: str, *results: str) -> Message:
    """Return a message with words and tool results."""
    blocks = tuple(
        {"type": "tool_result", "tool_use_id": f"t{i}", "content": text}
        for i, text in enumerate(results)
    )
    return Message(seq=0, role="tool", content=content, blocks=blocks)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (26, "abcdefghijklmnopqrstuvwxyz"),
        (25, "abcdefghijk" + MARK + "vwxyz"),  # 16 letters beside the 9 of the mark: 11 and 5
        (12, "ab" + MARK + "z"),
        (10, "a" + MARK),
        (9, BARE),
        (1, BARE),
        (0, BARE),
        (-5, BARE),
    ],
)
def test_the_head_keeps_two_thirds_of_what_fits(room: int, expected: str) -> None:
    """One token per character; the mark has nine of them, seven without its spaces."""
    assert shorten("abcdefghijklmnopqrstuvwxyz", room_tokens=room, count=by_characters) == expected


@pytest.mark.parametrize("text", ["", "short", "1234567"])
def test_a_text_no_longer_than_the_mark_is_never_replaced_by_it(text: str) -> None:
    """Cutting would not make it shorter."""
    assert shorten(text, room_tokens=0, count=by_characters) == text


@pytest.mark.parametrize("unit", [FAMILY, "e\u0301", "각", "🇯🇵", "は\u3099"])
def test_no_grapheme_is_torn_apart(unit: str) -> None:
    """Families, flags, accents and jamo stay whole: only the unit and the mark remain."""
    for room in range(10, 90, 7):
        cut = shorten(unit * 40, room_tokens=room, count=by_characters)
        assert cut.replace(MARK, "").replace(BARE, "").replace(unit, "") == ""


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=300), room=st.integers(-3, 120))
def test_a_cut_text_fits_and_is_seen_to_be_cut(text: str, room: int) -> None:
    """It is the text itself, or holds the mark, and is over the room only where nothing fits."""
    cut = shorten(text, room_tokens=room, count=COUNT)
    if cut != text:
        assert BARE in cut
        assert COUNT(cut) <= max(room, COUNT(BARE))
        head, _, tail = cut.partition(MARK if MARK in cut else BARE)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(regex.findall(r"\X", tail)) <= len(regex.findall(r"\X", head))
    assert COUNT(cut) <= max(room, COUNT(text))


def test_a_message_that_fits_is_the_same_message() -> None:
    """Nothing is copied where nothing is cut."""
    message = tool_message("words", "result")
    assert shorten_message(message, room_tokens=COUNT(message.text), count=COUNT) is message


def test_tool_results_give_way_before_the_words() -> None:
    """The words stay whole while cutting the result suffices."""
    message = tool_message("the budget is ¥3,000", "x" * 400)
    shorter = shorten_message(message, room_tokens=40, count=COUNT)
    assert shorter.content == "the budget is ¥3,000"
    assert BARE in shorter.text
    assert COUNT(shorter.text) <= 40


def test_words_are_cut_where_results_cannot_give_way_enough() -> None:
    """Both are cut, and every result keeps its id."""
    message = tool_message("예산은 삼천 엔 " * 50, "x" * 400, "y" * 400)
    shorter = shorten_message(message, room_tokens=60, count=COUNT)
    assert BARE in shorter.content
    assert [b["tool_use_id"] for b in shorter.blocks] == ["t0", "t1"]
    assert [b["content"] for b in shorter.blocks] == [BARE, BARE]
    assert COUNT(shorter.text) <= 60


def test_a_result_in_parts_is_cut_as_the_text_it_says() -> None:
    """Content in the provider's list form is words, not a data structure."""
    parts = [{"type": "text", "text": "会議室 " * 60}, {"type": "text", "text": "end"}]
    block = {"type": "tool_result", "tool_use_id": "t0", "content": parts}
    message = Message(seq=0, role="tool", content="", blocks=(block,))
    shorter = shorten_message(message, room_tokens=40, count=COUNT)
    cut = shorter.blocks[0]["content"]
    assert cut.startswith("会議室 会議室")
    assert cut.endswith("end")


def test_calls_are_never_shortened() -> None:
    """The input of a call is structure; only results and words give way."""
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x" * 200}}
    message = Message(seq=0, role="assistant", content="y" * 400, blocks=(call,))
    shorter = shorten_message(message, room_tokens=10, count=COUNT)
    assert shorter.blocks == (call,)
    assert shorter.content == BARE


@settings(max_examples=50, deadline=None)
@given(
    content=st.text(max_size=120),
    results=st.lists(st.text(max_size=120), max_size=3),
    room=st.integers(0, 80),
)
def test_shortening_never_lengthens_a_message(content: str, results: list[str], room: int) -> None:
    """Whatever the room, the shorter message has at most the tokens and exactly the ids."""
    message = tool_message(content, *results)
    shorter = shorten_message(message, room_tokens=room, count=COUNT)
    assert COUNT(shorter.text) <= max(room, COUNT(message.text))
    assert [b["tool_use_id"] for b in shorter.blocks] == [b["tool_use_id"] for b in message.blocks]


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (99, "One is red. Two is blue. Ten is port 8443. Six is green."),
        (36, MARK + " Ten is port 8443." + MARK),  # 18 letters and two marks of 9
        (48, MARK + " Ten is port 8443." + MARK),  # 49 would hold " Two is blue." with them
        (50, MARK + " Two is blue. Ten is port 8443." + MARK),
        (12, " T" + MARK + "."),  # the sentence itself is too long
    ],
)
def test_a_found_text_is_cut_around_what_was_asked_for(room: int, expected: str) -> None:
    """The best sentence first, then what fits before and after it (a token per character)."""
    text = "One is red. Two is blue. Ten is port 8443. Six is green."
    assert cut_around(text, ["port", "8443"], room_tokens=room, count=by_characters) == expected


@pytest.mark.parametrize(
    ("wanted", "towards_end", "expected"),
    [
        ([], False, "One is red." + MARK),
        ([], True, MARK + " Six is green."),
        (["port"], True, MARK + " Ten is port 8443." + MARK),  # what was asked for comes first
    ],
)
def test_a_text_without_the_words_keeps_the_end_it_is_told_to(
    wanted: list[str], towards_end: bool, expected: str
) -> None:
    """A message before the match is cut to its last words, one after it to its first."""
    text = "One is red. Two is blue. Ten is port 8443. Six is green."
    cut = cut_around(text, wanted, room_tokens=36, count=by_characters, towards_end=towards_end)
    assert cut == expected


@given(st.lists(st.sampled_from(["a", "!\ufe0f", ".", "e\u0301", "。\u3099", "👩‍👩‍👧", "?\u200d"]),
                max_size=30), st.integers(10, 40))  # fmt: skip
@settings(max_examples=50, deadline=None)
def test_no_sentence_ends_within_a_grapheme(units: list[str], room: int) -> None:
    """A mark that belongs to a full stop stays with it."""
    text = "".join(units)
    cut = cut_around(text, [], room_tokens=room, count=by_characters)
    borders = {m.start() for m in regex.finditer(r"\X", text)} | {len(text)}
    for piece in cut.split(MARK):
        at = text.find(piece)
        while at >= 0 and not {at, at + len(piece)} <= borders:
            at = text.find(piece, at + 1)
        assert at >= 0 or piece == BARE


@given(st.text(max_size=60), st.integers(0, 40))
@settings(max_examples=50, deadline=None)
def test_a_cut_fits_and_is_seen_to_be_cut(text: str, room: int) -> None:
    """Whatever the text; where not even the mark fits, the mark alone stays."""
    cut = cut_around(text, ["a"], room_tokens=room, count=by_characters)
    assert cut == text or BARE in cut
    assert len(cut) <= max(room, len(BARE))
