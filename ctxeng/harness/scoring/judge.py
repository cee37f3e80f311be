"""The judge: a strict prompt, a forced structured verdict, the answer as quoted data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, get_args

from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import MalformedTool
from ctxeng.core.markup import wrap
from ctxeng.harness.probes.model import Probe

JUDGE_PROMPT_ID = "judge@1"
JudgeWord = Literal["correct", "incorrect", "abstained", "undecided"]

JUDGE_TOOL: dict[str, Any] = {
    "name": "record_verdict",
    "description": "Record whether the quoted answer is right.",
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["verdict", "reason"],
        "properties": {
            "verdict": {"type": "string", "enum": list(get_args(JudgeWord))},
            "reason": {"type": "string", "description": "One sentence."},
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict:
    """What the judge said; ``undecided`` is a verdict of its own and never a miss."""

    verdict: JudgeWord
    reason: str = ""


def judge_request(
    probe: Probe,
    answer: str,
    *,
    model: str,
    asked_on: str | None,
    replicate: int = 0,
    extra: Mapping[str, Any] | None = None,
    system: str | None = None,
    prompt_id: str = JUDGE_PROMPT_ID,
) -> ModelRequest:
    """Return the call that asks the judge about one answer.

    Args:
        system: the judge's instructions, named by ``prompt_id``; None: those of the package.
    """
    expected = "\n".join(f"- {' | '.join(group)}" for group in probe.expect)
    parts = [
        wrap("question", probe.question, asked_on=asked_on),
        wrap("expected", expected or "(nothing: the conversation never says it)"),
        wrap("section", "\n".join(f"- {v}" for v in probe.forbid) or "(none)", name="must_not_say"),
        wrap("answer", answer),
    ]
    return ModelRequest(
        role="judge",
        model=model,
        system=({"type": "text", "text": judge_system() if system is None else system},),
        messages=({"role": "user", "content": "\n".join(parts)},),
        tool=JUDGE_TOOL,
        max_tokens=200,
        prompt_id=prompt_id,
        replicate=replicate,
        extra=dict(extra or {}),
    )


def judge_system() -> str:
    """Return the judge's system text that ships with the package."""
    return (files("ctxeng.harness.scoring") / "prompts" / "judge.md").read_text("utf-8").strip()


def parse_verdict(response: ModelResponse) -> JudgeVerdict:
    """Return the verdict of a judge's response.

    Raises:
        MalformedTool: the tool was not called, or not with a verdict we know.
    """
    given = response.tool_input or {}
    said = given.get("verdict")
    for verdict in get_args(JudgeWord):
        if said == verdict:
            return JudgeVerdict(verdict=verdict, reason=str(given.get("reason", "")))
    raise MalformedTool(f"verdict must be one of {get_args(JudgeWord)}, got {said!r}.")
