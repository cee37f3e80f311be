"""DuckDB as the query layer: views over the Parquet files of one run or of all runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxeng.core.errors import InputError
from ctxeng.harness.results.run_folder import RunFolder, finished_runs
from ctxeng.harness.results.tables import TABLES

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


def connect(runs: RunFolder | Sequence[RunFolder]) -> duckdb.DuckDBPyConnection:
    """Return an in-memory connection with one view per table over the given runs."""
    import duckdb

    folders = [runs] if isinstance(runs, RunFolder) else list(runs)
    connection = duckdb.connect(":memory:")
    create_views(connection, folders)
    return connection


@contextmanager
def reading(run: RunFolder) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection with a view for each table that a run holds.

    Raises:
        InputError: a query inside needs a table that the folder does not hold.
    """
    import duckdb

    with connect(run) as connection:
        try:
            yield connection
        except duckdb.CatalogException as error:
            for table in TABLES:
                if f"Table with name {table} does not exist" in str(error):
                    run.needed(table)
            raise


def create_views(connection: duckdb.DuckDBPyConnection, runs: Sequence[RunFolder]) -> None:
    """Create or replace the views ``cells, contexts, artifacts, calls, …`` over run folders."""
    for table in TABLES:
        files = [run.table(table) for run in runs if run.table(table).is_file()]
        if files:
            listed = ", ".join(map(file_literal, files))
            connection.execute(
                f"CREATE OR REPLACE VIEW {table} AS "
                f"SELECT * FROM read_parquet([{listed}], union_by_name=true)"
            )


def refresh_catalogue(reports: Path) -> Path:
    """Rewrite ``ctxeng.duckdb`` with views over every finished run; return its path.

    The file is made anew beside the old one and renamed, so that a reader never sees half of it.
    """
    import os

    import duckdb

    final = reports / "ctxeng.duckdb"
    draft = reports / f".ctxeng.{os.getpid()}.duckdb"
    draft.unlink(missing_ok=True)
    with duckdb.connect(str(draft)) as connection:
        create_views(connection, finished_runs(reports))
    os.replace(draft, final)
    return final


def file_literal(file: Path) -> str:
    """Return a path as a SQL string that names this one file, wherever the reader stands.

    DuckDB reads ``*``, ``?`` and ``[`` in a path as a pattern of many files.
    """
    escaped = re.sub(r"([*?\[])", r"[\1]", str(file.resolve()))
    return "'" + escaped.replace("'", "''") + "'"


def rows(connection: duckdb.DuckDBPyConnection, query: str, *args: Any) -> list[dict[str, Any]]:
    """Return the query's rows as dictionaries."""
    cursor = connection.execute(query, list(args))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def table_rows(run: RunFolder, table: str, **equal: str) -> list[dict[str, Any]]:
    """Return one table of a run as rows; empty where an older run has no such table.

    Args:
        equal: only the rows that have these values in these columns.
    """
    with reading(run) as connection:
        return selected(connection, run, table, **equal)


def selected(
    connection: duckdb.DuckDBPyConnection, run: RunFolder, table: str, **equal: str
) -> list[dict[str, Any]]:
    """Return the same over a connection to the run: for many small questions in a row."""
    if not run.table(table).is_file():
        return []
    where = " AND ".join(f"{column} = ?" for column in equal) or "true"
    return rows(connection, f"SELECT * FROM {table} WHERE {where}", *equal.values())


def frame(run: RunFolder, table: str = "cells") -> pd.DataFrame:
    """Return one table of a run as a pandas frame.

    Raises:
        InputError: there is no such table, or the folder does not hold it.
    """
    if table not in TABLES:
        raise InputError(f"table must be one of {', '.join(TABLES)}, got {table!r}.")
    with reading(run) as connection:
        result: pd.DataFrame = connection.execute(f"SELECT * FROM {table}").df()
    return result
