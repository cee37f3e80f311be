"""The optional judge of artifacts: does a summary state a fact in other words?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import MalformedTool
from ctxeng.core.markup import wrap
from ctxeng.harness.probes.model import Probe

STATES_PROMPT_ID = "states@1"
_WORDS: Mapping[str, bool | None] = {"yes": True, "no": False, "undecided": None}

STATES_TOOL: dict[str, Any] = {
    "name": "record_verdict",
    "description": "Record whether the quoted note states the fact.",
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["verdict", "reason"],
        "properties": {
            "verdict": {"type": "string", "enum": list(_WORDS)},
            "reason": {"type": "string", "description": "One sentence."},
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """What the judge said of one artifact; None: it could not tell."""

    states_it: bool | None
    reason: str = ""


def states_request(
    probe: Probe, note: str, *, model: str, extra: Mapping[str, Any] | None = None
) -> ModelRequest:
    """Return the call that asks whether a note states a probe's fact."""
    expected = "\n".join(f"- {' | '.join(group)}" for group in probe.expect)
    system = (files("ctxeng.harness.scoring") / "prompts" / "states.md").read_text("utf-8").strip()
    parts = [
        wrap("question", probe.question),
        wrap("expected", expected),
        wrap("section", note, name="note"),
    ]
    return ModelRequest(
        role="judge",
        model=model,
        system=({"type": "text", "text": system},),
        messages=({"role": "user", "content": "\n".join(parts)},),
        tool=STATES_TOOL,
        max_tokens=200,
        prompt_id=STATES_PROMPT_ID,
        extra=dict(extra or {}),
    )


def parse_states(response: ModelResponse) -> States:
    """Return what the judge said.

    Raises:
        MalformedTool: the tool was not called, or not with a verdict we know.
    """
    given = response.tool_input or {}
    said = str(given.get("verdict"))
    if said not in _WORDS:
        raise MalformedTool(f"verdict must be one of {tuple(_WORDS)}, got {said!r}.")
    return States(states_it=_WORDS[said], reason=str(given.get("reason", "")))
