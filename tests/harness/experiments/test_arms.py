"""Arms: built-in strategies with changes, sweeps, and controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import SettingsError
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.experiments.arms import control_arm, resolve_arms, swept
from ctxeng.harness.experiments.schema import CONTROLS, Control, ExperimentFile, SweepTable
from ctxeng.strategies.builtin import BUILTIN, settings_for
from tests.generators import settings_tables

Make = Callable[..., ExperimentFile]
REFERENCE = settings_for("episodes_memory", {"window": {"tokens": 500}})


def sweep(**matrix: list[Any]) -> SweepTable:
    """Return a sweep over the arm ``episodes``; ``a__b`` stands for ``a.b``."""
    dotted = {key.replace("__", "."): values for key, values in matrix.items()}
    return SweepTable(arm="episodes", matrix=dotted)


def test_the_reference_arm_stands_first_and_controls_last(experiment: Make) -> None:
    """Order decides how reports are read: reference, arms, sweeps, controls as listed."""
    arms = resolve_arms(
        experiment(
            arms={"a": {"strategy": "rolling"}, "episodes": {"strategy": "episodes"}},
            sweeps={"s": {"arm": "a", "matrix": {"rolling.threshold_tokens": [100]}}},
            controls=["none", "full"],
        )
    )
    assert [arm.name for arm in arms] == [
        *("episodes", "a", "a[threshold_tokens=100]", "none", "full")
    ]
    assert [arm.is_control for arm in arms] == [False, False, False, True, True]


@pytest.mark.parametrize("strategy", list(BUILTIN))
def test_an_arm_is_its_strategy_with_its_changes(strategy: str, experiment: Make) -> None:
    """Only the named keys of a section change; the rest is the built-in strategy."""
    (arm,) = resolve_arms(
        experiment(
            arms={"x": {"strategy": strategy, "window": {"min_messages": 2}}},
            reference_arm="x",
            controls=[],
        )
    )
    wanted = BUILTIN[strategy]
    window = wanted.window.model_copy(update={"min_messages": 2})
    assert arm.settings == wanted.model_copy(update={"window": window})
    assert (arm.control, arm.pins_evidence, arm.lossless) == (None, False, False)


def test_a_swept_arm_may_be_the_reference(experiment: Make) -> None:
    """The reference may be any arm by its full name, and is not listed twice."""
    arms = resolve_arms(
        experiment(
            reference_arm="episodes[overlap=1]",
            sweeps={"s": {"arm": "episodes", "matrix": {"episodes.overlap": [0, 1]}}},
            controls=["verbatim"],
        )
    )
    assert [arm.name for arm in arms] == [
        *("episodes[overlap=1]", "episodes", "episodes[overlap=0]", "verbatim")
    ]
    assert arms[-1].settings.episodes == arms[0].settings.episodes


@pytest.mark.parametrize(
    ("matrix", "labels"),
    [
        ({"episodes__overlap": [0, 1]}, ["overlap=0", "overlap=1"]),
        (
            {"episodes__overlap": [0, 1], "episodes__phase": [2, 3]},
            [*("overlap=0,phase=2", "overlap=0,phase=3", "overlap=1,phase=2", "overlap=1,phase=3")],
        ),
        ({"episodes__cut": ["fixed"]}, ["cut=fixed"]),
        ({"compaction__lag_messages": [0, 3]}, ["lag_messages=0", "lag_messages=3"]),
        ({"memory__target_tokens": [600]}, ["memory.target_tokens=600"]),
        ({"rolling__enabled": [True]}, ["rolling.enabled=True"]),
        ({"nowhere__unknown": [1]}, ["unknown=1"]),
    ],
)
def test_a_sweep_names_its_arms_by_the_settings_it_changes(
    matrix: dict[str, list[Any]], labels: list[str]
) -> None:
    """The last key changes fastest; a setting of several sections is named with its section."""
    assert [label for label, _ in swept(sweep(**matrix))] == labels


def test_a_combination_sets_every_swept_key() -> None:
    """Keys of one section stand in one table of overrides."""
    ((_, overrides),) = swept(
        sweep(episodes__overlap=[2], episodes__size=[8], window__tokens=[300])
    )
    assert overrides == {"episodes": {"overlap": 2, "size": 8}, "window": {"tokens": 300}}


values = st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)


@given(
    st.dictionaries(
        st.sampled_from(
            ["episodes.size", "episodes.target_tokens", "rolling.target_tokens", "window.tokens"]
        ),
        values,
        min_size=1,
    )
)
@settings(max_examples=50, deadline=None)
def test_a_sweep_makes_every_combination_once(matrix: dict[str, list[int]]) -> None:
    """Names and overrides are distinct, and as many as the product of the lists."""
    found = swept(SweepTable(arm="a", matrix=matrix))
    size = 1
    for listed in matrix.values():
        size *= len(listed)
    assert len(found) == len({label for label, _ in found}) == size
    flat = [
        tuple(overrides[section][setting] for section, setting in (k.split(".") for k in matrix))
        for _, overrides in found
    ]
    assert len(set(flat)) == size


def test_a_sweep_lays_its_values_over_the_changes_of_its_arm(experiment: Make) -> None:
    """What the arm sets and the sweep does not is kept."""
    arms = resolve_arms(
        experiment(
            arms={"episodes": {"strategy": "episodes", "episodes": {"size": 8, "overlap": 2}}},
            sweeps={"s": {"arm": "episodes", "matrix": {"episodes.overlap": [0]}}},
            controls=[],
        )
    )
    assert [(a.settings.episodes.size, a.settings.episodes.overlap) for a in arms] == [
        (8, 2),
        (8, 0),
    ]


def test_two_sweeps_of_one_setting_name_in_two_sections_keep_apart(experiment: Make) -> None:
    """``target_tokens`` of memory and of episodes are two arms, not one that hides the other."""
    arms = resolve_arms(
        experiment(
            sweeps={
                "a": {"arm": "episodes", "matrix": {"episodes.target_tokens": [100]}},
                "b": {"arm": "episodes", "matrix": {"memory.target_tokens": [100]}},
            },
            controls=[],
        )
    )
    found = {
        a.name: (a.settings.episodes.target_tokens, a.settings.memory.target_tokens) for a in arms
    }
    assert found == {
        "episodes": (200, 800),
        "episodes[episodes.target_tokens=100]": (100, 800),
        "episodes[memory.target_tokens=100]": (200, 100),
    }


def test_an_arm_made_twice_differently_is_refused(experiment: Make) -> None:
    """A written arm that takes the name of a swept one would hide it."""
    arms = {
        "episodes": {"strategy": "episodes"},
        "episodes[overlap=0]": {"strategy": "rolling"},
    }
    sweeps = {"s": {"arm": "episodes", "matrix": {"episodes.overlap": [0]}}}
    with pytest.raises(
        SettingsError, match=r"sweeps\.s must make arms of its own, got 'episodes\["
    ):
        resolve_arms(experiment(arms=arms, sweeps=sweeps))


def test_two_sweeps_may_make_the_same_arm(experiment: Make) -> None:
    """Where two matrices meet there is one arm, run once."""
    matrix = {"episodes.overlap": [0, 1]}
    sweeps = {name: {"arm": "episodes", "matrix": matrix} for name in ("s", "t")}
    arms = resolve_arms(experiment(sweeps=sweeps, controls=[]))
    assert [arm.name for arm in arms] == [
        *("episodes", "episodes[overlap=0]", "episodes[overlap=1]")
    ]


def test_every_fault_of_every_arm_is_told(experiment: Make) -> None:
    """A strategy, a section, a key, a value and a sweep's arm, each wrong, are five lines."""
    with pytest.raises(SettingsError) as caught:
        resolve_arms(
            experiment(
                arms={
                    "a": {"strategy": "epsiodes"},
                    "b": {"strategy": "episodes", "windows": {"tokens": 1}},
                    "c": {"strategy": "episodes", "window": {"token": 1}},
                    "d": {"strategy": "episodes", "episodes": {"size": 1}},
                    "e": {"strategy": "episodes", "window": 5},
                },
                sweeps={
                    "s": {"arm": "nobody", "matrix": {"episodes.overlap": [0]}},
                    "t": {"arm": "d", "matrix": {"episodes.phase": [9]}},
                },
            )
        )
    told = str(caught.value).split("\n")
    assert any("arms.a:" in line and "Did you mean episodes?" in line for line in told)
    assert any("arms.b: windows is not a known setting" in line for line in told)
    assert any("arms.c: window.token is not a known setting" in line for line in told)
    assert any("arms.d: episodes.size" in line for line in told)
    assert any("arms.e: window must be a table of settings" in line for line in told)
    assert any("sweeps.s.arm must be one of the arms, got 'nobody'" in line for line in told)
    assert not any("arms.d[phase=9]:" in line for line in told)  # what is wrong is arms.d


def test_a_reference_arm_must_be_an_arm(experiment: Make) -> None:
    """A control or a misspelt name cannot be the reference."""
    for name in ("full", "episode"):
        with pytest.raises(SettingsError, match=r"reference_arm must be one of the arms \['episo"):
            resolve_arms(experiment(reference_arm=name))


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_is_settings_of_the_ordinary_builder(name: Control) -> None:
    """What each control is, by the definitions of the measurement: one line a control."""
    arm = control_arm(name, REFERENCE)
    unlimited = arm.settings.budget.total_tokens is None
    assert (arm.name, arm.control) == (name, name)
    wanted = {
        # name: (raw window, compacts, no token limit, pins evidence, lossless)
        "full": (None, False, True, False, False),
        "none": (0, False, True, False, False),
        "oracle": (0, False, True, True, False),
        "restated": (500, True, False, True, False),
        "verbatim": (500, True, True, False, True),
    }[name]
    assert (
        arm.settings.window.tokens,
        arm.settings.compacts,
        unlimited,
        arm.pins_evidence,
        arm.lossless,
    ) == wanted
    assert not arm.settings.retrieval.enabled


@given(settings_tables())
@settings(max_examples=30, deadline=None)
def test_controls_follow_any_reference(reference: StrategySettings) -> None:
    """restated is the reference, verbatim differs in the budget only, the others not at all."""
    assert control_arm("restated", reference).settings == reference
    verbatim = control_arm("verbatim", reference).settings
    assert verbatim.model_copy(update={"budget": reference.budget}) == reference
    for name in ("full", "none", "oracle"):
        assert control_arm(name, reference) == control_arm(name, REFERENCE)
    for name in ("none", "oracle"):
        assert control_arm(name, reference).settings.window.min_messages == 0
