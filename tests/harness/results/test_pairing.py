"""Outcomes paired on session, probe and replicate."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ctxeng.harness.results.history import append_night, night_of, read_history
from ctxeng.harness.results.pairing import Side, paired_rows, prompt_tokens, trend_rows
from tests.support.nights import made_run, recalled_below


def sides(tmp_path: Path, before: object, after: object, **more: object) -> tuple[Side, Side]:
    run = made_run(tmp_path, "r", {"a": before, "b": after}, **more)  # type: ignore[dict-item, arg-type]
    night = night_of(run)
    return Side(night=night, arm="a"), Side(night=night, arm="b")


def test_changes_are_added_up_by_session(tmp_path: Path) -> None:
    """By hand: of 4 probes 2 before and 3 after are recalled: one gained in each session."""
    found = paired_rows(
        *sides(tmp_path, recalled_below(2), recalled_below(3), probes=4, sessions=2), "answer"
    )
    row = (4.0, 2.0, 3.0, 1.0, 0.0, 1.0, 0.0)
    assert found.buckets == {"all": [row, row], "interior": [row, row]}
    assert found.unpaired == 0


def test_probes_that_either_side_did_not_decide_are_left_out_and_counted(tmp_path: Path) -> None:
    """An error is no miss."""

    def broken(session: int, probe: int) -> str:
        return "error" if probe == 0 else "recalled"

    found = paired_rows(*sides(tmp_path, recalled_below(9), broken, probes=3, sessions=2), "answer")
    assert [row[0] for row in found.buckets["interior"]] == [2.0, 2.0]
    assert found.unpaired == 2


def test_presence_is_another_measure(tmp_path: Path) -> None:
    """In-context recall pairs whatever the reader said."""
    found = paired_rows(
        *sides(tmp_path, recalled_below(1), recalled_below(0), probes=2, sessions=1), "in_context"
    )
    assert found.buckets["interior"] == [(2.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0)]


def test_facts_never_stated_have_no_presence_to_decide(tmp_path: Path) -> None:
    """Left out of the count of unpaired probes by that measure alone; a missing value is not."""
    night = night_of(made_run(tmp_path, "r", {"a": recalled_below(1)}, probes=3, sessions=1))
    table = pq.read_table(night.file)
    at = table.schema.get_field_index
    gone = table.set_column(at("answerable"), "answerable", pa.array([True, True, False]))
    gone = gone.set_column(at("value_in_context"), "value_in_context", pa.array([True, None, None]))
    pq.write_table(gone, night.file)
    side = Side(night=night, arm="a")
    assert (
        paired_rows(side, side, "in_context").unpaired,
        paired_rows(side, side, "answer").unpaired,
    ) == (1, 0)


def test_replicates_are_paired_and_count_once_by_their_mean(tmp_path: Path) -> None:
    """Two replicates of one probe, recalled in one of them: half a change.

    The second replicate of session 0 has the outcomes of session 1.
    """

    def every_other(session: int, probe: int) -> str:
        return "recalled" if session % 2 else "missed"

    found = paired_rows(
        *sides(tmp_path, lambda s, p: "missed", every_other, probes=1, sessions=1, replicates=2),
        "answer",
    )
    assert found.buckets["interior"] == [(1.0, 0.0, 0.5, 0.5, 0.0, 1.0, 0.0)]


def test_one_replicate_meets_each_of_the_other_sides(tmp_path: Path) -> None:
    """A deterministic arm has one replicate; nothing of the other is dropped."""
    one = night_of(made_run(tmp_path, "one", {"a": recalled_below(0)}, probes=1, sessions=1))
    two = night_of(made_run(tmp_path, "two", {"a": lambda s, p: "recalled" if s else "missed"},
                            probes=1, sessions=1, replicates=2))  # fmt: skip
    found = paired_rows(Side(night=one, arm="a"), Side(night=two, arm="a"), "answer")
    assert found.buckets["interior"] == [(1.0, 0.0, 0.5, 0.5, 0.0, 1.0, 0.0)]


@pytest.mark.parametrize("name", ["a'; DROP TABLE a; --", "腕", 'x"y'])
def test_arm_names_are_data(name: str, tmp_path: Path) -> None:
    """Quotes in a name steer no query."""
    night = night_of(made_run(tmp_path, "r", {name: recalled_below(1)}, probes=2, sessions=2))
    side = Side(night=night, arm=name)
    assert len(paired_rows(side, side, "answer").buckets["all"]) == 2
    assert prompt_tokens(night) == {name: 1000.0}


def test_a_trend_counts_each_night_and_session(tmp_path: Path) -> None:
    """Nights read from the history and from run folders are alike."""
    runs = [made_run(tmp_path / "runs", f"n{d}", {"a": recalled_below(d)}, probes=4, sessions=2,
                     started_at=f"2026-03-0{d}") for d in (1, 2)]  # fmt: skip
    for run in runs:
        append_night(tmp_path / "h", run)
    rows = trend_rows(read_history(tmp_path / "h").nights, "a", "answer")
    assert rows == trend_rows([night_of(run) for run in runs], "a", "answer")
    assert [(r["night"], r["successes"], r["trials"]) for r in rows if r["bucket"] == "all"] == [
        (0, 1.0, 4), (0, 1.0, 4), (1, 2.0, 4), (1, 2.0, 4),
    ]  # fmt: skip
    assert trend_rows([], "a", "answer") == []
