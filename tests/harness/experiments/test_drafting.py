"""Drafts from a model: one call a stretch, kept in the ledger, faulty proposals left out."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from ctxeng.core.messages import Message, Session
from ctxeng.harness.experiments.drafting import draft_with_model
from tests.support.messages_server import message, serving_script

SESSION = Session(
    session_id="s",
    language="en",
    messages=(
        Message(seq=0, role="user", content="We took the oak desk for the corner room."),
        Message(seq=1, role="assistant", content="Noted."),
    ),
)
GOOD = {"question": "Which furniture went into the corner?", "kind": "decision",
        "expect": [["oak desk"]], "forbid": [], "evidence": [[0, 1]]}  # fmt: skip


async def test_proposals_are_linted_and_asked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value the evidence does not hold is left out; the second time the ledger answers."""
    proposed = {"probes": [GOOD, {**GOOD, "expect": [["pine desk"]], "question": "Which one?"}]}
    reply = message(
        {"type": "tool_use", "id": "t1", "name": "record_probes", "input": proposed},
        stop_reason="tool_use",
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    with serving_script(reply) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        first = await draft_with_model(SESSION, model="claude-haiku-4-5", workspace=tmp_path)
        again = await draft_with_model(SESSION, model="claude-haiku-4-5", workspace=tmp_path)
        asked = [orjson.dumps(request.body) for request in server.requests]
    assert [draft.expect for draft in first] == [(("oak desk",),)]
    assert first == again
    assert len(asked) == 1
    assert b'"tool_choice"' in asked[0]
