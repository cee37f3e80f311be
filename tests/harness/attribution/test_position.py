"""Position of a fact, read from provenance. Every bucket and flag is planted by hand.

The prompts are those of an episode strategy: episodes of six messages up to 17, an unfinished
episode 18-19 kept raw, and the recent window from 20 to 25.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.harness.attribution.position import (
    BUCKETS,
    Bucket,
    bucket_of,
    position,
    seams_of,
)
from ctxeng.harness.probes.model import Span
from tests.harness.attribution.made import artifact, context, left, made_of, probe, raw

EPISODES = [artifact("episode", first, first + 5, f"episode {first}") for first in (0, 6, 12)]
SEAMS = (6, 12)
PROMPT = context(
    *(made_of(episode) for episode in EPISODES),
    *(raw(seq, "tail") for seq in (18, 19)),
    *(raw(seq) for seq in range(20, 26)),
    as_of=25,
)


@pytest.mark.parametrize(
    ("first", "last", "bucket"),
    [
        (20, 21, "recent"),
        (25, 25, "recent"),
        (18, 19, "recent"),
        (19, 20, "recent"),
        (17, 18, "edge"),
        (16, 20, "edge"),
        (25, 26, "edge"),
        (7, 8, "interior"),
        (0, 5, "interior"),
        (12, 17, "interior"),
        (5, 6, "boundary"),
        (11, 12, "boundary"),
        (4, 13, "boundary"),
        (26, 27, "gap"),
    ],
)
def test_every_span_has_the_bucket_it_was_planted_in(first: int, last: int, bucket: Bucket) -> None:
    """Raw, half raw, uncovered, across a seam, within one range: in this order."""
    span = Span(from_seq=first, to_seq=last)
    assert bucket_of(span, PROMPT, EPISODES, SEAMS) == bucket
    assert position(probe((first, last)), PROMPT, EPISODES, SEAMS).bucket == bucket


def test_what_no_visible_artifact_covers_is_a_gap() -> None:
    """One uncovered message makes a gap, also where the rest crosses a seam."""
    covered = [EPISODES[0], EPISODES[2]]
    assert position(probe((5, 6)), PROMPT, covered, SEAMS).bucket == "gap"
    assert position(probe((7, 8)), PROMPT, covered, SEAMS).bucket == "gap"
    assert position(probe((7, 8)), PROMPT, [], SEAMS).bucket == "gap"


def test_a_span_at_a_seam_belongs_to_the_side_it_lies_on() -> None:
    """A seam is the first message of a range: 6 alone is interior, 5 to 6 crosses it."""
    assert position(probe((6, 6)), PROMPT, EPISODES, SEAMS).bucket == "interior"
    assert position(probe((5, 5)), PROMPT, EPISODES, SEAMS).bucket == "interior"


def test_seams_are_those_of_the_reference_arm() -> None:
    """An arm that keeps everything in one summary is scored with the seams it is given."""
    rolling = [artifact("rolling", 0, 17, "all of it")]
    assert position(probe((5, 6)), PROMPT, rolling, SEAMS).bucket == "boundary"
    assert position(probe((5, 6)), PROMPT, rolling, ()).bucket == "interior"
    assert position(probe((5, 6)), PROMPT, rolling, [12, 6, 6]).bucket == "boundary"


def test_several_spans_have_their_common_bucket_or_are_mixed() -> None:
    """Two interior spans are interior; an interior and a recent one are apart."""
    assert position(probe((1, 2), (13, 14)), PROMPT, EPISODES, SEAMS).bucket == "interior"
    assert position(probe((1, 2), (20, 21)), PROMPT, EPISODES, SEAMS).bucket == "mixed"


def test_a_fact_that_was_never_stated_has_no_position() -> None:
    """An absent probe has the bucket ``none`` and no flag."""
    found = position(probe(expect=(), answerable=False), PROMPT, EPISODES, SEAMS)
    assert (found.bucket, found.tail, found.distilled, found.retrieved, found.evicted) == (
        "none",
        False,
        False,
        False,
        False,
    )


def test_the_tail_is_flagged() -> None:
    """Raw in an unfinished episode counts as recent, and is told apart."""
    assert position(probe((18, 18)), PROMPT, EPISODES, SEAMS).tail
    assert not position(probe((20, 20)), PROMPT, EPISODES, SEAMS).tail


@pytest.mark.parametrize(
    ("further", "distilled"),
    [
        ([], False),
        ([artifact("memory", 0, 11, "- likes blue")], True),
        ([artifact("memory", 0, 5, "- likes blue")], False),
        ([artifact("node", 6, 17, "node", level=1)], True),
        ([artifact("node", 6, 11, "chunk", level=0)], False),
        ([artifact("rolling", 0, 17, "state")], False),
    ],
)
def test_what_was_folded_into_memory_or_a_higher_level_is_distilled(
    further: list[Artifact], distilled: bool
) -> None:
    """The evidence's own range decides; level 0 and the rolling summary are no distillation."""
    found = position(probe((7, 8)), PROMPT, [*EPISODES, *further], SEAMS)
    assert found.distilled is distilled


def test_raw_evidence_is_not_distilled() -> None:
    """A message still shown in its own words has not been folded away, whatever covers it."""
    memory = artifact("memory", 0, 25, "- all")
    assert not position(probe((20, 21)), PROMPT, [*EPISODES, memory], SEAMS).distilled
    assert position(probe((17, 18)), PROMPT, [*EPISODES, memory], SEAMS).distilled


def test_a_message_brought_back_by_the_search_keeps_its_bucket_and_is_flagged() -> None:
    """Retrieval puts old words in the prompt; the position stays that of the compaction."""
    found = position(probe((7, 8)), with_blocks(raw(8, "retrieved")), EPISODES, SEAMS)
    assert (found.bucket, found.retrieved) == ("interior", True)
    assert not position(probe((9, 9)), with_blocks(raw(8, "retrieved")), EPISODES, SEAMS).retrieved


def test_a_recent_message_that_was_cut_short_is_at_the_edge() -> None:
    """Only part of it stands in the prompt, whether or not that part holds the value."""
    shown = [replace(b, shortened=25 in b.message_seqs) for b in PROMPT.blocks[:-1]]
    prompt = context(*shown, as_of=25)
    spans = ((25, 25), (24, 25), (23, 24))
    found = [position(probe(span), prompt, EPISODES, SEAMS).bucket for span in spans]
    assert found == ["edge", "edge", "recent"]


def test_a_pinned_message_is_not_recent() -> None:
    """The controls that restate the evidence leave its position as it was."""
    assert (
        position(probe((7, 7)), with_blocks(raw(7, "pinned")), EPISODES, SEAMS).bucket == "interior"
    )


@pytest.mark.parametrize(
    ("reason", "evicted"),
    [
        ("over_budget", True),
        ("folded", True),
        ("keep_raw", True),
        ("duplicate", False),
        ("gated", False),
    ],
)
def test_what_was_loaded_and_then_cut_is_evicted(reason: str, evicted: bool) -> None:
    """An episode the budget cut is told from one that was never a candidate."""
    cut = context(left_out=[left(made_of(EPISODES[1]), reason)])  # type: ignore[arg-type]
    assert position(probe((7, 8)), cut, EPISODES, SEAMS).evicted is evicted
    assert not position(probe((1, 2)), cut, EPISODES, SEAMS).evicted


def test_a_cut_message_that_a_shown_artifact_covers_is_not_evicted() -> None:
    """What still stands in the prompt in some form was not evicted from it."""
    cut = context(made_of(EPISODES[1]), left_out=[left(raw(7), "over_budget")])
    assert not position(probe((7, 8)), cut, EPISODES, SEAMS).evicted


@pytest.mark.parametrize(
    ("artifacts", "seams"),
    [
        ([], ()),
        (EPISODES, (6, 12)),
        (EPISODES[:1], ()),
        (list(reversed(EPISODES)), (6, 12)),
        ([*EPISODES, artifact("episode", 6, 11, "again", version=2)], (6, 12)),
        ([*EPISODES, artifact("node", 0, 17, level=1)], (6, 12)),
        ([*EPISODES, artifact("memory", 0, 17), artifact("rolling", 0, 9)], (6, 12)),
        ([artifact("node", 0, 11), artifact("node", 12, 23), artifact("node", 0, 23, level=1)], (12,)),
        ([artifact("rolling", 0, 9), artifact("rolling", 0, 19, version=2)], (10,)),
        ([artifact("rolling", 0, 9), artifact("rolling", 0, 15, version=2), artifact("rolling", 0, 29, version=3)], (10, 16)),
        ([artifact("memory", 0, 9)], ()),
    ],
)  # fmt: skip
def test_seams_lie_where_core_ranges_meet(
    artifacts: list[Artifact], seams: tuple[int, ...]
) -> None:
    """Episodes first, else the lowest nodes, else the steps of the rolling summary."""
    assert seams_of(artifacts) == seams


def test_a_lossy_overlap_moves_no_seam() -> None:
    """Reading more than the core range changes nothing about the position of a fact."""
    wide = [
        artifact("episode", first, first + 5, read_from_seq=max(0, first - 2))
        for first in (0, 6, 12)
    ]
    assert seams_of(wide) == seams_of(EPISODES)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True),
    st.integers(0, 30),
    st.integers(0, 6),
    st.lists(st.booleans(), min_size=31, max_size=31),
)
def test_every_span_has_exactly_one_bucket(
    borders: list[int], first: int, length: int, shown: list[bool]
) -> None:
    """Whatever is raw, covered or cut, a span lands in one of the five buckets of its own."""
    starts = sorted({0, *borders})
    ends = [start - 1 for start in starts[1:]] + [30]
    tiles = [artifact("episode", a, b) for a, b in zip(starts, ends, strict=True) if a % 3]
    prompt = context(*(raw(seq) for seq in range(31) if shown[seq]))
    found = position(probe((first, first + length)), prompt, tiles, seams_of(tiles))
    assert found.bucket in BUCKETS
    assert found.bucket not in ("mixed", "none")


def with_blocks(*more: object) -> Context:
    """Return the prompt with further blocks."""
    return context(*PROMPT.blocks[:-1], *more, as_of=25)  # type: ignore[arg-type]
