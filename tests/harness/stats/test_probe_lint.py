"""Lint rules that need a run: each finds its planted fault and nothing else."""

from __future__ import annotations

from typing import Any

from ctxeng.harness.stats.probe_lint import FEWEST_PROBES, lint_run


def cell(probe: str, *, arm: str = "ref", bucket: str = "interior", **more: Any) -> dict[str, Any]:
    """Return one cell."""
    made = {"arm": arm, "probe_id": probe, "bucket": bucket, "answerable": True}
    return {**made, "outcome": "recalled", "answer": "Kestrel", **more}


ENOUGH = [cell(f"p{i}") for i in range(FEWEST_PROBES)]


def test_a_value_that_is_answered_without_history_is_guessed() -> None:
    """The control without history recalls it; an abstention on an absent fact is no guess."""
    cells = [
        *ENOUGH, cell("p1", arm="none"), cell("p2", arm="none", outcome="missed"),
        cell("p3", arm="none", answerable=False),
    ]  # fmt: skip
    (finding,) = lint_run(cells, reference_arm="ref", old_facts=False)
    assert (finding.probe_id, finding.rule) == ("p1", "guessed_without_context")
    assert "Kestrel" in finding.detail


def test_a_fact_in_the_recent_window_is_found_where_old_facts_are_meant() -> None:
    """Only the reference arm's position counts, and only where the set is about old facts."""
    cells = [*ENOUGH[1:], cell("p0", bucket="interior"), cell("p0", arm="other", bucket="recent")]
    assert lint_run(cells, reference_arm="ref", old_facts=True) == []
    recent = [*ENOUGH, *(cell(f"r{i}", bucket="recent") for i in range(FEWEST_PROBES))]
    assert lint_run(recent, reference_arm="ref", old_facts=False) == []
    found = lint_run(recent, reference_arm="ref", old_facts=True)
    assert {finding.rule for finding in found} == {"evidence_in_window"}
    assert len(found) == FEWEST_PROBES


def test_a_small_bucket_is_a_warning_with_what_it_can_show() -> None:
    """Under 40 probes nothing is refused; the smallest drop they show is told."""
    (few,) = lint_run(ENOUGH[1:], reference_arm="ref", old_facts=False)
    assert few.is_warning
    assert "39 probes show no drop under" in few.detail
    (none,) = lint_run(ENOUGH[:2], reference_arm="ref", old_facts=False)
    assert "no drop at all" in none.detail
