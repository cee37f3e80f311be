"""A maker of small finished runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxeng.harness.results.run_folder import RunFolder, write_run

RunMaker = Callable[..., RunFolder]


def whole_manifest(run_id: str, **changed: Any) -> dict[str, Any]:
    """Return the least that every run's manifest holds."""
    return {
        "run_id": run_id,
        "started_at": "2026-03-02T09:14:00+00:00",
        "experiment": {"models": {}},
        "arms": {"a": {"control": None, "settings": {}}},
        "reference_arm": "a",
        "is_offline": True,
        "counts": {"sessions": 1, "cells": 1, "outcomes": {}},
        **changed,
    }


@pytest.fixture
def make_run(tmp_path: Path) -> RunMaker:
    """Return a function that writes a run with the given cells."""

    def make(
        run_id: str = "r1",
        *cells: dict[str, Any],
        started_at: str = "2026-03-02T09:14:00+00:00",
        out: Path | None = None,
        **tables: list[dict[str, Any]],
    ) -> RunFolder:
        return write_run(
            out or tmp_path / "reports",
            manifest=whole_manifest(run_id, started_at=started_at),
            tables={"cells": list(cells), **tables},
        )

    return make
