"""The models that are named by default exist, and requests to them hold what they take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from anthropic.resources.messages.messages import DEPRECATED_MODELS
from anthropic.types import ModelParam

from ctxeng.harness.experiments.toml import read_experiment
from ctxeng.models.catalogue import catalogue, default_model, facts_of, request_defaults
from ctxeng.models.exchange import parameters
from ctxeng.models.keys import call_key
from tests.support.calls import request

ROOT = Path(__file__).resolve().parents[2]
OF_THE_SDK = {name for part in get_args(ModelParam) for name in get_args(part)}
ROLES = {"reader": "haiku", "judge": "haiku", "summariser": "sonnet", "distiller": "sonnet"}
TOOL = {"name": "record", "input_schema": {"type": "object"}}


@pytest.mark.parametrize(("role", "line"), ROLES.items())
def test_a_roles_default_is_current_in_the_installed_sdk(role: str, line: str) -> None:
    """Haiku-class readers and judges, Sonnet-class memory; known to the SDK, not deprecated."""
    model = default_model(role)
    assert line in model
    assert model in OF_THE_SDK
    assert model not in DEPRECATED_MODELS
    assert model in catalogue()["models"]


def test_the_shipped_experiment_uses_the_defaults() -> None:
    """`experiments/claude.toml` is what the README tells people to run."""
    models = read_experiment(ROOT / "experiments" / "claude.toml").models
    assert {role: getattr(models, role) for role in ROLES} == {r: default_model(r) for r in ROLES}


def test_the_readme_names_only_models_of_the_sdk() -> None:
    """An id that was retired would be the first thing a reader stumbles over."""
    named = set(
        re.findall(
            r"claude-(?:haiku|sonnet|opus)-[0-9-]*[0-9]", (ROOT / "README.md").read_text("utf-8")
        )
    )
    assert named
    assert named <= OF_THE_SDK - set(DEPRECATED_MODELS)


DEFAULTS: dict[str, dict[str, Any]] = {
    "claude-haiku-5-5": {"thinking": {"type": "disabled"}},
    "claude-sonnet-5-5": {"thinking": {"type": "between_tools"}},
    "claude-haiku-4-5": {},
    "a-model-of-tomorrow": {},
}


@pytest.mark.parametrize(("model", "sent"), DEFAULTS.items(), ids=DEFAULTS)
def test_thinking_is_off_where_it_would_be_on(model: str, sent: dict[str, Any]) -> None:
    """A short answer's max_tokens would be used up by it; an experiment may say otherwise."""
    assert request_defaults(model, {}) == sent
    own = {"thinking": {"type": "adaptive"}}
    assert request_defaults(model, own) == {}
    assert parameters(request(model=model, extra=own))["thinking"] == {"type": "adaptive"}


def test_a_tool_is_forced_where_the_model_takes_it_and_offered_where_not() -> None:
    """A model that refuses forcing would refuse every distillation."""
    forced = parameters(request(tool=TOOL))["tool_choice"]
    offered = parameters(request(model="claude-sonnet-5-5", tool=TOOL))["tool_choice"]
    assert (forced, offered) == ({"type": "tool", "name": "record"}, {"type": "auto"})


def test_what_is_sent_by_default_is_part_of_the_calls_address() -> None:
    """Another way of asking is another call; models without defaults keep their addresses."""
    plain = call_key(request(model="claude-haiku-5-5"))
    thinking = call_key(request(model="claude-haiku-5-5", extra={"thinking": {"type": "adaptive"}}))
    assert plain != thinking


def test_a_dated_id_has_the_facts_of_its_model() -> None:
    """Snapshots are the same model."""
    assert facts_of("claude-haiku-4-5-20251001") == facts_of("claude-haiku-4-5")
    assert facts_of("another-model").window_tokens is None
