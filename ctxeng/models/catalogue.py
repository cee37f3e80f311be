"""What a model takes: a data file with date and source; an unknown model is taken to take all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

_DATED = re.compile(r"-\d{8}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What requests to one model may hold.

    Args:
        window_tokens, max_output_tokens: None where the catalogue does not know the model.
        no_thinking: type of the ``thinking`` parameter that answers without thinking first; None
            where that is what happens when it is left out, or cannot be had.
        sampling: temperature, top_p and top_k are taken.
        prefill: the last message may be the assistant's.
        forced_tool: ``tool_choice`` may force a tool.
    """

    window_tokens: int | None = None
    max_output_tokens: int | None = None
    no_thinking: str | None = None
    sampling: bool = True
    prefill: bool = True
    forced_tool: bool = True


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Any]:
    """Return the catalogue as it ships, with its date and source."""
    loaded: dict[str, Any] = orjson.loads((files("ctxeng.models") / "catalogue.json").read_bytes())
    return loaded


@lru_cache(maxsize=256)
def facts_of(model: str) -> ModelFacts:
    """Return what is known of a model (dated ids are matched); the plainest where nothing is."""
    models = catalogue()["models"]
    return ModelFacts(**models.get(model, models.get(_DATED.sub("", model), {})))


def default_model(role: str) -> str:
    """Return the id of the current model for a role."""
    return str(catalogue()["defaults"][role])


def request_defaults(model: str, extra: Any) -> dict[str, Any]:
    """Return the parameters that are sent where a request's ``extra`` does not name them.

    Answers are short and their length is limited, so thinking is turned off where it is the
    model's default: it would use up ``max_tokens`` and leave no answer.
    """
    quiet = facts_of(model).no_thinking
    if quiet is None or "thinking" in extra:
        return {}
    return {"thinking": {"type": quiet}}
