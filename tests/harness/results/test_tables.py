"""Tables of a run: typed columns, nulls where a row says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng.harness.results.tables import (
    CELLS,
    SCHEMA_VERSION,
    TABLES,
    arrow_schema,
    write_table,
)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=12),
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
}
ARROW = {
    "string": pa.string(),
    "bool": pa.bool_(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
}
cell_rows = st.lists(
    st.fixed_dictionaries(
        {}, optional={name: st.one_of(st.none(), VALUES[kind]) for name, kind in CELLS.items()}
    ),
    max_size=4,
)


@pytest.mark.parametrize("table", list(TABLES))
def test_the_schema_of_every_table_is_its_declared_columns(table: str) -> None:
    """Names and types stand as declared, and the version travels in the file."""
    schema = arrow_schema(table)
    assert {field.name: field.type for field in schema} == {
        name: ARROW[kind] for name, kind in TABLES[table].items()
    }
    assert schema.metadata == {b"ctxeng.schema_version": str(SCHEMA_VERSION).encode()}


@pytest.mark.parametrize("table", list(TABLES))
def test_every_table_names_its_run_first(table: str) -> None:
    """Rows of several runs can be told apart in every view."""
    assert next(iter(TABLES[table])) == "run_id"
    assert TABLES[table]["run_id"] == "string"


@pytest.mark.parametrize("table", list(TABLES))
def test_an_empty_table_keeps_its_columns(table: str, tmp_path: Path) -> None:
    """A run without failures still has a table of failures to query."""
    write_table(tmp_path / "t.parquet", table, [])
    read = pq.read_table(tmp_path / "t.parquet")
    assert read.num_rows == 0
    assert read.schema.equals(arrow_schema(table), check_metadata=True)


@given(cell_rows)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_rows_come_back_with_null_for_what_they_lack(
    tmp_path: Path, given_rows: list[dict[str, Any]]
) -> None:
    """Every value of every type survives the file; an absent column is null, never a default."""
    write_table(tmp_path / "cells.parquet", "cells", given_rows)
    read = pq.read_table(tmp_path / "cells.parquet").to_pylist()
    assert read == [dict.fromkeys(CELLS) | row for row in given_rows]


@pytest.mark.parametrize(
    "text", ["予算は三千円", "예산", "a\x00b", "'; DROP TABLE cells; --", "", "\u2028"]
)
def test_text_is_stored_as_it_is(text: str, tmp_path: Path) -> None:
    """Scripts, control characters and quotes are only text."""
    write_table(tmp_path / "t.parquet", "cells", [{"answer": text}])
    assert pq.read_table(tmp_path / "t.parquet")["answer"].to_pylist() == [text]


@pytest.mark.parametrize(
    ("table", "row", "error"),
    [
        ("cells", {"colour": "blue"}, r"columns of cells must be .*got also \['colour'\]"),
        ("calls", {"b": 1, "a": 1}, r"columns of calls must be .*got also \['a', 'b'\]"),
        ("cells", {"replicate": "one"}, "one"),
        ("cells", {"replicate": 2**31}, "int32|out of range|too large|bounds"),
        ("cells", {"answerable": "yes"}, "yes|bool"),
    ],
)
def test_a_row_that_breaks_the_schema_is_an_error(
    table: str, row: dict[str, Any], error: str, tmp_path: Path
) -> None:
    """A misspelt column or a wrong type is a fault of the writer, never silently dropped."""
    with pytest.raises((ValueError, TypeError, pa.ArrowException), match=error):
        write_table(tmp_path / "t.parquet", table, [row])


def test_an_unknown_table_is_an_error(tmp_path: Path) -> None:
    """Rows go to a declared table; another name is a fault of the caller."""
    assert "others" not in TABLES
    with pytest.raises(KeyError, match="others"):
        write_table(tmp_path / "t.parquet", "others", [])
