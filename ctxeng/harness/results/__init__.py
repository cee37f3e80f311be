"""What a run leaves behind: immutable Parquet tables, a manifest, and DuckDB views over them.

from ctxeng.harness import results

cells = results.frame("latest")           # a pandas frame of one run's cells
database = results.connect("latest")      # a DuckDB connection with a view for each table
nights = results.nights()                 # the nightly history as one frame
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


def frame(
    run: str | Path = "latest", table: str = "cells", *, reports: str | Path = "reports"
) -> pd.DataFrame:
    """Return one table of a run as a pandas frame.

    Args:
        run: run folder, id, its beginning, or ``latest``. table: ``cells``, ``calls``, ….

    Raises:
        InputError: there is no such run or table, or the run folder does not hold it.
    """
    from ctxeng.harness.results import database
    from ctxeng.harness.results.run_folder import open_run

    return database.frame(open_run(run, reports=Path(reports)), table)


def connect(
    run: str | Path = "latest", *, reports: str | Path = "reports"
) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection with a view for each table that a run folder holds.

    Raises:
        InputError: there is no such run.
    """
    from ctxeng.harness.results import database
    from ctxeng.harness.results.run_folder import open_run

    return database.connected([open_run(run, reports=Path(reports))])


def nights(history: str | Path = "reports/history") -> pd.DataFrame:
    """Return every cell of the nightly history, with the time its run began."""
    from ctxeng.harness.results.history import read_history
    from ctxeng.harness.results.pairing import nights_frame

    return nights_frame(read_history(Path(history)).nights)
