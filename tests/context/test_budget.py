"""Fitting sections into a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.context.budget import Section, fit
from ctxeng.core.context import Block, BlockKind


def block(tokens: int, seq: int = 0, kind: BlockKind = "episode") -> Block:
    """Return a block of so many tokens."""
    return Block(kind=kind, text=f"{tokens}", tokens=tokens, message_seqs=(seq,))


def section(name: str, share: int, *tokens: int) -> Section:
    """Return a section with blocks of the given tokens, most valuable first."""
    blocks = [block(t, seq) for seq, t in enumerate(tokens)]
    return Section(name=name, blocks=blocks, share_tokens=share)


def kept(sections: list[Section], room: int | None) -> dict[str, list[int]]:
    """Return the tokens of the kept blocks by section."""
    fitted = fit(sections, room_tokens=room)
    return {name: [b.tokens for b in blocks] for name, blocks in fitted.kept.items()}


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        # shares 10 and 10; numbers by hand
        (20, {"first": [8], "second": [9]}),  # each its share; 3 left fit nothing more
        (25, {"first": [8], "second": [9, 8]}),  # 25 - 8 - 9 = 8: the second round pays 8
        (28, {"first": [8, 11], "second": [9]}),  # the first section is asked first: 11 of 11
        (36, {"first": [8, 11], "second": [9, 8]}),
        (17, {"first": [8], "second": [9]}),
        (16, {"first": [8], "second": [8]}),  # 9 does not fit, the smaller one after it does
        (8, {"first": [8], "second": []}),
        (7, {"first": [], "second": []}),
        (0, {"first": [], "second": []}),
        (None, {"first": [8, 11], "second": [9, 8]}),
    ],
)
def test_sections_take_their_share_then_what_is_left_by_priority(
    room: int | None, expected: dict[str, list[int]]
) -> None:
    """First pass within the shares, second pass hands out the rest in order of priority."""
    assert kept([section("first", 10, 8, 11), section("second", 10, 9, 8)], room) == expected


def test_what_a_section_does_not_use_flows_to_the_next() -> None:
    """An empty section leaves its whole share, also past a section without a share."""
    sections = [section("summary", 30), section("folded", 0), section("memory", 5, 35)]
    assert kept(sections, 35)["memory"] == [35]
    assert kept(sections, 34)["memory"] == []


def test_a_share_protects_less_important_sections() -> None:
    """The first section could use everything, and gets the second one's share only if unused."""
    sections = [section("first", 10, 6, 6, 6), section("second", 10, 10)]
    assert kept(sections, 20) == {"first": [6], "second": [10]}


def test_what_does_not_fit_is_listed_with_its_sections_reason() -> None:
    """Seqs, artifacts and tokens of a left out block are told."""
    cut = Block(kind="memory", text="m", tokens=9, message_seqs=(0, 1), artifact_ids=("a",))
    folded = Section(name="folded", blocks=[cut], share_tokens=0, reason="folded")
    fitted = fit([folded, section("other", 0, 9)], room_tokens=8)
    assert [(o.reason, o.kind, o.tokens) for o in fitted.left_out] == [
        ("folded", "memory", 9),
        ("over_budget", "episode", 9),
    ]
    assert fitted.left_out[0].message_seqs == (0, 1)
    assert fitted.left_out[0].artifact_ids == ("a",)


def halved(unit: Sequence[Block], room: int) -> list[Block] | None:
    """Cut a block to what fits, ten tokens at least."""
    return [replace(b, tokens=room, shortened=True) for b in unit] if room >= 10 else None


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        # a section that cuts (share 40) beside one that does not (share 30); numbers by hand
        (150, {"cuts": [90, 30], "whole": [25]}),
        (130, {"cuts": [90, 15], "whole": [25]}),  # 130 - 25 claimed: 105, of which 90 are taken
        (120, {"cuts": [90], "whole": [25]}),  # 5 left are too few for a cut
        (70, {"cuts": [45], "whole": [25]}),  # its share and what the other does not claim
        (60, {"cuts": [40, 20], "whole": []}),  # its share first; 20 do not hold the other's 25
        (9, {"cuts": [], "whole": []}),
    ],
)
def test_a_section_that_cuts_gives_up_words_before_blocks(
    room: int, expected: dict[str, list[int]]
) -> None:
    """The most valuable block is cut before a lesser one takes its place."""
    cuts = replace(section("cuts", 40, 90, 30), cut=halved)
    assert kept([cuts, section("whole", 30, 25)], room) == expected


def test_what_more_important_sections_lack_is_theirs_before_a_lesser_one_cuts() -> None:
    """80 of room: 30 the first section's share, 20 more that it lacks, 30 for the second."""
    cuts = replace(section("cuts", 10, 90), cut=halved)
    assert kept([section("first", 30, 30, 20), cuts], 80) == {"first": [30, 20], "cuts": [30]}


def test_no_sections_is_no_fault() -> None:
    """Nothing in, nothing out."""
    fitted = fit([], room_tokens=0)
    assert (fitted.kept, fitted.left_out) == ({}, [])


@settings(max_examples=50, deadline=None)
@given(
    shape=st.lists(
        st.tuples(st.integers(0, 40), st.lists(st.integers(1, 30), max_size=6)), max_size=4
    ),
    room=st.integers(0, 120),
)
def test_every_block_is_kept_in_order_or_left_out_and_the_room_is_never_exceeded(
    shape: list[tuple[int, list[int]]], room: int
) -> None:
    """And nothing that is left out would still have fitted."""
    sections = [section(str(i), share, *tokens) for i, (share, tokens) in enumerate(shape)]
    fitted = fit(sections, room_tokens=room)
    used = sum(b.tokens for blocks in fitted.kept.values() for b in blocks)
    assert used <= room
    for s in sections:
        chosen = {id(b) for b in fitted.kept[s.name]}
        assert fitted.kept[s.name] == [b for b in s.blocks if id(b) in chosen]
    count = sum(len(s.blocks) for s in sections)
    assert sum(map(len, fitted.kept.values())) + len(fitted.left_out) == count
    assert all(out.tokens > room - used for out in fitted.left_out)
