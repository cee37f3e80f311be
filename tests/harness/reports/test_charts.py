"""Places in charts follow from the numbers, and labels can be read."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from ctxeng.harness.reports.charts import (
    LABEL,
    LINE,
    SCATTER,
    SMALL,
    Dot,
    _apart,
    _named,
    curve,
    depth_curves,
    scatter,
    stack,
    trend_curves,
)
from ctxeng.harness.reports.losses import LossRow
from ctxeng.harness.reports.summary import summarise
from tests.harness.reports.beside import BESIDE
from tests.harness.reports.made import made_run


def row(**changes: object) -> LossRow:
    """Return ten cells: five answered, three lost, one that cannot be told."""
    made = {
        "arm": "a", "bucket": "all", "n": 10, "present": 6, "in_answered": 4, "in_missed": 1,
        "out_missed": 3, "out_answered": 1, "stages": {"gated": 2, "reader_missed": 1}, "untold": 1,
    }  # fmt: skip
    return LossRow(**(made | changes))  # type: ignore[arg-type]


def test_a_loss_bar_holds_every_cell_once() -> None:
    """5 answered + 2 + 1 lost + 1 untold leaves 1 of 10; parts lie end to end."""
    parts = stack(row(), is_asked=True)
    assert [(p.name, p.n, p.x, p.width) for p in parts] == [
        ("answered", 5, 0.0, 50.0), ("gated", 2, 50.0, 20.0), ("reader_missed", 1, 70.0, 10.0),
        ("cannot be told", 1, 80.0, 10.0), ("other", 1, 90.0, 10.0),
    ]  # fmt: skip


def test_without_a_reader_the_bar_begins_with_what_is_in_the_prompt() -> None:
    """6 of 10 are present; 2 gated, 1 untold, 1 left."""
    parts = stack(row(stages={"gated": 2}), is_asked=False)
    assert [(p.name, p.n) for p in parts] == [
        ("in the prompt", 6), ("gated", 2), ("cannot be told", 1), ("other", 1),
    ]  # fmt: skip


def test_an_arm_without_cells_has_no_bar() -> None:
    """Nothing is divided by nothing."""
    assert (
        stack(
            row(n=0, present=0, in_answered=0, out_answered=0, stages={}, untold=0), is_asked=True
        )
        == ()
    )


def test_a_missing_share_breaks_the_line() -> None:
    """Four nights, the second without recall: a single point, then a line of two."""
    told = [
        ("1", 5, (0.5, 0.4, 0.6)),
        ("2", 0, None),
        ("3", 5, (0.0, None, None)),
        ("4", 5, (1.0, 0.9, 1.0)),
    ]
    made = curve("all", told, ends=("a", "b"))
    assert [p[2] for p in made.points] == ["1", "3", "4"]
    assert len(made.lines) == 2
    assert made.points[-1][:2] == (SMALL.right, SMALL.top)
    assert made.points[1][1] == SMALL.bottom
    assert len(made.bands) == 1  # an interval that is not known is not drawn


def test_a_trend_has_a_curve_for_every_position_and_its_change_points() -> None:
    """Three nights, one of them without recall in one position, the last under other settings."""
    assert BESIDE.trend is not None
    curves = {c.title: c for c in trend_curves(BESIDE.trend)}
    assert list(curves) == ["all", "boundary"]
    assert (len(curves["all"].points), len(curves["boundary"].points)) == (2, 3)
    assert [x for x, _ in curves["all"].marks] == [SMALL.right]


def test_arms_stand_at_their_tokens_and_recall(tmp_path: Path) -> None:
    """Mean tokens 135 of a scale to 140: steps of 20 + one; recall 8 of 16 is half way up."""
    cloud = scatter(summarise(made_run(tmp_path)), front=["roomy", "nobody"])
    assert cloud is not None
    dots = {dot.arm: dot for dot in cloud.dots}
    assert set(dots) == {"episodes", "roomy", "full"}
    assert dots["full"].is_control and dots["episodes"].is_reference
    assert dots["episodes"].y == cloud.frame.y(0.5)
    assert dots["episodes"].x == cloud.frame.x(135 / float(cloud.ticks[-1][1]))
    assert cloud.front == f"{dots['roomy'].x},{dots['roomy'].y}"


def test_the_depth_of_a_fact_has_a_curve_for_every_arm(tmp_path: Path) -> None:
    """Facts at 0, 1/8 … 7/8; the second arm's only fact of the last fifth ended in an error."""
    curves = depth_curves(summarise(made_run(tmp_path)))
    assert [(c.title, len(c.points)) for c in curves] == [
        ("episodes", 5),
        ("roomy", 4),
        ("full", 5),
    ]


@pytest.mark.parametrize("gap", [0, 3, 30])
def test_labels_of_near_arms_do_not_overlap(gap: int) -> None:
    """Six arms nearly on one spot, wherever that is."""
    for x in (40.0, 230.0, 440.0):
        for y in (20.0, 240.0):
            dots = [dot(f"arm-{i}", x + gap * i % 25, y + i) for i in range(6)]
            placed = _apart(dots, SCATTER)
            for one, other in combinations(placed, 2):
                starts = [d.label_x - LABEL * d.is_left for d in (one, other)]
                beside = abs(starts[0] - starts[1]) >= LABEL
                assert beside or abs(one.label_y - other.label_y) >= LINE - 0.2


def test_among_many_arms_the_front_the_reference_and_controls_are_named() -> None:
    """A sweep of fourteen arms: labels of all would cover the drawing."""
    dots = [dot(f"arm[size={i}]", 20.0 + 30 * i, 100) for i in range(14)]
    dots[0] = replace(dots[0], is_reference=True)
    dots[13] = replace(dots[13], is_control=True)
    shown = _named(dots, [dots[4].arm], SCATTER)
    assert len(shown) == 14
    assert sorted(d.arm for d in shown if d.is_named) == sorted(dots[i].arm for i in (0, 4, 13))
    assert all(d.is_named for d in _named(dots[:12], [], SCATTER))


def test_labels_of_one_sweep_are_not_alike() -> None:
    """Long names keep their end, where arms of a sweep differ."""
    long = [dot(f"rolling[threshold_tokens={n}]", 50, 50).label for n in (800, 1600)]
    assert long == ["roll…reshold_tokens=800]", "roll…eshold_tokens=1600]"]
    assert dot("three_tier", 50, 50).label == "three_tier"


def dot(arm: str, x: float, y: float) -> Dot:
    return Dot(
        arm=arm, is_control=False, is_reference=False, tokens=1.0, n=1, share=(0.5, None, None),
        x=x, y=y, low_y=None, high_y=None, label_x=x + 9, label_y=y + 4, is_left=False,
    )  # fmt: skip
