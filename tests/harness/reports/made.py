"""A finished run by hand: two sessions, two arms and a control, without a replay.

Every session has eight facts of which the even ones are lost in the summary by the first arm; the
second arm keeps all; one cell of it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from ctxeng.core.settings import StrategySettings
from ctxeng.harness.results.run_folder import RunFolder, write_run
from ctxeng.strategies.builtin import settings_for

FACTS, LAST = 8, 19
KINDS, LANGUAGES = ("identifier", "decision"), ("en", "ja")
Mangle = Callable[[str], str]


def made_run(
    out: Path, *, mangle: Mangle = str, run_id: str = "made", sessions: int = 2
) -> RunFolder:
    """Write the run and return it.

    Args:
        mangle: changes every name and text that comes from a user.
    """
    arms = {mangle("episodes"): "episodes", mangle("roomy"): "episodes", "full": "full_history"}
    names = [mangle(f"session-{i}") for i in range(sessions)]
    tables: dict[str, list[dict[str, Any]]] = {
        "cells": [c for arm in arms for s in names for c in _cells(arm, s, list(arms), mangle)],
        "contexts": [c for arm in arms for s in names for c in _contexts(arm, s, mangle)],
        "artifacts": [_artifact(arm, s, mangle) for arm in list(arms)[:2] for s in names],
        "messages": [m for s in names for m in _messages(s, mangle)],
        "probes": [_probe(s, i, mangle) for s in names for i in range(FACTS)],
        "calls": [_call(arm, s, mangle) for arm in arms for s in names],
        "failures": [_failure(arm, names[0], mangle) for arm in list(arms)[:1]],
    }
    manifest = _manifest(run_id, arms, len(names), tables["cells"], mangle)
    return write_run(out, manifest=manifest, tables=tables)


def value(fact: int) -> str:
    """Return what a fact says."""
    return f"KX-{4000 + fact}"


def _cells(arm: str, session: str, arms: Sequence[str], mangle: Mangle) -> list[dict[str, Any]]:
    place = arms.index(arm)
    made = []
    for fact in range(FACTS):
        is_lost = place == 0 and fact % 2 == 0
        is_error = place == 1 and fact == 7
        made.append(
            {
                "arm": arm, "is_control": place == 2, "session_id": session,
                "probe_id": mangle(f"p{fact}"), "replicate": 0, "summariser_replicate": 0,
                "kind": KINDS[fact % 2], "language": LANGUAGES[fact // 4], "answerable": True,
                "bucket": "boundary" if fact < 3 else "interior", "arm_bucket": "interior",
                "distilled": False, "tail": False, "retrieved": False, "evicted": False,
                "depth": fact / FACTS, "rounds": 1, "value_in_context": not is_lost,
                "evidence_in_context": 0.0 if is_lost else 1.0,
                "outcome": "error" if is_error else "missed" if is_lost else "recalled",
                "literal_verdict": "fail" if is_lost else "pass", "literal_rule": "exact",
                "loss_stage": "lost_in_summary" if is_lost else None,
                "answer": mangle("UNKNOWN" if is_lost else f"It is {value(fact)}."),
                "verbose": False, "audited": False, "context_tokens": 100 + 10 * fact,
                "full_tokens": 400, "differs_from_full": place < 2,
                "error": mangle("429 too many requests") if is_error else None,
            }
        )  # fmt: skip
    return made


def _contexts(arm: str, session: str, mangle: Mangle) -> list[dict[str, Any]]:
    blocks = [
        {"kind": "episode", "tokens": 40, "seqs": [[0, 15]], "artifacts": ["episode/0/0-15/v1"]},
        *({"kind": "recent", "tokens": 9, "seqs": [[seq, seq]], "artifacts": []}
          for seq in range(16, LAST + 1)),
        {"kind": "question", "tokens": 8, "seqs": [], "artifacts": []},
    ]  # fmt: skip
    whole = [
        {"kind": "recent", "tokens": 9, "seqs": [[s, s]], "artifacts": []} for s in range(LAST + 1)
    ]
    shown = [*whole, blocks[-1]] if arm == "full" else blocks
    return [
        {
            "arm": arm, "session_id": session, "probe_id": mangle(f"p{fact}"), "replicate": 0,
            "as_of": LAST, "tokens": 100 + 10 * fact, "budget_tokens": 500, "reserve_tokens": 50,
            "blocks": orjson.dumps(shown).decode(), "left_out": "[]", "gap_seqs": "[]",
            "retrieval": "{}", "skipped": "[]",
        }
        for fact in range(FACTS)
    ]  # fmt: skip


def _artifact(arm: str, session: str, mangle: Mangle) -> dict[str, Any]:
    is_roomy = arm == mangle("roomy")
    kept = [value(i) for i in range(FACTS) if is_roomy or i % 2]
    return {
        "arm": arm, "session_id": session, "replicate": 0, "artifact_id": "episode/0/0-15/v1",
        "kind": "episode", "level": 0, "from_seq": 0, "to_seq": 15, "read_from_seq": 0,
        "read_to_seq": 15, "parents": "[]", "visible_from_seq": 16, "version": 1,
        "status": "current", "text": mangle(f"Parts named: {', '.join(kept)}."), "items": "[]",
        "tokens": 40, "model": mangle("made-1"), "prompt_hash": "h", "lossless": False,
        "meta": "{}",
    }  # fmt: skip


def _messages(session: str, mangle: Mangle) -> list[dict[str, Any]]:
    said = {2 * i: f"The part for slot {i} is {value(i)}, 部品です 😀." for i in range(FACTS)}
    return [
        {
            "session_id": session, "seq": seq, "role": "assistant" if seq % 2 else "user",
            "speaker": mangle("Mia") if seq % 2 == 0 else None,
            "text": mangle(said.get(seq, f"Nothing much in message {seq}.")), "tokens": 9,
        }
        for seq in range(LAST + 1)
    ]  # fmt: skip


def _probe(session: str, fact: int, mangle: Mangle) -> dict[str, Any]:
    return {
        "probe_id": mangle(f"p{fact}"), "session_id": session,
        "question": mangle(f"Which part is for slot {fact}?"), "kind": KINDS[fact % 2],
        "evidence": orjson.dumps([[2 * fact, 2 * fact]]).decode(),
        "expect": orjson.dumps([[value(fact)]]).decode(), "forbid": "[]", "answerable": True,
        "language": LANGUAGES[fact // 4],
    }  # fmt: skip


def _call(arm: str, session: str, mangle: Mangle) -> dict[str, Any]:
    return {
        "arm": arm, "session_id": session, "role": "reader", "model": mangle("made-1"),
        "replicate": 0, "input_tokens": 1000, "cached_tokens": 0, "cache_write_tokens": 0,
        "output_tokens": 50, "cost_usd": 0.25, "from_ledger": False,
    }  # fmt: skip


def _failure(arm: str, session: str, mangle: Mangle) -> dict[str, Any]:
    return {"arm": arm, "session_id": session, "kind": "memory", "reason": mangle("too long"),
            "at_seq": 3}  # fmt: skip


def _manifest(
    run_id: str, arms: dict[str, str], sessions: int, cells: Sequence[Any], mangle: Mangle
) -> dict[str, Any]:
    first = next(iter(arms))
    models = dict.fromkeys(("reader", "summariser", "judge"), mangle("made-1"))
    return {
        "run_id": run_id,
        "started_at": "2026-03-02T09:14:00+00:00",
        "experiment": {"name": mangle("made"), "description": mangle("By hand."), "models": models},
        "arms": {name: _arm(name, strategy) for name, strategy in arms.items()},
        "reference_arm": first,
        "is_offline": False,
        "counts": {
            "sessions": sessions, "messages": sessions * (LAST + 1), "probes": sessions * FACTS,
            "cells": len(cells), "calls": 6, "calls_made": 6,
            "outcomes": {"recalled": 1, "error": 2},
        },
        "hashes": {"source": "0123"},
        "versions": {"ctxeng": "0"},
    }  # fmt: skip


def _arm(name: str, strategy: str) -> dict[str, Any]:
    made: StrategySettings = settings_for(strategy)
    control = "full" if name == "full" else None
    settings = made.model_dump(mode="json")
    return {"control": control, "compacts": made.compacts, "settings": settings}
