"""Where episodes end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.compaction.cuts import next_episode_end
from ctxeng.core.messages import Message, Role
from ctxeng.core.pairs import atomic_starts
from ctxeng.core.protocols import Vectors
from ctxeng.core.settings import EpisodeSettings
from ctxeng.embedding import open_embedder
from tests.compaction.fakes import answer, call, say, talk
from tests.generators import histories

EMBEDDER = open_embedder("hashing")


def embedded(messages: Sequence[Message]) -> Vectors:
    """Return hashed vectors of the messages' texts."""
    return np.asarray(EMBEDDER.embed([m.text or m.name for m in messages], kind="passage"))


def on_a_line(angles: Sequence[float]) -> Vectors:
    """Return unit vectors in the plane at the given angles (degrees)."""
    radians = np.radians(np.asarray(angles))
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def spoken_by(roles: str) -> list[Message]:
    """Return messages by roles written as letters: u, a."""
    names: dict[str, Role] = {"u": "user", "a": "assistant"}
    return [say(seq, role=names[letter]) for seq, letter in enumerate(roles)]


@st.composite
def episode_settings(draw: st.DrawFn) -> EpisodeSettings:
    """Draw sizes and limits that are consistent, for every kind of cut."""
    size = draw(st.integers(2, 8))
    low = draw(st.integers(1, 6))
    return EpisodeSettings(
        enabled=True,
        size=size,
        phase=draw(st.integers(0, size - 1)),
        min_size=low,
        max_size=draw(st.integers(max(2, low), 9)),
        cut=draw(st.sampled_from(("fixed", "exchange", "semantic", "model"))),
    )


@pytest.mark.parametrize(
    ("size", "phase", "start", "old_until", "expected"),
    [
        (6, 0, 0, 6, 6),
        (6, 0, 0, 5, None),
        (6, 0, 6, 12, 12),
        (6, 0, 6, 11, None),
        (6, 2, 0, 4, 4),
        (6, 2, 0, 3, None),
        (6, 2, 4, 10, 10),
        (2, 1, 0, 1, 1),
        (2, 1, 1, 2, None),
        (6, 0, 0, 0, None),
    ],
)
def test_fixed_cuts_follow_a_grid_that_the_phase_shifts(
    size: int, phase: int, start: int, old_until: int, expected: int | None
) -> None:
    """The first episode has size - phase messages, each later one size (counted by hand)."""
    table = EpisodeSettings(size=size, phase=phase)
    end = next_episode_end(talk(20), start=start, old_until=old_until, settings=table)
    assert end == expected


def test_a_cut_moves_past_the_result_of_a_tool_call() -> None:
    """A call at the end of an episode takes its results with it."""
    messages = [*talk(5), call(5, "a", "b"), answer(6, "a"), answer(7, "b"), *talk(12)[8:]]
    table = EpisodeSettings(size=6)
    assert next_episode_end(messages, start=0, old_until=10, settings=table) == 8


def test_a_cut_waits_for_a_result_in_the_recent_window() -> None:
    """The episode is not due while the result of its last call is still recent."""
    messages = [*talk(5), call(5, "a"), say(6), answer(7, "a"), say(8)]
    table = EpisodeSettings(size=6)
    assert next_episode_end(messages, start=0, old_until=7, settings=table) is None
    assert next_episode_end(messages, start=0, old_until=8, settings=table) == 8


@settings(max_examples=50, deadline=None)
@given(history=histories(max_size=30), table=episode_settings())
def test_a_cut_keeps_every_tool_result_with_its_call(
    history: list[Message], table: EpisodeSettings
) -> None:
    """Every episode of every history ends where a cut is allowed, and leaves progress."""
    allowed = {*atomic_starts(history), len(history)}
    start = 0
    while True:
        end = next_episode_end(
            history, start=start, old_until=len(history), settings=table, embed=embedded
        )
        if end is None:
            break
        assert start < end <= len(history)
        assert end in allowed
        start = end


@settings(max_examples=50, deadline=None)
@given(history=histories(min_size=2, max_size=24), table=episode_settings())
def test_compacting_late_cuts_as_compacting_at_once_does(
    history: list[Message], table: EpisodeSettings
) -> None:
    """The end of an episode is the same whenever it is looked for, once it is due."""
    ends = [
        next_episode_end(history[:n], start=0, old_until=n, settings=table, embed=embedded)
        for n in atomic_starts(history)
    ]
    assert len(set(ends) - {None}) <= 1


@settings(max_examples=50, deadline=None)
@given(
    roles=st.text("ua", min_size=12, max_size=24),
    table=episode_settings().filter(lambda t: t.cut != "fixed"),
)
def test_a_searched_cut_stays_within_its_limits(roles: str, table: EpisodeSettings) -> None:
    """Without tool calls an exchange or semantic episode has min_size to max_size messages."""
    messages = spoken_by(roles)
    end = next_episode_end(
        messages, start=0, old_until=len(messages), settings=table, embed=embedded
    )
    assert end is not None
    assert table.min_size <= end <= table.max_size


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("uauauauauaua", 6),  # a border at 6 itself
        ("uaaaauaaauaa", 5),  # borders 5 and 9: 5 is nearer to 6
        ("uaaauaaauaaa", 4),  # borders 4 and 8: as near, the earlier wins
        ("uauuuuuuauaa", 9),  # 2 lies below min_size; a second user message is no border
        ("uaaaaaaaaaaa", 12),  # no border: the whole max_size
        ("uuuuuuuuuuuu", 12),  # one speaker only
    ],
)
def test_an_exchange_cut_takes_the_border_nearest_to_the_size(roles: str, expected: int) -> None:
    """With size 6, limits 3 and 12; borders counted by hand."""
    table = EpisodeSettings(cut="exchange", size=6, min_size=3, max_size=12)
    messages = spoken_by(roles)
    assert next_episode_end(messages, start=0, old_until=12, settings=table) == expected
    assert next_episode_end(messages, start=0, old_until=11, settings=table) is None


def test_a_semantic_cut_takes_the_deepest_dip() -> None:
    """Neighbours turn by 0 degrees but for 40 before index 4 and 80 before index 5."""
    angles = [0, 0, 0, 0, 40, 120, 120, 120]
    table = EpisodeSettings(cut="semantic", size=4, min_size=3, max_size=8)
    end = next_episode_end(
        talk(8), start=0, old_until=8, settings=table, embed=lambda m: on_a_line(angles[: len(m)])
    )
    assert end == 5


def test_a_semantic_cut_without_a_dip_takes_the_size() -> None:
    """Where all neighbours are equally near, the candidate nearest to size wins."""
    table = EpisodeSettings(cut="semantic", size=5, min_size=3, max_size=8)
    end = next_episode_end(
        talk(8), start=0, old_until=8, settings=table, embed=lambda m: on_a_line([30] * len(m))
    )
    assert end == 5


@pytest.mark.parametrize(("size", "expected"), [(2, 3), (5, 5), (20, 8)])
def test_a_semantic_cut_without_an_embedder_takes_the_size_within_its_limits(
    size: int, expected: int
) -> None:
    """Limits are 3 and 8."""
    table = EpisodeSettings(cut="semantic", size=size, min_size=3, max_size=8)
    assert next_episode_end(talk(30), start=0, old_until=30, settings=table) == expected
