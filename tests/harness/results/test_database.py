"""DuckDB views over runs."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from ctxeng.core.errors import InputError
from ctxeng.harness.results.database import connect, create_views, frame, refresh_catalogue, rows
from ctxeng.harness.results.tables import CELLS, TABLES
from tests.harness.results.conftest import RunMaker
from tests.support.damaged import flip


def test_a_run_has_one_view_per_table(make_run: RunMaker) -> None:
    """Every declared table can be queried, with its columns in order."""
    with connect(make_run("r1", {"arm": "a"})) as connection:
        names = {row["name"] for row in rows(connection, "SHOW TABLES")}
        assert names == set(TABLES)
        columns = [row["column_name"] for row in rows(connection, "DESCRIBE cells")]
    assert columns == list(CELLS)


def test_several_runs_are_one_view_told_apart_by_run_id(make_run: RunMaker) -> None:
    """The nightly history is the union of its runs."""
    runs = [make_run("r1", {"arm": "a"}, {"arm": "b"}), make_run("r2", {"arm": "a"})]
    with connect(runs) as connection:
        counted = rows(
            connection, "SELECT run_id, count(*) AS n FROM cells GROUP BY run_id ORDER BY run_id"
        )
    assert counted == [{"run_id": "r1", "n": 2}, {"run_id": "r2", "n": 1}]


def test_a_query_takes_its_values_apart_from_its_text(make_run: RunMaker) -> None:
    """Values are parameters: quotes in them are data."""
    hostile = "a'; DROP VIEW cells; --"
    with connect(make_run("r1", {"arm": hostile, "answer": "予算"}, {"arm": "b"})) as connection:
        query = "SELECT answer FROM cells WHERE arm = ? AND run_id = ?"
        assert rows(connection, query, hostile, "r1") == [{"answer": "予算"}]
        assert rows(connection, query, "none", "r1") == []
        assert len(rows(connection, "SELECT * FROM cells")) == 2


@pytest.mark.parametrize(
    ("folder", "decoy"),
    [("a'b", "ab"), ("x*", "xy"), ("a[bc]", "ab"), ("q?", "qq"), ("予 算", "算"), ("[[x", "[x")],
)
def test_a_folder_of_any_name_is_read_alone(
    folder: str, decoy: str, make_run: RunMaker, tmp_path: Path
) -> None:
    """Quotes and wildcards in a path name this run, not another that the pattern fits."""
    make_run("r1", {"arm": "decoy"}, out=tmp_path / decoy)
    run = make_run("r1", {"arm": "wanted"}, out=tmp_path / folder)
    with connect(run) as connection:
        assert rows(connection, "SELECT arm FROM cells") == [{"arm": "wanted"}]


def test_columns_that_an_older_run_lacks_are_null(make_run: RunMaker) -> None:
    """Runs written before a column existed join the view by name."""
    import pyarrow.parquet as pq

    old, new = make_run("r1", {"arm": "a"}), make_run("r2", {"arm": "a", "bucket": "recent"})
    table = pq.read_table(old.table("cells"))
    pq.write_table(table.drop_columns(["bucket"]), old.table("cells"))
    with connect([new, old]) as connection:
        found = rows(connection, "SELECT bucket FROM cells ORDER BY run_id")
    assert found == [{"bucket": None}, {"bucket": "recent"}]


def test_a_table_without_a_file_has_no_view(make_run: RunMaker) -> None:
    """A run of which only some tables were copied can still be queried."""
    run = make_run("r1")
    run.table("calls").unlink()
    with connect(run) as connection:
        names = {row["name"] for row in rows(connection, "SHOW TABLES")}
    assert names == set(TABLES) - {"calls"}


def test_views_are_replaced_by_those_of_other_runs(make_run: RunMaker) -> None:
    """Creating views again on one connection leaves none of the first run."""
    with connect(make_run("r1", {"arm": "a"})) as connection:
        create_views(connection, [make_run("r2", {"arm": "b"})])
        assert rows(connection, "SELECT arm FROM cells") == [{"arm": "b"}]


def test_no_runs_have_no_views() -> None:
    """An empty history is an empty database, not an error."""
    with connect([]) as connection:
        assert rows(connection, "SHOW TABLES") == []


def test_a_frame_is_a_table_with_its_types(make_run: RunMaker) -> None:
    """Counts stay whole numbers and absent values stay absent."""
    run = make_run("r1", {"arm": "a", "context_tokens": 7, "depth": 0.25}, {"arm": "b"})
    cells = frame(run)
    assert list(cells.columns) == list(CELLS)
    assert cells["arm"].tolist() == ["a", "b"]
    assert cells["depth"].iloc[0] == 0.25
    assert cells["context_tokens"].isna().tolist() == [False, True]
    assert frame(run, "calls").empty


def test_the_catalogue_shows_every_finished_run_from_anywhere(
    make_run: RunMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written from a relative folder, it is read from another one; a new run replaces it."""
    make_run("r1", {"arm": "a"})
    monkeypatch.chdir(tmp_path)
    catalogue = refresh_catalogue(Path("reports")).file.resolve()
    assert catalogue == tmp_path / "reports" / "ctxeng.duckdb"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with duckdb.connect(str(catalogue), read_only=True) as connection:
        assert rows(connection, "SELECT run_id FROM cells") == [{"run_id": "r1"}]
    make_run("r2", {"arm": "a"})
    refresh_catalogue(tmp_path / "reports")
    with duckdb.connect(str(catalogue), read_only=True) as connection:
        assert rows(connection, "SELECT count(*) AS n FROM cells") == [{"n": 2}]
    assert sorted(p.name for p in (tmp_path / "reports").iterdir()) == ["ctxeng.duckdb", "r1", "r2"]


def test_a_catalogue_of_no_runs_is_an_empty_database(tmp_path: Path) -> None:
    """Before the first run there is nothing to show, and no error."""
    with duckdb.connect(str(refresh_catalogue(tmp_path).file), read_only=True) as connection:
        assert rows(connection, "SHOW TABLES") == []


def test_a_damaged_run_is_named_and_left_out_of_the_catalogue(
    make_run: RunMaker, tmp_path: Path
) -> None:
    """A table cut short, and a manifest that is none; the other run is there."""
    make_run("whole", {"arm": "a"})
    cut, bare = make_run("cut", {"arm": "a"}), make_run("bare", {"arm": "a"})
    os.truncate(cut.table("cells"), 100)
    (bare.path / "manifest.json").write_text("{}")
    catalogue = refresh_catalogue(tmp_path / "reports")
    with duckdb.connect(str(catalogue.file), read_only=True) as connection:
        assert rows(connection, "SELECT run_id FROM cells") == [{"run_id": "whole"}]
    assert len(catalogue.left_out) == 2
    assert str(bare.path) in catalogue.left_out[0]
    assert str(cut.table("cells")) in catalogue.left_out[1]
    assert not any("\n" in line for line in catalogue.left_out)


def test_a_folder_in_the_catalogue_s_place_is_told(tmp_path: Path) -> None:
    """No draft stays behind."""
    (tmp_path / "ctxeng.duckdb").mkdir()
    with pytest.raises(InputError, match=r"catalogue of runs must be a file.*ctxeng\.duckdb"):
        refresh_catalogue(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["ctxeng.duckdb"]


@pytest.mark.parametrize("place", [(6, 60), (40, 400), (-200, -50), (-8, -4), (0, None)])
def test_a_damaged_table_is_named_by_whoever_reads_it(
    place: tuple[int, int | None], make_run: RunMaker
) -> None:
    """In its data, in its footer, in the footer's length, or everywhere."""
    run = make_run("r1", {"arm": "a", "answer": "x" * 50}, {"arm": "b"})
    file = run.table("cells")
    flip(file, place[0], place[1] or file.stat().st_size)
    with pytest.raises(InputError, match=r"whole Parquet file, got .*r1/cells\.parquet \("):
        frame(run)


@pytest.mark.parametrize(("lost", "said"), [(None, "it is missing"), ("arm", "lacks the columns")])
def test_a_table_that_is_not_there_whole_is_named(
    lost: str | None, said: str, make_run: RunMaker
) -> None:
    """The file, or a column of it."""
    import pyarrow.parquet as pq

    run = make_run("r1", {"arm": "a"})
    file = run.table("cells")
    if lost is None:
        file.unlink()
    else:
        pq.write_table(pq.read_table(file).drop_columns([lost]), file)
    with pytest.raises(InputError, match=rf"cells\.parquet \(.*{said}"), connect(run) as connection:
        rows(connection, "SELECT arm FROM cells")


def test_an_error_that_no_file_is_to_blame_for_stays(make_run: RunMaker) -> None:
    """A wrong query is not told as a damaged run."""
    with pytest.raises(duckdb.Error, match="nonsense"), connect(make_run("r1")) as connection:
        rows(connection, "SELECT nonsense()")
