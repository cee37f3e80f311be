"""Queries over nights: outcomes paired on session, probe and replicate, and trends.

Everything is added up by session inside DuckDB; what comes back has a row for each bucket and
session, however many cells there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ctxeng.harness.results.damage import file_literal, naming_damaged
from ctxeng.harness.results.database import rows
from ctxeng.harness.results.history import Night, kept_types

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

Measure = Literal["answer", "in_context"]
ALL = "all"
_SQL_TYPES = {"string": "VARCHAR", "bool": "BOOLEAN", "int32": "INTEGER", "int64": "BIGINT"}
_VALUES: dict[Measure, str] = {
    "answer": "CASE WHEN outcome = 'recalled' THEN 1e0 "
    "WHEN outcome IN ('missed', 'abstained', 'stale', 'fabricated') THEN 0e0 END",
    "in_context": "CAST(CAST(value_in_context AS INTEGER) AS DOUBLE)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: an arm of a night."""

    night: Night
    arm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRows:
    """Paired outcomes by bucket.

    Args:
        buckets: for each bucket a row a session: trials, before, after, gained, lost, ups, downs.
            ``all`` holds the answerable probes of every bucket.
        unpaired: probes of either side that were not decided on both; facts never stated have no
            presence to decide.
    """

    buckets: Mapping[str, Sequence[tuple[float, ...]]]
    unpaired: int


def paired_rows(before: Side, after: Side, measure: Measure) -> PairedRows:
    """Return the outcomes of two sides on the same probes; buckets are those of ``after``."""
    with _over(before.night, after.night) as connection:
        for name, side in (("b", before), ("a", after)):
            connection.execute(
                f"CREATE TEMP TABLE {name} AS SELECT session_id, probe_id, replicate, bucket, "
                f"answerable, {_VALUES[measure]} AS v FROM {relation(side.night)} WHERE arm = ?",
                [side.arm],
            )
        connection.execute(f"CREATE TEMP TABLE pairs AS {_paired_probes(connection)}")
        found: dict[str, list[tuple[float, ...]]] = {}
        for scope in (f"SELECT '{ALL}' AS bucket, * EXCLUDE bucket FROM pairs WHERE answerable",
                      "SELECT * FROM pairs"):  # fmt: skip
            for row in connection.execute(_BY_SESSION.format(scope=scope)).fetchall():
                found.setdefault(row[0], []).append(tuple(float(value) for value in row[2:]))
        asked = rows(connection, _ASKED.format(scope=_APPLIES[measure]))[0]["n"]
        paired = rows(connection, "SELECT count(*) AS n FROM pairs")[0]["n"]
    return PairedRows(buckets=found, unpaired=asked - paired)


_APPLIES: dict[Measure, str] = {"answer": "true", "in_context": "answerable"}
_ASKED = """
SELECT count(*) AS n
FROM (SELECT session_id, probe_id FROM a WHERE {scope}
      UNION SELECT session_id, probe_id FROM b WHERE {scope})
"""
_BY_SESSION = """
SELECT bucket, session_id, count(*), sum(before), sum(after),
       sum(greatest(after - before, 0)), sum(greatest(before - after, 0)),
       count(*) FILTER (WHERE after > before + 1e-9), count(*) FILTER (WHERE before > after + 1e-9)
FROM ({scope}) GROUP BY bucket, session_id ORDER BY bucket, session_id
"""


def _paired_probes(connection: Any) -> str:
    """Return the query of paired probes; a side with one replicate meets each of the other's."""
    counts = [
        rows(connection, f"SELECT count(DISTINCT replicate) AS n FROM {name}")[0]["n"]
        for name in ("a", "b")
    ]
    is_single = counts == [1, 1]
    same = "AND a.replicate = b.replicate" if is_single or 1 not in counts else ""
    mean, group = ("", "") if is_single else ("avg", "GROUP BY ALL")
    return (
        f"SELECT a.session_id, a.probe_id, a.bucket, a.answerable, {mean}(b.v) AS before, "
        f"{mean}(a.v) AS after FROM a JOIN b "
        f"ON a.session_id = b.session_id AND a.probe_id = b.probe_id {same} "
        f"WHERE a.v IS NOT NULL AND b.v IS NOT NULL {group}"
    )


def trend_rows(nights: Sequence[Night], arm: str, measure: Measure) -> list[dict[str, Any]]:
    """Return successes and trials of an arm by night (its position), bucket and session.

    Replicates of a probe count once, by their mean.
    """
    parts = [
        f"SELECT {at} AS night, session_id, probe_id, bucket, answerable, {_VALUES[measure]} AS v "
        f"FROM {relation(night)} WHERE arm = ?"
        for at, night in enumerate(nights)
    ]
    if not parts:
        return []
    query = f"""
    WITH probes AS (
      SELECT night, session_id, probe_id, bucket, answerable, avg(v) AS v
      FROM ({" UNION ALL ".join(parts)}) WHERE v IS NOT NULL GROUP BY ALL),
    scoped AS (
      SELECT night, bucket, session_id, v FROM probes
      UNION ALL SELECT night, '{ALL}', session_id, v FROM probes WHERE answerable)
    SELECT night, bucket, session_id, sum(v) AS successes, count(*) AS trials
    FROM scoped GROUP BY ALL ORDER BY ALL
    """
    with _over(*nights) as connection:
        return rows(connection, query, *[arm] * len(parts))


def prompt_tokens(night: Night) -> dict[str, float]:
    """Return the mean prompt size of every arm, in tokens."""
    query = f"SELECT arm, avg(context_tokens) AS tokens FROM {relation(night)} GROUP BY arm"
    with _over(night) as connection:
        return {row["arm"]: float(row["tokens"] or 0.0) for row in rows(connection, query)}


def nights_frame(nights: Sequence[Night]) -> pd.DataFrame:
    """Return the cells of nights as one pandas frame, with the column ``started_at``."""
    parts = [f"SELECT ? AS started_at, * FROM {relation(night)}" for night in nights]
    names = ", ".join(f"CAST(NULL AS VARCHAR) AS {name}" for name in ("started_at", *kept_types()))
    query = " UNION ALL ".join(parts) or f"SELECT {names} WHERE false"
    with _over(*nights) as connection:
        found: pd.DataFrame = connection.execute(query, [n.started_at for n in nights]).df()
    return found


def asked(night: Night) -> bool:
    """Return whether a reader answered in this night."""
    outcomes = night.conditions.get("counts", {}).get("outcomes", {})
    return any(count for name, count in outcomes.items() if name != "skipped")


@contextmanager
def _over(*nights: Night) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection for questions to nights; a damaged one is named."""
    import duckdb

    files = [night.file for night in nights]
    with naming_damaged(files), duckdb.connect(":memory:") as connection:
        yield connection


def relation(night: Night) -> str:
    """Return SQL that names a night's cells; columns that an older file lacks are null."""
    import pyarrow.parquet as pq

    with naming_damaged([night.file]):
        there = set(pq.read_schema(night.file).names)
    columns = (
        name if name in there else f"CAST(NULL AS {_SQL_TYPES[kind]}) AS {name}"
        for name, kind in kept_types().items()
    )
    return f"(SELECT {', '.join(columns)} FROM read_parquet({file_literal(night.file)}))"
