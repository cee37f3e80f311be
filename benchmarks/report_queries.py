"""How long do the queries of a report take on many cells? Made cells, two threads.

    python benchmarks/report_queries.py [--cells 10000000] [--replicates 1]

Ten arms over a thousand sessions, in the order and row groups in which runs are written; every
probe has its own answer. Prints seconds for every query that reports run on cells, at a tenth of
the size and at the full size, and the memory at its peak; exits with 1 where one takes over 2 s.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import duckdb
import orjson

from ctxeng.harness.reports.embedded import page_cells
from ctxeng.harness.reports.faults import faults
from ctxeng.harness.results import aggregates
from ctxeng.harness.results.database import connect
from ctxeng.harness.results.history import night_of
from ctxeng.harness.results.pairing import Side, paired_rows, prompt_tokens, trend_rows
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.results.tables import CELLS, TABLES, write_table

ARMS, SESSIONS, LIMIT_SECONDS = 10, 1000, 2.0
RUNS = 3  # others may use the machine too
ROW_GROUP = 1024 * 1024  # pyarrow's own, by which runs are written
TYPES = {"string": "VARCHAR", "bool": "BOOLEAN", "int32": "INTEGER", "int64": "BIGINT",
         "float64": "DOUBLE"}  # fmt: skip


def pick(values: list[str], *, by: str) -> str:
    """Return SQL that picks one of the values by a hash."""
    listed = ", ".join("NULL" if value == "" else f"'{value}'" for value in values)
    return f"list_extract([{listed}], CAST(1 + hash({by}) % {len(values)} AS INTEGER))"


MADE = {
    "run_id": "'bench'", "arm": "'arm' || a", "is_control": "false",
    "session_id": "'session-' || s", "probe_id": "'session-' || s || '-p' || p",
    "replicate": "r", "summariser_replicate": "r", "reader_replicate": "0", "judge_replicate": "0",
    "kind": pick(["preference", "decision", "number", "date", "identifier"], by="s * 1000 + p"),
    "language": pick(["en", "ja", "ko"], by="s"), "answerable": "hash(p) % 10 > 0",
    "bucket": "CASE WHEN hash(p) % 10 = 0 THEN 'none' ELSE "
              + pick(["recent", "gap", "boundary", "interior"], by="s * 77 + p") + " END",
    "arm_bucket": "'interior'", "distilled": "hash(p + s) % 3 = 0",
    "depth": "(hash(s * 31 + p) % 1000) / 1000.0", "rounds": "hash(p) % 5",
    "value_in_context": "CASE WHEN hash(p) % 10 > 0 THEN hash(a * 7 + s * 13 + p) % 10 < 6 END",
    "evidence_in_context": "(hash(s + p + a) % 5) / 4.0",
    "outcome": pick(["recalled", "recalled", "recalled", "missed", "abstained", "stale",
                     "undecided"], by="a * 7 + s * 13 + p * 17 + r"),
    "loss_stage": pick(["lost_in_summary", "not_loaded", "over_budget", ""], by="p + a"),
    "answer": "'the answer is ' || s || '-' || p", "context_tokens": "1000 + hash(p) % 500",
    "full_tokens": "5000", "differs_from_full": "true",
}  # fmt: skip


def make_run(folder: Path, cells: int, replicates: int) -> RunFolder:
    """Write a run of made cells."""
    folder.mkdir(parents=True)
    probes = max(1, cells // (ARMS * SESSIONS * replicates))
    total = ARMS * SESSIONS * probes * replicates
    for table in TABLES:
        write_table(folder / f"{table}.parquet", table, [])
    columns = ", ".join(f"CAST({MADE.get(n, 'NULL')} AS {TYPES[k]}) AS {n}"
                        for n, k in CELLS.items())  # fmt: skip
    made = (
        f"SELECT i // {ARMS * probes * replicates} AS s, "
        f"(i // {probes * replicates}) % {ARMS} AS a, (i // {replicates}) % {probes} AS p, "
        f"i % {replicates} AS r FROM range({total}) t(i)"
    )
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        connection.execute(
            f"COPY (SELECT {columns} FROM ({made})) TO '{folder}/cells.parquet' "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})"
        )
    manifest = {
        "run_id": folder.name,
        "started_at": "2026-01-01",
        "experiment": {"name": "bench", "models": {}},
        "arms": {f"arm{a}": {"settings": {}, "control": None} for a in range(ARMS)},
        "reference_arm": "arm0",
        "is_offline": True,
        "counts": {"sessions": SESSIONS, "cells": total, "outcomes": {}},
    }
    (folder / "manifest.json").write_bytes(orjson.dumps(manifest))
    return RunFolder(path=folder)


def timings(run: RunFolder) -> dict[str, float]:
    """Return the seconds of every query, the least of its runs."""
    found: dict[str, float] = {}

    def timed(name: str, query: Callable[[], Any]) -> None:
        taken = []
        for _ in range(RUNS):
            start = time.perf_counter()
            query()
            taken.append(time.perf_counter() - start)
        found[name] = min(taken)

    with connect(run) as database:
        database.execute("SET threads = 2")
        timed("probe means", lambda: aggregates.prepare(database))
        for grouping in get_args(aggregates.Grouping):
            timed(f"recall by {grouping}",
                  lambda by=grouping: aggregates.session_counts(database, by))  # fmt: skip
        timed("losses and outcomes", lambda: aggregates.tally(database))
        timed("equal answers", lambda: aggregates.answer_counts(database))
        timed("guessed probes", lambda: aggregates.guessed_probes(database, limit=13))
        timed("prompts by arm", lambda: aggregates.arm_means(database))
        timed("variance of one arm", lambda: aggregates.mean_variances(database, "arm1"))
        timed("agreement of replicates", lambda: aggregates.replicate_agreement(database, "arm1"))
        timed("cells of a page", lambda: page_cells(database))
    timed("faults", lambda: faults(run))
    night = night_of(run)
    sides = Side(night=night, arm="arm1"), Side(night=night, arm="arm2")
    timed("two arms paired", lambda: paired_rows(*sides, "answer"))
    timed("trend of one arm", lambda: trend_rows([night], "arm1", "answer"))
    timed("tokens by arm", lambda: prompt_tokens(night))
    return found


def main() -> None:
    """Print the table, and fail where a query is slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--replicates", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        few, many = (
            timings(make_run(Path(folder) / f"{size}", size, options.replicates))
            for size in (options.cells // 10, options.cells)
        )
    print(f"| query | {options.cells // 10:,} cells, s | {options.cells:,} cells, s |")
    print("|---|--:|--:|")
    for name, seconds in many.items():
        print(f"| {name} | {few[name]:.2f} | {seconds:.2f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"\nPeak memory {peak} MB, making the cells included.")
    slow = [name for name, seconds in many.items() if seconds > LIMIT_SECONDS]
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
