"""The benchmark of a report's queries still runs: it follows the schema and what reports ask."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "benchmarks" / "report_queries.py"


def test_every_query_is_timed_and_under_the_limit() -> None:
    """Twenty thousand cells, two replicates: a row for each query, exit code 0."""
    asked = [sys.executable, str(SCRIPT), "--cells", "20000", "--replicates", "2"]
    ran = subprocess.run(asked, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr
    rows = [line for line in ran.stdout.splitlines() if line.startswith("|")]
    assert rows[0] == "| query | 2,000 cells, s | 20,000 cells, s |"
    assert len(rows) == 22
    assert "Peak memory" in ran.stdout
