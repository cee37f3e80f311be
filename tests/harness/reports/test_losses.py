"""The loss table: counts by arm and position."""

from __future__ import annotations

from typing import Any

from ctxeng.harness.reports.losses import loss_rows, stages_of


def cell(
    arm: str, bucket: str, present: bool | None, outcome: str, stage: str | None
) -> dict[str, Any]:
    return {
        "arm": arm, "bucket": bucket, "value_in_context": present, "outcome": outcome,
        "loss_stage": stage, "has_evidence": False, "n": 1,
    }  # fmt: skip


CELLS = [
    cell("a", "interior", True, "recalled", None),
    cell("a", "interior", True, "missed", "reader_missed"),
    cell("a", "interior", False, "abstained", "lost_in_summary"),
    cell("a", "boundary", False, "recalled", None),
    cell("a", "boundary", False, "undecided", "over_budget"),
    cell("a", "boundary", False, "missed", None),
    cell("a", "none", None, "fabricated", None),
    cell("b", "interior", True, "error", None),
]


def test_every_arm_has_a_row_and_one_for_each_of_its_positions() -> None:
    """By hand; absent facts cannot be lost, undecided and failed answers are in no used column."""
    rows = {(row.arm, row.bucket): row for row in loss_rows(CELLS, ["a", "b", "c"])}
    assert list(rows) == [
        ("a", "all"), ("a", "boundary"), ("a", "interior"), ("b", "all"), ("b", "interior"), ("c", "all"),
    ]  # fmt: skip
    whole = rows["a", "all"]
    used = (whole.in_answered, whole.in_missed, whole.out_missed, whole.out_answered)
    assert (whole.n, whole.present, used, whole.lost) == (6, 2, (1, 1, 2, 1), 3)
    assert (whole.undecided, whole.kept, rows["b", "all"].undecided) == (1, 2, 1)
    assert (whole.untold, rows["a", "interior"].untold, rows["b", "all"].untold) == (1, 0, 0)
    assert whole.stages == {"lost_in_summary": 1, "over_budget": 1, "reader_missed": 1}
    assert rows["a", "boundary"].stages == {"over_budget": 1}
    assert (rows["b", "all"].n, rows["b", "all"].lost) == (1, 0)
    assert rows["c", "all"].n == 0


def test_evidence_that_stands_raw_in_the_prompt_is_not_lost() -> None:
    """A paraphrased value is in no text; with its evidence shown there is nothing to be told."""
    shown = {**cell("a", "recent", False, "skipped", None), "has_evidence": True}
    part = {**shown, "has_evidence": False}
    (row, _) = loss_rows([shown, part], ["a"])
    assert (row.n, row.present, row.untold) == (2, 0, 1)


def test_alike_cells_count_by_their_number() -> None:
    """Five alike cells are five of every count."""
    (one, _) = loss_rows([cell("a", "gap", False, "missed", "gated")], ["a"])
    (five, _) = loss_rows([{**cell("a", "gap", False, "missed", "gated"), "n": 5}], ["a"])
    assert (one.n, one.out_missed, one.stages) == (1, 1, {"gated": 1})
    assert (five.n, five.out_missed, five.stages) == (5, 5, {"gated": 5})


def test_positions_sum_to_the_whole() -> None:
    """Nothing is counted twice or left out."""
    rows = loss_rows(CELLS, ["a", "b"])
    for arm in ("a", "b"):
        whole, *parts = [row for row in rows if row.arm == arm]
        assert whole.n == sum(part.n for part in parts)
        assert whole.lost == sum(part.lost for part in parts)


def test_only_stages_that_occur_are_columns_in_their_order() -> None:
    """The order is that of the way into the prompt."""
    assert stages_of(loss_rows(CELLS, ["a", "b"])) == [
        "lost_in_summary", "over_budget", "reader_missed",
    ]  # fmt: skip
    assert stages_of([]) == []
