"""Find the cells of a run that a person means, or say what there is instead."""

from __future__ import annotations

from collections.abc import Sequence

from ctxeng.core.errors import InputError
from ctxeng.core.text import nearest
from ctxeng.harness.attribution.path import FactPath
from ctxeng.harness.attribution.stored import StoredRun
from ctxeng.harness.attribution.tracing import fact_path
from ctxeng.harness.results.database import table_rows
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.results.tables import Row


def select_paths(
    run: RunFolder, *, probe_id: str, arm: str | None, replicate: int
) -> list[FactPath]:
    """Return the paths of one probe: of one arm, or of every arm in the order of the run.

    Raises:
        InputError: the run has no such probe, arm or replicate.
    """
    stored = StoredRun.open_probe(run, probe_id)
    cells = list(stored.cells)
    if not cells:
        raise InputError(_unknown("probe", probe_id, run, table_rows(run, "cells"), "probe_id"))
    if not stored.probes:
        raise InputError(
            f"run must hold its probes and messages to be explained, got none in {run.path}. "
            "Run the experiment again."
        )
    if arm is not None:
        cells = [c for c in cells if c["arm"] == arm]
        if not cells:
            raise InputError(_unknown("--arm", arm, run, stored.cells, "arm"))
    kept = [c for c in cells if c["replicate"] == replicate]
    if not kept:
        known = sorted({c["replicate"] for c in cells})
        raise InputError(
            f"--replicate must be one of {known}, got {replicate} ({run.run_id}, {probe_id})."
        )
    return [fact_path(stored, cell) for cell in kept]


def _unknown(name: str, given: str, run: RunFolder, cells: Sequence[Row], column: str) -> str:
    known = list(dict.fromkeys(cell[column] for cell in cells))
    return (
        f"{name} must be one of the {len(known)} in {run.run_id}, got {given!r}. "
        f"{nearest(given, known)}"
    )
