"""Ask a judge which artifacts state a lost fact in other words. Off unless a model is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ctxeng.core.artifacts import Artifact
from ctxeng.core.calls import ModelClient
from ctxeng.core.errors import LimitReached, ModelError
from ctxeng.harness.attribution.stored import StoredRun, unit_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.results.tables import Row
from ctxeng.harness.scoring.presence import values_present
from ctxeng.harness.scoring.states import parse_states, states_request

IN_FLIGHT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    cell: Row
    probe: Probe
    artifact: Artifact


async def paraphrase_rows(
    stored: StoredRun,
    client: ModelClient,
    *,
    model: str,
    extra: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of the table ``paraphrases``: what a judge said of each artifact in doubt.

    In doubt is an artifact that covers the evidence of a fact that is neither in the prompt
    literally nor recalled, and does not hold the value literally. A failed call is no verdict.

    Raises:
        LimitReached: a limit on calls or money.
    """
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def ask(question: _Question) -> dict[str, Any]:
        request = states_request(question.probe, question.artifact.text, model=model, extra=extra)
        async with gate:
            try:
                said = parse_states(await client.complete(request))
                verdict = {"states_it": said.states_it, "reason": said.reason}
            except LimitReached:
                raise
            except ModelError as error:
                verdict = {"states_it": None, "reason": f"{type(error).__name__}: {error}"}
        arm, session_id, replicate = unit_of(question.cell)
        return {
            "arm": arm,
            "session_id": session_id,
            "replicate": replicate,
            "probe_id": question.probe.probe_id,
            "artifact_id": question.artifact.artifact_id,
            "model": model,
            **verdict,
        }

    return list(await asyncio.gather(*(ask(question) for question in _in_doubt(stored))))


def _in_doubt(stored: StoredRun) -> Iterator[_Question]:
    """Yield each artifact and fact once, whatever the number of readers that were asked."""
    asked = set()
    for cell in stored.cells:
        unit = (*unit_of(cell), cell["probe_id"])
        probe = stored.probes[cell["session_id"], cell["probe_id"]]
        is_lost = cell["value_in_context"] is False and cell["outcome"] != "recalled"
        if unit in asked or not is_lost or probe.kind == "speaker":
            continue
        asked.add(unit)
        for artifact in stored.artifacts(*unit_of(cell)):
            covers = any(map(artifact.covers, probe.evidence_seqs))
            if covers and not values_present(probe.expect, [artifact.text]):
                yield _Question(cell=cell, probe=probe, artifact=artifact)
