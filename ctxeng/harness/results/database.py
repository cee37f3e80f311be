"""DuckDB as the query layer: views over the Parquet files of one run or of all runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxeng.core.errors import InputError
from ctxeng.harness.results.damage import fault_of, file_literal, naming_damaged
from ctxeng.harness.results.run_folder import RunFolder, run_folders
from ctxeng.harness.results.tables import TABLES

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


@contextmanager
def connect(runs: RunFolder | Sequence[RunFolder]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield an in-memory connection with one view per table over the given runs.

    Raises:
        InputError: a table that was asked for is damaged.
    """
    folders = [runs] if isinstance(runs, RunFolder) else list(runs)
    files = [run.table(table) for run in folders for table in TABLES]
    with naming_damaged(files), connected(folders) as connection:
        yield connection


def connected(runs: Sequence[RunFolder]) -> duckdb.DuckDBPyConnection:
    """Return the same connection for others to ask and close; errors are DuckDB's own."""
    import duckdb

    connection = duckdb.connect(":memory:")
    create_views(connection, runs)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The DuckDB file over all runs; ``left_out`` says which run is not in it, and why."""

    file: Path
    left_out: tuple[str, ...] = ()


def refresh_catalogue(reports: Path) -> Catalogue:
    """Rewrite ``ctxeng.duckdb`` with views over every finished run that can be read.

    The file is made anew beside the old one and renamed, so that a reader never sees half of it.

    Raises:
        InputError: the file cannot be written.
    """
    import duckdb

    final = reports / "ctxeng.duckdb"
    draft = reports / f".ctxeng.{os.getpid()}.duckdb"
    runs, left_out = _with_manifest(reports)
    try:
        draft.unlink(missing_ok=True)
        with duckdb.connect(str(draft)) as connection:
            left_out += _create_readable_views(connection, runs)
        os.replace(draft, final)
    except (OSError, duckdb.IOException) as error:
        draft.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"the catalogue of runs must be a file that can be written, got {final} ({reason}). "
            "Move away what stands there; the runs themselves are complete."
        ) from error
    return Catalogue(file=final, left_out=tuple(left_out))


def _with_manifest(reports: Path) -> tuple[list[RunFolder], list[str]]:
    """Return the runs whose manifest can be read, and a line for each of the others."""
    runs, left_out = [], []
    for run in run_folders(reports):
        try:
            run.manifest()
        except InputError as error:
            left_out.append(f"{run.path}: {error}")
        else:
            runs.append(run)
    return runs, left_out


def _create_readable_views(
    connection: duckdb.DuckDBPyConnection, runs: Sequence[RunFolder]
) -> list[str]:
    """Create the views over the runs whose tables can be read; return a line for the others."""
    import duckdb

    try:
        create_views(connection, runs)
    except duckdb.Error:
        damaged = {run.path: line for run in runs if (line := _damaged_table(run))}
        if not damaged:
            raise
        create_views(connection, [run for run in runs if run.path not in damaged])
        return list(damaged.values())
    return []


def _damaged_table(run: RunFolder) -> str | None:
    """Return the first table of a run that cannot be read, with the reason."""
    faults = ((run.table(table), fault_of(run.table(table))) for table in TABLES)
    return next((f"{file}: {reason}" for file, reason in faults if reason), None)


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
