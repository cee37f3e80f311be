"""The typed shape of experiment files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from ctxeng.harness.experiments.schema import CONTROLS, Control, ExperimentFile
from ctxeng.harness.replay.plan import ControlName

Make = Callable[..., ExperimentFile]


def test_a_small_file_gets_every_default(experiment: Make) -> None:
    """An experiment that names only what it must runs offline, once, with two controls."""
    made = experiment()
    assert made.controls == ("full", "none")
    assert (made.models.reader, made.models.summariser, made.models.judge) == ("offline",) * 3
    assert (made.models.embedder, made.models.counter) == ("minilm", "heuristic")
    assert (made.replicates.summariser, made.replicates.reader, made.replicates.judge) == (1, 1, 1)
    assert made.limits.max_calls is None
    assert made.limits.max_cost_usd is None
    assert made.gate.min_probes == 40
    assert made.gate.buckets == ("recent", "interior", "boundary")
    assert (made.audit_share, made.exclude, made.sweeps) == (0.05, [], {})


def test_the_controls_of_the_file_are_those_of_the_replay() -> None:
    """The two lists of reserved names cannot drift apart."""
    assert get_args(Control) == get_args(ControlName) == CONTROLS


@pytest.mark.parametrize(
    ("changes", "location"),
    [
        ({"name": ""}, ("name",)),
        ({"name": "a b"}, ("name",)),
        ({"name": "../a"}, ("name",)),
        ({"name": "予算"}, ("name",)),
        ({"name": "-a"}, ("name",)),
        ({"sessions": []}, ("sessions",)),
        ({"probes": []}, ("probes",)),
        ({"sessions": "datasets/a"}, ("sessions",)),
        ({"arms": {}}, ("arms",)),
        ({"arms": {"a": {}}}, ("arms", "a", "strategy")),
        ({"arms": {"full": {"strategy": "episodes"}}}, ("arms",)),
        ({"controls": ["all"]}, ("controls", 0)),
        ({"colour": "blue"}, ("colour",)),
        ({"models": {"writer": "offline"}}, ("models", "writer")),
        ({"models": {"concurrency": 0}}, ("models", "concurrency")),
        ({"models": {"reader_max_tokens": 0}}, ("models", "reader_max_tokens")),
        ({"models": {"extra": {"reader": 1}}}, ("models", "extra", "reader")),
        ({"replicates": {"reader": 0}}, ("replicates", "reader")),
        ({"limits": {"max_calls": -1}}, ("limits", "max_calls")),
        ({"limits": {"max_cost_usd": -0.01}}, ("limits", "max_cost_usd")),
        ({"gate": {"margin_share": 0}}, ("gate", "margin_share")),
        ({"gate": {"margin_share": 1}}, ("gate", "margin_share")),
        ({"gate": {"measure": "both"}}, ("gate", "measure")),
        ({"gate": {"min_probes": 0}}, ("gate", "min_probes")),
        ({"audit_share": -0.1}, ("audit_share",)),
        ({"audit_share": 1.1}, ("audit_share",)),
        ({"seed": "x"}, ("seed",)),
        ({"sweeps": {"s": {"arm": "episodes", "matrix": {}}}}, ("sweeps", "s", "matrix")),
        ({"sweeps": {"s": {"arm": "episodes"}}}, ("sweeps", "s", "matrix")),
        ({"sweeps": {"s": {"arm": "a", "matrix": {"overlap": [1]}}}}, ("sweeps", "s", "matrix")),
        ({"sweeps": {"s": {"arm": "a", "matrix": {"a.b.c": [1]}}}}, ("sweeps", "s", "matrix")),
        ({"sweeps": {"s": {"arm": "a", "matrix": {"a.b": []}}}}, ("sweeps", "s", "matrix")),
        ({"sweeps": {"s": {"arm": "a", "matrix": {"a.b": 1}}}}, ("sweeps", "s", "matrix", "a.b")),
    ],
)
def test_a_value_out_of_bounds_is_refused_where_it_stands(
    changes: dict[str, Any], location: tuple[Any, ...], experiment: Make
) -> None:
    """The edge beyond every bound, and every unknown key, is a fault with its location."""
    with pytest.raises(ValidationError) as caught:
        experiment(**changes)
    assert location in [error["loc"] for error in caught.value.errors()]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "a"},
        {"name": "0.nightly_x-1"},
        {"controls": []},
        {"controls": list(CONTROLS)},
        {"audit_share": 0},
        {"audit_share": 1},
        {"limits": {"max_calls": 0, "max_cost_usd": 0}},
        {"replicates": {"summariser": 1}},
        {"gate": {"margin_share": 0.001, "min_probes": 40, "measure": "in_context"}},
        {"models": {"concurrency": 1, "reader_max_tokens": 1, "reader": "none"}},
        {"seed": -1},
    ],
)
def test_the_edge_within_every_bound_is_allowed(changes: dict[str, Any], experiment: Make) -> None:
    """Each smallest or largest allowed value makes an experiment that holds it."""
    made = experiment(**changes).model_dump(mode="json")
    for key, value in changes.items():
        kept = made[key]
        assert kept == value or {k: kept[k] for k in value} == value


def test_an_arm_keeps_the_sections_it_changes(experiment: Make) -> None:
    """Sections are free here; the strategy checks them later."""
    arm = experiment(
        arms={"episodes": {"strategy": "episodes", "episodes": {"overlap": 2}, "x": 1}}
    ).arms["episodes"]
    assert arm.overrides == {"episodes": {"overlap": 2}, "x": 1}
    assert experiment().arms["episodes"].overrides == {}


def test_a_reserved_arm_name_says_what_to_do(experiment: Make) -> None:
    """All reserved names are told at once."""
    arms = {name: {"strategy": "episodes"} for name in ("none", "full", "mine")}
    with pytest.raises(ValidationError, match=r"must not be control names, got \['full', 'none'\]"):
        experiment(arms=arms)
