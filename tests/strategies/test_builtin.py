"""The built-in strategies and the overrides laid over them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ctxeng.core.errors import SettingsError
from ctxeng.core.settings import StrategySettings
from ctxeng.strategies import BUILTIN, settings_for

# which sections each strategy switches on; the names are those of the design
SECTIONS = {
    "full_history": set(),
    "recent_window": set(),
    "rolling": {"rolling"},
    "hierarchical": {"hierarchy"},
    "episodes": {"episodes"},
    "episodes_memory": {"episodes", "memory"},
    "retrieval": {"retrieval"},
    "hybrid": {"rolling", "hierarchy", "episodes", "memory", "retrieval"},
}


def faults(strategy: str, overrides: Any) -> list[str]:
    """Return the lines of the error that overrides raise."""
    with pytest.raises(SettingsError) as refused:
        settings_for(strategy, overrides)
    return str(refused.value).splitlines()


def test_the_built_in_strategies_are_these_eight() -> None:
    """Names are part of every experiment file, and stay."""
    assert set(BUILTIN) == set(SECTIONS)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_strategy_is_a_table_of_settings(name: str) -> None:
    """Each switches on its own sections and no others; all else is the default."""
    table = settings_for(name)
    assert table == BUILTIN[name]
    switchable = ("rolling", "hierarchy", "episodes", "memory", "retrieval")
    assert {s for s in switchable if getattr(table, s).enabled} == SECTIONS[name]
    assert (table.window.tokens is None) == (name == "full_history")
    assert table.budget == StrategySettings().budget


def test_overrides_are_laid_over_the_strategys_own_values() -> None:
    """What is not named keeps its value, in the same section too."""
    table = settings_for(
        "episodes_memory", {"episodes": {"size": 4}, "window": {"tokens": None}, "memory": {}}
    )
    assert (table.episodes.enabled, table.episodes.size, table.episodes.overlap) == (True, 4, 1)
    assert table.memory.enabled
    assert table.window.tokens is None
    assert settings_for("episodes_memory").episodes.size == 6  # the built-in is untouched


def test_an_override_may_switch_a_section_off() -> None:
    """Every setting is exposed, ``enabled`` included."""
    assert not settings_for("hybrid", {"memory": {"enabled": False}}).memory.enabled


@pytest.mark.parametrize(
    ("name", "hint"),
    [("epsiodes", "Did you mean episodes?"), ("hybird", "Did you mean hybrid?"), ("予算", "")],
)
def test_an_unknown_strategy_is_refused_with_the_known_names(name: str, hint: str) -> None:
    """The nearest name is offered where there is one."""
    (line,) = faults(name, None)
    assert line.startswith("strategy must be one of full_history, recent_window, rolling")
    assert repr(name) in line
    assert line.endswith(hint or ".")


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"episodes": {"sise": 4}}, "episodes.sise is not a known setting. Did you mean size?"),
        ({"episode": {"size": 4}}, "episode is not a known setting. Did you mean episodes?"),
        ({"window": {"zzz": 1}}, "window.zzz is not a known setting. Known: tokens, min_messages."),
        ({"episodes": {"size": 1}}, "(got 1)."),
        ({"episodes": {"size": "many"}}, "(got 'many')."),
        ({"budget": {"total_tokens": 0}}, "(got 0)."),
        ({"episodes": {"cut": "暗い"}}, "(got '暗い')."),
        ({"episodes": {"phase": 6}}, "episodes.phase must be below episodes.size, got 6"),
        ({"episodes": {"min_size": 9, "max_size": 8}}, "min_size must not exceed"),
        ({"episodes": 4}, "episodes must be a table of settings, got 4."),
        ({"episodes": None}, "episodes must be a table of settings, got None."),
    ],
)
def test_a_wrong_setting_is_refused_by_name(overrides: dict[str, Any], expected: str) -> None:
    """The line names section and key, says the rule, and quotes the value."""
    (line,) = faults("episodes", overrides)
    assert expected in line
    assert line.startswith(next(iter(overrides)))


def test_all_faults_are_told_at_once() -> None:
    """One line each, tables that are none among them."""
    lines = faults(
        "hybrid", {"episodes": {"size": 1, "sise": 2}, "window": 3, "budget": {"total": 1}}
    )
    assert len(lines) == 4
    assert {line.split()[0].rstrip(":") for line in lines} == {
        "window",
        "episodes.size",
        "episodes.sise",
        "budget.total",
    }


def test_settings_cannot_be_changed_in_place() -> None:
    """A strategy is a value: two runs with the same name have the same settings."""
    with pytest.raises(ValidationError):
        BUILTIN["episodes"].episodes.size = 3  # type: ignore[misc]
