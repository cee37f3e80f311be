"""Pictures draw what the summary holds, whatever their colours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ctxeng.harness.reports import plot
from ctxeng.harness.reports.summary import Summary, summarise
from ctxeng.harness.reports.write import Format, write_as
from ctxeng.harness.results.run_folder import RunFolder
from tests.harness.reports.made import made_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return made_run(tmp_path_factory.mktemp("plot"))


@pytest.fixture(scope="module")
def summary(run: RunFolder) -> Summary:
    return summarise(run)


def numbers(figure: Figure) -> list[object]:
    """Return every place that a figure draws something at."""
    found: list[object] = []
    for axes in figure.axes:
        found += [line.get_xydata().tolist() for line in axes.lines]  # type: ignore[union-attr]
        found += [path.vertices.tolist() for c in axes.collections for path in c.get_paths()]
        found += [patch.get_bbox().bounds for patch in axes.patches]  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("name", plot.PICTURES)
def test_changing_only_colours_changes_no_number(
    summary: Summary, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is counted where it is drawn."""
    before = numbers(plot.PICTURES[name](summary))
    monkeypatch.setattr(plot, "COLOURS", ("#111111", "#222222"))
    monkeypatch.setattr(plot, "CONTROL", "#333333")
    monkeypatch.setattr(plot, "STAGE_COLOURS", dict.fromkeys(plot.STAGE_COLOURS, "#444444"))
    assert numbers(plot.PICTURES[name](summary)) == before
    assert before


def test_points_and_intervals_are_those_of_the_summary(summary: Summary) -> None:
    """The first arm's answer recall, in per cent, bucket by bucket."""
    axes = plot.recall_figure(summary).axes[0]
    bars = axes.containers[0]
    rows = [summary.row("episodes", bucket) for bucket in summary.buckets]
    assert list(bars[0].get_ydata()) == [100 * row.recall for row in rows]  # type: ignore[union-attr, operator]
    ends = [segment[:, 1].tolist() for segment in bars[2][0].get_segments()]
    expected = [[100 * row.low, 100 * row.high] for row in rows]  # type: ignore[union-attr, operator]
    assert ends == [pytest.approx(pair) for pair in expected]


@pytest.mark.parametrize("name", plot.PICTURES)
def test_a_picture_says_how_many_and_which_interval(
    summary: Summary, name: str, tmp_path: Path
) -> None:
    """As text in the SVG, which is the same every time."""
    first = plot.draw(summary, name, tmp_path / "a.svg").read_text("utf-8")
    second = plot.draw(summary, name, tmp_path / "b.svg").read_text("utf-8")
    assert first == second
    said = " ".join(re.findall(r">([^<>]+)</", first))
    assert re.search(r"n = \d+", said)
    assert "2 sessions; " in said
    assert ("counts, no interval" if name == "where_lost" else "95 % interval") in said


@pytest.mark.parametrize("form", ["png", "svg"])
def test_every_picture_is_written_in_the_wanted_form(
    run: RunFolder, summary: Summary, form: Format
) -> None:
    """Three files beside the run's tables."""
    made = write_as(run, summary, form)
    assert [path.name for path in made] == [f"{name}.{form}" for name in plot.PICTURES]
    magic = {"png": b"\x89PNG", "svg": b"<?xml"}[form]
    assert all(path.read_bytes().startswith(magic) for path in made)


def test_names_with_dollars_and_markup_are_drawn_as_they_are(tmp_path: Path) -> None:
    """No arm name is read as a formula."""
    run = made_run(tmp_path, mangle=lambda text: f"${text}^{{<b>$")
    drawn = plot.draw(summarise(run), "recall_by_tokens", tmp_path / "a.svg").read_text("utf-8")
    assert "$roomy^{&lt;b&gt;$" in drawn


def test_no_two_arms_of_many_look_alike() -> None:
    """Thirty arms: no pair of marker and colour comes twice."""
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    for index in range(30):
        plot._draw_arm(axes, [(0.0, (0.5, None, None))], f"arm-{index}", index, False)
    lines = [container.lines[0] for container in axes.containers]
    assert len({(line.get_marker(), line.get_color()) for line in lines}) == 30
