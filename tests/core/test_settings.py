"""Settings: the articles' defaults, every edge, and no key that is silently ignored."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as runs
from pydantic import ValidationError

from ctxeng.core.settings import Section, StrategySettings
from tests.generators import settings_tables

SECTIONS = tuple(StrategySettings.model_fields)


def test_the_defaults_are_those_of_the_source_articles() -> None:
    """Figures from the articles in DESIGN.md: window 6,000 and 4, rolling 8,000, episodes 6 and 1,
    a distillation every 3 episodes, a budget of 18,000 with its shares."""
    table = StrategySettings()
    assert (table.window.tokens, table.window.min_messages) == (6000, 4)
    assert table.rolling.threshold_tokens == 8000
    assert (table.episodes.size, table.episodes.overlap, table.memory.every_episodes) == (6, 1, 3)
    budget = table.budget
    shares = (
        budget.system_tokens,
        budget.summary_tokens,
        budget.memory_tokens,
        budget.retrieved_tokens,
        budget.recent_tokens,
        budget.reserve_tokens,
    )
    assert shares == (2000, 2000, 1000, 3000, 6000, 4000)
    assert sum(shares) == budget.total_tokens == 18000


@pytest.mark.parametrize("section", SECTIONS)
def test_an_unknown_key_is_refused_in_every_section(section: str) -> None:
    """A misspelt threshold never falls back on its default in silence."""
    with pytest.raises(ValidationError, match="extra_forbidden"):
        StrategySettings.model_validate({section: {"treshold": 1}})
    with pytest.raises(ValidationError, match="extra_forbidden"):
        StrategySettings.model_validate({f"{section}s_": {}})


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_frozen(section: str) -> None:
    """Settings are part of a result's identity and cannot change under it."""
    table: Section = getattr(StrategySettings(), section)
    name = next(iter(type(table).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(table, name, getattr(table, name))


# (section, key, lowest allowed, highest allowed); None: no limit on that side.
EDGES: list[tuple[str, str, float, float | None]] = [
    ("window", "tokens", 0, None),
    ("window", "min_messages", 0, None),
    ("rolling", "threshold_tokens", 1, None),
    ("rolling", "target_tokens", 20, None),
    ("hierarchy", "chunk_messages", 2, None),
    ("hierarchy", "fan_in", 2, None),
    ("hierarchy", "levels", 1, 8),
    ("hierarchy", "chunk_tokens", 20, None),
    ("episodes", "size", 2, None),
    ("episodes", "overlap", 0, None),
    ("episodes", "phase", 0, 5),
    ("episodes", "min_size", 1, 12),
    ("episodes", "max_size", 3, None),
    ("episodes", "target_tokens", 20, None),
    ("memory", "every_episodes", 1, None),
    ("memory", "target_tokens", 50, None),
    ("retrieval", "groups", 1, None),
    ("retrieval", "around", 0, None),
    ("retrieval", "candidates", 1, None),
    ("retrieval", "semantic_weight", 0, 1),
    ("retrieval", "previous_weight", 0, 1),
    ("retrieval", "following_weight", 0, 1),
    ("retrieval", "reference_weight", 0, 1),
    ("retrieval", "tool_output_weight", 0, 1),
    ("retrieval", "min_score", 0, None),
    ("budget", "total_tokens", 1, None),
    ("budget", "system_tokens", 0, None),
    ("budget", "summary_tokens", 0, None),
    ("budget", "memory_tokens", 0, None),
    ("budget", "retrieved_tokens", 0, None),
    ("budget", "recent_tokens", 0, None),
    ("budget", "reserve_tokens", 0, None),
    ("compaction", "lag_messages", 0, None),
]


@pytest.mark.parametrize(("section", "key", "low", "high"), EDGES)
def test_every_number_is_taken_at_its_edge_and_refused_beyond_it(
    section: str, key: str, low: float, high: float | None
) -> None:
    """The allowed range is closed at both ends."""
    inside = [low] if high is None else [low, high]
    for value in inside:
        table = StrategySettings.model_validate({section: {key: value}})
        assert getattr(getattr(table, section), key) == value
    outside = [low - 1, math.nan] if high is None else [low - 1, high + 1, math.nan]
    for value in outside:
        with pytest.raises(ValidationError):
            StrategySettings.model_validate({section: {key: value}})


def test_every_number_of_the_settings_has_its_edge_in_the_table_above() -> None:
    """A new threshold without a tested edge fails here."""
    named = {(section, key) for section, key, _, _ in EDGES}
    for section in SECTIONS:
        table = getattr(StrategySettings(), section)
        for key in type(table).model_fields:
            value = getattr(table, key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert (section, key) in named


@pytest.mark.parametrize(
    ("section", "key"),
    [("window", "tokens"), ("budget", "total_tokens"), ("compaction", "lag_messages")],
)
def test_none_lifts_a_limit(section: str, key: str) -> None:
    """No window limit, no budget, artifacts that never become visible."""
    table = StrategySettings.model_validate({section: {key: None}})
    assert getattr(getattr(table, section), key) is None


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        ({"size": 4, "phase": 4}, "phase must be below"),
        ({"size": 6, "phase": 7}, "phase must be below"),
        ({"min_size": 5, "max_size": 4}, "min_size must not exceed"),
    ],
)
def test_episode_settings_that_contradict_each_other_are_refused(
    episodes: dict[str, int], message: str
) -> None:
    """A phase shifts the grid within one episode; the smallest size is not above the largest."""
    with pytest.raises(ValidationError, match=message):
        StrategySettings.model_validate({"episodes": episodes})


@pytest.mark.parametrize("levels", [(), (20,), [300, 350, 400]])
def test_the_targets_of_the_levels_may_be_any_number_of_sizes(levels: Any) -> None:
    """None at all means that the chunk's target holds for every level."""
    table = StrategySettings.model_validate({"hierarchy": {"level_tokens": levels}})
    assert table.hierarchy.level_tokens == tuple(levels)


@pytest.mark.parametrize("levels", [(300, 0), (-5,), (19,)])
def test_a_level_cannot_be_asked_for_fewer_tokens_than_a_chunk(levels: tuple[int, ...]) -> None:
    """A summary of no tokens is never wanted."""
    with pytest.raises(ValidationError, match="greater than or equal to 20"):
        StrategySettings.model_validate({"hierarchy": {"level_tokens": levels}})


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("episodes", "cut"),
        ("retrieval", "gate"),
        ("retrieval", "preset"),
        ("compaction", "when_late"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(section: str, key: str) -> None:
    """The message lists the choices."""
    with pytest.raises(ValidationError, match="Input should be"):
        StrategySettings.model_validate({section: {key: "somehow"}})


@pytest.mark.parametrize("kind", ["rolling", "hierarchy", "episodes"])
def test_a_strategy_compacts_as_soon_as_one_kind_is_enabled(kind: str) -> None:
    """Memory and retrieval alone compact nothing."""
    assert StrategySettings.model_validate({kind: {"enabled": True}}).compacts
    quiet = {"memory": {"enabled": True}, "retrieval": {"enabled": True}}
    assert not StrategySettings.model_validate(quiet).compacts


@given(settings_tables())
@runs(max_examples=30, deadline=None)
def test_settings_survive_being_written_and_read(table: StrategySettings) -> None:
    """A manifest's settings rebuild the strategy exactly."""
    assert StrategySettings.model_validate_json(table.model_dump_json()) == table
