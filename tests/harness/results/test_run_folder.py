"""Run folders: whole or not there at all, and found again by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.errors import InputError
from ctxeng.harness.results.run_folder import (
    RunFolder,
    check_writable,
    finished_runs,
    open_run,
    write_run,
)
from ctxeng.harness.results.tables import SCHEMA_VERSION, TABLES
from tests.harness.results.conftest import RunMaker, whole_manifest


def test_a_run_folder_holds_every_table_and_the_manifest(tmp_path: Path) -> None:
    """Also tables without rows are written; the manifest carries the schema version."""
    manifest = whole_manifest("r1", models={"reader": "offline"}, note="予算")
    run = write_run(tmp_path / "deep" / "reports", manifest=manifest, tables={})
    assert run.run_id == "r1"
    assert sorted(p.name for p in run.path.iterdir()) == sorted(
        ["manifest.json", *(f"{table}.parquet" for table in TABLES)]
    )
    assert run.manifest() == {"schema_version": SCHEMA_VERSION, **manifest}
    assert all(run.table(name).is_file() for name in TABLES)


def test_every_row_is_given_the_run_id(make_run: RunMaker) -> None:
    """A row cannot claim another run."""
    import pyarrow.parquet as pq

    run = make_run("r1", {"arm": "a", "run_id": "stolen"}, {"arm": "b"})
    assert pq.read_table(run.table("cells"))["run_id"].to_pylist() == ["r1", "r1"]


def test_a_second_run_of_the_same_id_is_refused_and_the_first_stays(
    make_run: RunMaker, tmp_path: Path
) -> None:
    """Results are immutable: nothing is overwritten, nothing left behind."""
    first = make_run("r1", {"arm": "a"})
    before = {p.name: p.read_bytes() for p in first.path.iterdir()}
    with pytest.raises(InputError, match=r"output folder must be writable, got .*reports"):
        make_run("r1", {"arm": "b"})
    assert {p.name: p.read_bytes() for p in first.path.iterdir()} == before
    assert [p.name for p in (tmp_path / "reports").iterdir()] == ["r1"]


@pytest.mark.parametrize(
    ("manifest", "tables", "error"),
    [
        ({"run_id": "r1"}, {"cells": [{"colour": "blue"}]}, ValueError),
        ({"run_id": "r1"}, {"probes": [{"ask_at_seq": "late"}]}, Exception),
        ({"run_id": "r1", "bad": object()}, {}, TypeError),
    ],
)
def test_a_run_that_cannot_be_written_leaves_nothing_behind(
    manifest: dict[str, Any], tables: dict[str, Any], error: type[Exception], tmp_path: Path
) -> None:
    """A fault of any kind removes the draft; no half run is ever found."""
    with pytest.raises(error):
        write_run(tmp_path / "reports", manifest=manifest, tables=tables)
    assert list((tmp_path / "reports").iterdir()) == []


def test_a_draft_of_a_killed_process_does_not_block_the_next(
    make_run: RunMaker, tmp_path: Path
) -> None:
    """In a container the process number is often the same again."""
    draft = tmp_path / "reports" / f".r1.{os.getpid()}.draft"
    draft.mkdir(parents=True)
    (draft / "cells.parquet").write_bytes(b"half")
    assert make_run("r1", {"arm": "a"}).manifest()["run_id"] == "r1"
    assert not draft.exists()


def test_an_output_that_is_no_folder_is_told_before_any_work(tmp_path: Path) -> None:
    """The check makes the folder, leaves it empty, and names what is wrong."""
    check_writable(tmp_path / "new" / "reports")
    assert list((tmp_path / "new" / "reports").iterdir()) == []
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "reports"):
        with pytest.raises(InputError, match=r"output folder must be writable.*--out"):
            check_writable(out)
        with pytest.raises(InputError, match=r"output folder must be writable.*--out"):
            write_run(out, manifest={"run_id": "r1"}, tables={})


def test_finished_runs_are_ordered_by_time_then_name(make_run: RunMaker, tmp_path: Path) -> None:
    """Drafts, files and folders without a manifest are no runs."""
    make_run("a", started_at="2026-03-03")
    make_run("c", started_at="2026-03-02")
    make_run("b", started_at="2026-03-02")
    make_run(".d", started_at="2026-03-01")
    (tmp_path / "reports" / "empty").mkdir()
    (tmp_path / "reports" / "file").write_text("")
    assert [run.run_id for run in finished_runs(tmp_path / "reports")] == ["b", "c", "a"]
    assert finished_runs(tmp_path / "missing") == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("latest", "smoke-2"),
        ("nightly-1", "nightly-1"),
        ("nightly-11", "nightly-11"),
        ("smoke", "smoke-2"),
        ("s", "smoke-2"),
    ],
)
def test_a_run_is_opened_by_id_prefix_or_latest(
    name: str, found: str, make_run: RunMaker, tmp_path: Path
) -> None:
    """A whole id wins over the ids it is a prefix of."""
    make_run("nightly-1", started_at="1")
    make_run("nightly-11", started_at="2")
    make_run("smoke-2", started_at="3")
    assert open_run(name, reports=tmp_path / "reports").run_id == found


@pytest.mark.parametrize(
    ("name", "found"),
    [("latest", "r-2"), ("r-2", "r-2"), ("r-1", "r-1"), ("r-2-re", "r-2-rescored")],
)
def test_answers_scored_again_are_no_latest_run(
    name: str, found: str, make_run: RunMaker, tmp_path: Path
) -> None:
    """A rescored run is newer and begins like the run it came from, and is found by its own name."""
    make_run("r-1", started_at="1")
    make_run("r-2", started_at="2")
    for root in ("r-1", "r-2"):
        write_run(
            tmp_path / "reports",
            manifest={"run_id": f"{root}-rescored", "started_at": "3", "answers_from": root},
            tables={},
        )
    assert open_run(name, reports=tmp_path / "reports").run_id == found


def test_a_run_is_opened_by_path(make_run: RunMaker, tmp_path: Path) -> None:
    """A path works for a run that is kept anywhere."""
    run = make_run("r1", out=tmp_path / "elsewhere")
    for path in (run.path, str(run.path), run.path / ".." / "r1"):
        assert open_run(path, reports=tmp_path / "reports") == RunFolder(path=run.path.resolve())


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("nightly", r"got 'nightly' \(ambiguous\)\. It begins: nightly-1, nightly-2\.$"),
        ("other", r"got 'other' \(not a run\)\. Newest runs: a-late, nightly-1, nightly-2\.$"),
        ("../reports", r"\(not a run\)"),
        ("nightly-1/cells.parquet", r"\(not a run\)"),
    ],
)
def test_a_name_that_is_no_run_is_told_with_those_there_are(
    name: str, fault: str, tmp_path: Path
) -> None:
    """The error says whether there is none or several, and lists the newest first."""
    for run_id, started in (("nightly-1", "2026-02"), ("nightly-2", "2026-01"), ("a-late", "3")):
        manifest = {"run_id": run_id, "started_at": started}
        write_run(tmp_path / "reports", manifest=manifest, tables={})
    with pytest.raises(InputError, match=fault):
        open_run(name, reports=tmp_path / "reports")


def test_there_is_no_latest_run_before_the_first(tmp_path: Path) -> None:
    """An empty folder of reports says so."""
    with pytest.raises(InputError, match="Newest runs: none"):
        open_run("latest", reports=tmp_path)


@pytest.mark.parametrize(
    ("body", "fault"),
    [(b'{"run_id": ', "readable JSON"), (b"[]", "a JSON object, got list"), (b"\xff", "readable")],
)
def test_a_damaged_manifest_is_told_with_its_file(
    body: bytes, fault: str, make_run: RunMaker, tmp_path: Path
) -> None:
    """One broken copy among the reports is named, not a traceback."""
    run = make_run("r1")
    (run.path / "manifest.json").write_bytes(body)
    for read in (run.manifest, lambda: open_run("latest", reports=tmp_path / "reports")):
        with pytest.raises(InputError, match=rf"{fault}.*r1/manifest\.json"):
            read()


def test_a_manifest_keeps_what_json_can_hold(tmp_path: Path) -> None:
    """Nested values, nulls and text of any script are read back as written."""
    odd = {"versions": {"duckdb": "1.4"}, "n": None, "x": [1, 2.5, "예산"]}
    manifest = whole_manifest("r1", **odd)
    run = write_run(tmp_path, manifest=manifest, tables={})
    assert orjson.loads((run.path / "manifest.json").read_bytes()) == run.manifest()
    assert run.manifest()["x"] == [1, 2.5, "예산"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "must hold run_id"),
        ({"run_id": 1}, "must hold run_id"),
        (whole_manifest("r1", arms=None), "must hold arms"),
        (whole_manifest("r1", arms={"a": {"settings": {}}}), "must hold arms.a.control"),
        (whole_manifest("r1", counts={"cells": 1}), "must hold counts.sessions"),
        (whole_manifest("r1", experiment=[]), "must hold experiment"),
    ],
)
def test_a_manifest_that_lacks_what_every_run_writes_is_told(
    content: dict[str, Any], said: str, make_run: RunMaker
) -> None:
    """One line: what is missing, the file, and the remedy."""
    run = make_run("r1")
    (run.path / "manifest.json").write_bytes(orjson.dumps(content))
    with pytest.raises(InputError, match=rf"{said}, got .*r1/manifest\.json\). Remove the run"):
        run.manifest()
