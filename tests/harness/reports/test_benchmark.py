"""Figures of a benchmark's report."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng.harness.reports.benchmark import _row


def absent(outcome: str) -> dict[str, Any]:
    return {"session_id": "s", "answerable": False, "outcome": outcome, "value_in_context": None,
            "evidence_in_context": None, "context_tokens": 10}  # fmt: skip


def test_a_right_abstention_counts_and_an_undecided_answer_is_left_out() -> None:
    """By hand: two of three decided answers abstain where nothing was said."""
    outcomes = ("recalled", "recalled", "fabricated", "undecided")
    row = _row("a", "5", [absent(outcome) for outcome in outcomes])
    assert row.answered == pytest.approx(2 / 3)
    assert (row.n, row.in_context, row.evidence) == (4, None, None)
