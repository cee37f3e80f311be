"""Rules of probe lint that need a run: guessed values, facts that are not old, small buckets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ctxeng.core.text import numbered
from ctxeng.harness.scoring.lint import LintFinding
from ctxeng.harness.stats.power import independent_drop

FEWEST_PROBES = 40


def lint_run(
    cells: Sequence[Mapping[str, Any]], *, reference_arm: str, old_facts: bool
) -> list[LintFinding]:
    """Return what a run's cells say against its probes.

    Args:
        cells: rows of the table ``cells``; ``none`` is the control without any history.
        old_facts: the set is meant to ask for old facts, so none may stand in the recent window.
    """
    reference = {c["probe_id"]: c for c in cells if c["arm"] == reference_arm}
    found = [_guessed(c) for c in cells if c["arm"] == "none" and _is_guessed(c)]
    if old_facts:
        found += [
            LintFinding(
                probe_id=probe_id,
                rule="evidence_in_window",
                detail=f"under {reference_arm} its evidence is in the recent window when asked",
            )
            for probe_id, cell in reference.items()
            if cell["bucket"] == "recent"
        ]
    sizes = Counter(str(c["bucket"]) for c in reference.values() if c["answerable"])
    return found + [_few(bucket, n) for bucket, n in sorted(sizes.items()) if n < FEWEST_PROBES]


def _is_guessed(cell: Mapping[str, Any]) -> bool:
    return bool(cell["answerable"]) and cell["outcome"] == "recalled"


def _guessed(cell: Mapping[str, Any]) -> LintFinding:
    return LintFinding(
        probe_id=cell["probe_id"],
        rule="guessed_without_context",
        detail=f"without any history the reader answered {str(cell['answer'])[:60]!r}",
    )


def _few(bucket: str, n: int) -> LintFinding:
    drop = independent_drop(n)
    shown = "no drop at all" if drop is None else f"no drop under {drop:.0%}"
    return LintFinding(
        probe_id=f"bucket {bucket}",
        rule="few_probes",
        detail=f"{numbered(n, 'probe')} show{'s' if n == 1 else ''} {shown} with 80 % power",
        is_warning=True,
    )
