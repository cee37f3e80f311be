"""Probe candidates from a model: a forced schema, and nothing kept that the session contradicts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, get_args

from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import MalformedTool
from ctxeng.core.markup import wrap
from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.io import faults_of, probe_from
from ctxeng.harness.probes.model import Probe, ProbeKind

DRAFT_PROMPT_ID = "draft@1"
MAX_TOKENS = 4000
_TEXTS = {"type": "array", "items": {"type": "string"}}
DRAFT_TOOL: dict[str, Any] = {
    "name": "record_probes",
    "description": "Record the proposed questions.",
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["probes"],
        "properties": {
            "probes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["question", "kind", "expect", "forbid", "evidence"],
                    "properties": {
                        "question": {"type": "string"},
                        "kind": {"type": "string", "enum": list(get_args(ProbeKind))},
                        "expect": {"type": "array", "items": _TEXTS},
                        "forbid": _TEXTS,
                        "evidence": {
                            "type": "array",
                            "items": {"type": "array", "items": {"type": "integer"}},
                        },
                    },
                },
            }
        },
    },
}


def draft_request(session: Session, messages: tuple[Message, ...], *, model: str) -> ModelRequest:
    """Return the call that asks for probes of a stretch of a session."""
    system = (files("ctxeng.harness.scoring") / "prompts" / "draft.md").read_text("utf-8").strip()
    quoted = "\n".join(wrap("message", f"{m.name}: {m.text}", seq=str(m.seq)) for m in messages)
    return ModelRequest(
        role="drafter",
        model=model,
        system=({"type": "text", "text": system},),
        messages=({"role": "user", "content": quoted},),
        tool=DRAFT_TOOL,
        max_tokens=MAX_TOKENS,
        prompt_id=DRAFT_PROMPT_ID,
    )


def parse_drafts(
    response: ModelResponse, session: Session, *, first: int, model: str
) -> list[Probe]:
    """Return the proposed probes that are well formed, as drafts; the others are left out.

    Raises:
        MalformedTool: the tool was not called, or not with a list.
    """
    given = (response.tool_input or {}).get("probes")
    if not isinstance(given, list):
        raise MalformedTool(f"probes must be a list, got {type(given).__name__}.")
    drafts: list[Probe] = []
    for proposed in given:
        record = _record(proposed, session, number=first + len(drafts), model=model)
        if record is not None and not faults_of(record):
            drafts.append(probe_from(record))
    last = len(session.messages) - 1
    return [d for d in drafts if all(seq <= last for seq in d.evidence_seqs)]


def _record(
    proposed: Any, session: Session, *, number: int, model: str
) -> Mapping[str, Any] | None:
    if not isinstance(proposed, dict):
        return None
    return {
        **proposed,
        "id": f"{session.session_id}-draft-{number:03}",
        "session_id": session.session_id,
        "answerable": proposed.get("kind") != "absent",
        "language": session.language,
        "author": f"draft: {model}",
        "status": "draft",
    }
