"""The prompt cache by the provider's rules; every number by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.economics.caching import (
    LOOKBACK,
    Placement,
    PromptCache,
    Split,
    breakpoints,
    minimum,
    splits,
)
from ctxeng.harness.economics.turns import Request
from ctxeng.models.prices import price_of
from tests.harness.economics.made import request


def cache(min_tokens: int = 100, ttl: float = 300.0) -> PromptCache:
    return PromptCache(ttl_seconds=ttl, min_tokens=min_tokens)


def test_a_prefix_is_written_once_and_read_while_it_lives() -> None:
    """The second request pays for its tail alone; the third comes a second too late."""
    kept = cache()
    assert kept.send(request(200, 50, at=0), [0]) == Split(written=200, uncached=50)
    assert kept.send(request(200, ("other", 30), at=299), [0]) == Split(read=200, uncached=30)
    assert kept.send(request(200, 50, at=599), [0]) == Split(written=200, uncached=50)


def test_reading_a_prefix_keeps_it_alive() -> None:
    """Five minutes count from the last use, not from the writing."""
    kept = cache()
    for at in (0, 200, 400, 600):
        last = kept.send(request(200, at=at), [0])
    assert last == Split(read=200)


def test_a_prefix_below_the_minimum_is_neither_written_nor_read() -> None:
    """Exactly the minimum is enough."""
    short, enough = cache(min_tokens=201), cache(min_tokens=200)
    for kept, expected in ((short, Split(uncached=200)), (enough, Split(read=200))):
        kept.send(request(200), [0])
        assert kept.send(request(200), [0]) == expected


def test_a_growing_prompt_writes_only_what_is_new() -> None:
    """The breakpoint moves on; the prefix before it was written by the last request."""
    kept = cache()
    assert kept.send(request(200, 40), [1]) == Split(written=240)
    assert kept.send(request(200, 40, 60, 10), [2]) == Split(read=240, written=60, uncached=10)


def test_one_changed_byte_before_the_breakpoint_misses_everything_after_it() -> None:
    """A prefix is compared whole: the same text after another text is another prefix."""
    kept = cache()
    kept.send(request(("system", 150), ("memory", 150)), [1])
    changed = request(("System", 150), ("memory", 150))
    assert kept.send(changed, [1]) == Split(written=300)


def test_an_earlier_breakpoint_is_read_when_the_later_one_has_changed() -> None:
    """Memory stays, the list of episodes has a new one."""
    kept = cache()
    kept.send(request(("memory", 150), ("episodes 1", 90)), [0, 1])
    again = request(("memory", 150), ("episodes 1-2", 120))
    assert kept.send(again, [0, 1]) == Split(read=150, written=120)


@pytest.mark.parametrize(("added", "read"), [(LOOKBACK - 1, 200), (LOOKBACK, 0)])
def test_the_search_goes_back_a_limited_number_of_blocks(added: int, read: int) -> None:
    """An agent that adds more blocks than that in one go writes everything again."""
    kept = cache()
    kept.send(request(200), [0])
    found = kept.send(request(200, *([10] * added)), [added])
    assert found == Split(read=read, written=200 - read + 10 * added)


def test_without_a_breakpoint_nothing_is_cached() -> None:
    """Caching is asked for."""
    kept = cache()
    kept.send(request(500), [0])
    assert kept.send(request(500), []) == Split(uncached=500)


@pytest.mark.parametrize(
    ("placement", "expected"),
    [("none", ()), ("built", (0,)), ("memory", (1,)), ("summaries", (1, 2)), ("moving", (1, 2, 3))],
)
def test_breakpoints_stand_where_the_placement_says(placement: Placement, expected: tuple[int, ...]) -> None:  # fmt: skip
    """System, memory, summaries, question."""
    asked = request(10, 20, 30, 40, built=(0,), memory=1, summaries=2)
    assert breakpoints(asked, placement) == expected
    assert len(breakpoints(request(1, 2, 3, 4, 5, 6, memory=1, summaries=2), "moving")) == 4
    bare = request(10)
    assert breakpoints(bare, placement) == ((0,) if placement == "moving" else ())


def test_a_question_that_looks_different_as_history_does_not_break_the_chain() -> None:
    """`moving` keeps a breakpoint before the question, so that what stands before it is read."""
    first = request(("history", 500), ("question?", 10), at=0)
    then = request(("history", 500), ("Ana: question?", 12), ("answer", 30), ("next?", 10), at=1)
    found = splits([first, then], placement="moving", ttl="5m", min_tokens=100)
    assert found == [Split(written=510), Split(read=500, written=52)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.integers(0, 900)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["none", "moving"]),
    st.integers(0, 400),
)
def test_every_token_is_counted_once_and_nothing_is_read_before_it_was_written(
    prompts: list[tuple[list[str], int]], placement: Placement, least: int
) -> None:
    """Whatever the prompts and pauses are."""
    now, asked = 0.0, []
    for names, pause in prompts:
        now += pause
        asked.append(request(*((name, 100) for name in names), at=now))
    found = splits(asked, placement=placement, ttl="5m", min_tokens=least)
    for one, split in zip(asked, found, strict=True):
        assert split.tokens == one.tokens
        assert min(split.read, split.written, split.uncached) >= 0
    assert found[0].read == 0
    longest = max(len(names) for names, _ in prompts) * 100
    assert all(split.read <= longest for split in found)


def test_the_minimum_is_the_models_own_or_the_usual_one() -> None:
    """By the price file: 4,096 for Haiku 4.5; not published for Sonnet 5.5."""
    haiku, sonnet = price_of("claude-haiku-4-5"), price_of("claude-sonnet-5-5")
    assert haiku is not None
    assert sonnet is not None
    assert (minimum(haiku), minimum(sonnet)) == (4096, 1024)


def test_an_empty_request_is_no_token() -> None:
    """Nothing to split."""
    assert cache().send(Request(seq=0, at_seconds=0, pieces=()), []) == Split()
    assert Split().read_share is None
