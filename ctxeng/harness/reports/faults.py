"""What went wrong in a run, equal faults together: cells without a verdict, compactions refused."""

from __future__ import annotations

from dataclasses import dataclass

from ctxeng.harness.results.database import reading, rows
from ctxeng.harness.results.run_folder import RunFolder

LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault that ``n`` cells or compactions share.

    Args:
        what: ``error``, ``refused``, ``undecided``, or ``compaction`` with the kind of artifact.
        example: a session, with a probe where the fault is of one.
    """

    what: str
    text: str
    n: int
    arms: tuple[str, ...]
    example: str


def faults(run: RunFolder, *, limit: int = LIMIT) -> list[Fault]:
    """Return the faults of a run, errors first, then the most frequent; at most ``limit``."""
    with reading(run) as connection:
        found = rows(connection, _FAULTS, limit)
    return [Fault(**{**row, "arms": tuple(row["arms"])}) for row in found]


_FAULTS = """
WITH faults AS (
    SELECT outcome AS what, coalesce(error, literal_rule, '') AS text, arm,
           session_id || ' / ' || probe_id AS place
    FROM cells WHERE outcome IN ('error', 'refused', 'undecided')
    UNION ALL
    SELECT 'compaction: ' || kind, coalesce(reason, ''), arm, session_id FROM failures
)
SELECT what, text, count(*) AS n, list_sort(list(DISTINCT arm)) AS arms, min(place) AS example
FROM faults GROUP BY what, text
ORDER BY what <> 'error', n DESC, what, text LIMIT ?
"""
