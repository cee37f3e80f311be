"""What a Parquet file that cannot be read is called: one line, with its name and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ctxeng.core.errors import InputError
from ctxeng.harness.results.tables import TABLES

BATCH_ROWS = 10_000


def file_literal(file: Path) -> str:
    """Return a path as a SQL string that names this one file, wherever the reader stands.

    DuckDB reads ``*``, ``?`` and ``[`` in a path as a pattern of many files.
    """
    escaped = re.sub(r"([*?\[])", r"[\1]", str(file.resolve()))
    return "'" + escaped.replace("'", "''") + "'"


@contextmanager
def naming_damaged(files: Iterable[Path]) -> Iterator[None]:
    """Whatever goes wrong while these files are read is told by the one that is at fault.

    Files are looked through only after an error; where all are whole, the error stays as it is.

    Raises:
        InputError: a file is missing, damaged, or lacks columns of its table.
    """
    import duckdb
    import pyarrow as pa

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, ValueError) as error:
        is_catalogue = isinstance(error, duckdb.CatalogException | duckdb.BinderException)
        for file in files:
            reason = fault_of(file) or (_lack_of(file) if is_catalogue else None)
            if reason is not None:
                raise InputError(
                    f"a run's table must be a whole Parquet file, got {file} ({reason}). "
                    "Copy it again, or remove its folder and run the experiment anew: "
                    "answered calls are kept."
                ) from error
        raise


def fault_of(file: Path) -> str | None:
    """Return why an existing Parquet file cannot be read, None where it can or is not there.

    Checksums find what still looks like data; DuckDB refuses what pyarrow guesses at.
    """
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.exists():
        return None
    try:
        for _ in pq.ParquetFile(file, page_checksum_verification=True).iter_batches(BATCH_ROWS):
            pass
        with duckdb.connect(":memory:") as connection:
            found = connection.execute(f"SELECT * FROM read_parquet({file_literal(file)})")
            while found.fetchmany(BATCH_ROWS):
                pass
    except (duckdb.Error, pa.ArrowException, OSError, ValueError) as error:
        return (str(error) or type(error).__name__).splitlines()[0]
    return None


def _lack_of(file: Path) -> str | None:
    """Return what a whole file lacks of the table it is named after."""
    import pyarrow.parquet as pq

    if not file.exists():
        return "it is missing"
    missing = set(TABLES.get(file.stem, ())) - set(pq.read_schema(file).names)
    return f"it lacks the columns {', '.join(sorted(missing))}" if missing else None
