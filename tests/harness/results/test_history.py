"""The history of nights: any writer at any moment, any folder, any version."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ctxeng.core.errors import InputError
from ctxeng.harness import results
from ctxeng.harness.results import history as history_module
from ctxeng.harness.results.history import (
    KEPT,
    append_night,
    last_comparable,
    night_of,
    read_history,
)
from ctxeng.harness.results.run_folder import RunFolder, write_run
from tests.support.damaged import flip
from tests.support.nights import made_run, recalled_below

ARMS = {"main": recalled_below(5)}


def night(tmp_path: Path, day: int, **changed: object) -> RunFolder:
    return made_run(
        tmp_path / "reports",
        f"n{day}",
        ARMS,
        started_at=f"2026-03-{day:02}T03:00:00+00:00",
        **changed,  # type: ignore[arg-type]
    )


def test_nights_come_back_in_order_with_their_cells_and_conditions(tmp_path: Path) -> None:
    """A night is its cells without texts; the conditions travel in the file."""
    for day in (2, 1):
        append_night(tmp_path / "h", night(tmp_path, day))
    found = read_history(tmp_path / "h")
    assert [n.run_id for n in found.nights] == ["n1", "n2"]
    assert found.damaged == ()
    assert found.nights[0].conditions["hashes"]["probes"] == "p1"
    table = pq.read_table(found.nights[0].file)
    assert (table.column_names, table.num_rows) == (list(KEPT), 120)
    frame = results.nights(tmp_path / "h")
    assert frame.groupby("started_at")["outcome"].count().tolist() == [120, 120]


def test_answers_scored_again_are_no_night(tmp_path: Path) -> None:
    """They are another night's answers, which would count twice."""
    made = night(tmp_path, 1)
    manifest = made.manifest()
    again = write_run(
        tmp_path / "reports", manifest={**manifest, "run_id": "n1-rescored", "answers_from": "n1"},
        tables={},
    )  # fmt: skip
    with pytest.raises(InputError, match="n1-rescored, whose answers were scored again"):
        append_night(tmp_path / "h", again)
    assert not (tmp_path / "h").exists()


def test_a_folder_of_copied_files_is_a_history_and_a_copy_is_no_second_night(
    tmp_path: Path,
) -> None:
    """Artifacts arrive in subfolders, under other names, more than once."""
    file = append_night(tmp_path / "h", night(tmp_path, 1))
    for name in ("run-17/history/n1.parquet", "run-18/renamed.parquet"):
        (tmp_path / "copied" / name).parent.mkdir(parents=True)
        shutil.copy(file, tmp_path / "copied" / name)
    assert [n.run_id for n in read_history(tmp_path / "copied").nights] == ["n1"]


def test_what_is_no_night_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    """A cut copy, another Parquet file and a draft of a killed writer do no harm."""
    run = night(tmp_path, 1)
    file = append_night(tmp_path / "h", run)
    (tmp_path / "h" / "cut.parquet").write_bytes(file.read_bytes()[:500])
    (tmp_path / "h" / "empty.parquet").write_bytes(b"")
    shutil.copy(run.table("cells"), tmp_path / "h" / "other.parquet")
    (tmp_path / "h" / ".n2.1.ab.draft").write_bytes(b"half")
    found = read_history(tmp_path / "h")
    assert [n.run_id for n in found.nights] == ["n1"]
    assert sorted(line.split(":")[0].rsplit("/", 1)[1] for line in found.damaged) == [
        "cut.parquet", "empty.parquet", "other.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "is_checked"), [((40, 400), True), ((600, 640), True), ((40, 400), False)]
)
def test_a_night_whose_cells_are_damaged_is_named(
    place: tuple[int, int], is_checked: bool, tmp_path: Path
) -> None:
    """The footer is whole; files of before had no checksums, and what is no data is found still."""
    for day in (1, 2):
        append_night(tmp_path / "h", night(tmp_path, day))
    file = tmp_path / "h" / "n2.parquet"
    if not is_checked:
        pq.write_table(pq.read_table(file), file, compression="zstd")
    flip(file, *place)
    found = read_history(tmp_path / "h")
    assert [n.run_id for n in found.nights] == ["n1"]
    assert [line.split(": ")[0] for line in found.damaged] == [str(file)]


@pytest.mark.parametrize("conditions", [b"{}", b"[]", b"1", b"\xff", b'{"run_id": "n2"}'])
def test_a_night_whose_conditions_are_damaged_is_named(conditions: bytes, tmp_path: Path) -> None:
    """The metadata is another JSON value, or none."""
    file = append_night(tmp_path / "h", night(tmp_path, 1))
    table = pq.read_table(file)
    metadata = {**(table.schema.metadata or {}), b"ctxeng.conditions": conditions}
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "h" / "n2.parquet")
    found = read_history(tmp_path / "h")
    assert [n.run_id for n in found.nights] == ["n1"]
    assert [line.split(": ")[0] for line in found.damaged] == [str(tmp_path / "h" / "n2.parquet")]


def test_the_same_run_twice_is_one_night(tmp_path: Path) -> None:
    """Writing again replaces the file by an equal one."""
    run = night(tmp_path, 1)
    first = append_night(tmp_path / "h", run).read_bytes()
    assert append_night(tmp_path / "h", run).read_bytes() == first
    assert [p.name for p in (tmp_path / "h").iterdir()] == ["n1.parquet"]


def _append(history: Path, runs: list[RunFolder]) -> None:
    for run in runs:
        append_night(history, run)


def test_writers_at_once_and_a_killed_one_leave_a_whole_history(tmp_path: Path) -> None:
    """Three processes append the same and other nights, one is killed at once."""
    runs = [night(tmp_path, day) for day in range(1, 7)]
    context = multiprocessing.get_context("fork")
    writers = [
        context.Process(target=_append, args=(tmp_path / "h", share))
        for share in (runs[:4], runs[2:], runs)
    ]
    for writer in writers:
        writer.start()
    os.kill(writers[2].pid or 0, signal.SIGKILL)
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers[:2]] == [0, 0]
    found = read_history(tmp_path / "h")
    assert [n.run_id for n in found.nights] == [run.run_id for run in runs]
    assert found.damaged == ()


def test_no_folder_is_an_empty_history(tmp_path: Path) -> None:
    """Before the first night there is nothing, and no error."""
    assert read_history(tmp_path / "missing").nights == ()
    assert results.nights(tmp_path / "missing").empty


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """One line, with what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"history folder must be writable.*--history"):
        append_night(tmp_path / "file", night(tmp_path, 1))


def _rewrite(file: Path, version: int, drop: list[str]) -> None:
    table = pq.read_table(file).drop_columns(drop)
    metadata = {**(table.schema.metadata or {}), b"ctxeng.history_version": str(version).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), file)


def test_an_older_night_is_upgraded_and_lacks_what_it_never_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conditions go through each version's step; a missing column is null."""
    file = append_night(tmp_path / "h", night(tmp_path, 1))
    _rewrite(file, 0, ["loss_stage", "category"])
    upgrade = {0: lambda conditions: {**conditions, "experiment": "renamed"}}
    monkeypatch.setattr(history_module, "UPGRADES", upgrade)
    (found,) = read_history(tmp_path / "h").nights
    assert found.conditions["experiment"] == "renamed"
    assert results.nights(tmp_path / "h")["loss_stage"].isna().all()


def test_a_night_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """It is not guessed at."""
    _rewrite(append_night(tmp_path / "h", night(tmp_path, 1)), 99, [])
    with pytest.raises(InputError, match=r"n1\.parquet: history version must be at most 1, got 99"):
        read_history(tmp_path / "h")


def test_the_last_comparable_night_is_found_and_others_say_what_differs(tmp_path: Path) -> None:
    """Other probes or another scorer are passed over; settings and code may differ."""
    runs = [
        night(tmp_path, 1),
        night(tmp_path, 2, changed={"source": "other code"}),
        night(tmp_path, 3, changed={"probes": "p2"}),
        night(tmp_path, 4, changed={"scorer": "c2"}),
        night(tmp_path, 5),
        night(tmp_path, 6),
    ]
    nights = [night_of(run) for run in runs]
    found = last_comparable([*nights[:4], nights[5]], nights[4])
    assert found.night is not None
    assert found.night.run_id == "n2"
    assert found.passed_over == (
        "n4 is not comparable: scorer (c2 → c1)",
        "n3 is not comparable: probes (p2 → p1)",
    )
    assert last_comparable(nights, nights[0]).night is None
