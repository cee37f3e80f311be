"""Draft probes of a session with a model, through the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.draft_request import draft_request, parse_drafts
from ctxeng.harness.scoring.lint import lint
from ctxeng.models import CacheMode, Ledger, open_client

STRETCH = 40  # messages a call


async def draft_with_model(
    session: Session, *, model: str, workspace: Path, mode: CacheMode = "normal"
) -> list[Probe]:
    """Return the drafts a model proposes, less those that lint finds fault with.

    Raises:
        ModelError: a call failed; those answered are kept in the ledger for the next try.
    """
    ledger = Ledger.open(workspace / ".ctxeng" / "ledger.sqlite")
    drafts: list[Probe] = []
    try:
        client = open_client(ledger=ledger, mode=mode)
        for messages in _stretches(session):
            response = await client.complete(draft_request(session, messages, model=model))
            drafts += parse_drafts(response, session, first=len(drafts) + 1, model=model)
    finally:
        ledger.close()
    faulty = {finding.probe_id for finding in lint(drafts, [session])}
    return [draft for draft in drafts if draft.probe_id not in faulty]


def _stretches(session: Session) -> Iterator[tuple[Message, ...]]:
    for at in range(0, len(session.messages), STRETCH):
        yield session.messages[at : at + STRETCH]
