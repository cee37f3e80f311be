"""Where things stand in the charts of the page: numbers only, the templates draw them.

Lengths are units of the chart's own view box; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ctxeng.harness.reports.beside import Trend
from ctxeng.harness.reports.losses import LossRow, stages_of
from ctxeng.harness.reports.recall import ALL, RecallRow
from ctxeng.harness.reports.summary import Summary

Share = tuple[float, float | None, float | None]
LINE = 14.0  # height of a label


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The plotting area inside a view box; shares 0..1 run from ``bottom`` up to ``top``."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    def y(self, share: float) -> float:
        """Return the height of a share."""
        return round(self.bottom - share * (self.bottom - self.top), 1)

    def x(self, part: float) -> float:
        """Return the place of a part 0..1 of the width."""
        return round(self.left + part * (self.right - self.left), 1)


SCATTER = Frame(width=480, height=320, left=34, right=466, top=12, bottom=276)
SMALL = Frame(width=240, height=128, left=28, right=234, top=10, bottom=104)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One arm: its point, its interval, and its label, which stands clear of the others."""

    arm: str
    is_control: bool
    is_reference: bool
    tokens: float
    n: int
    share: Share
    x: float
    y: float
    low_y: float | None
    high_y: float | None
    label_x: float
    label_y: float
    is_left: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Recall against prompt tokens; ``front`` joins the arms that no other beats."""

    frame: Frame
    dots: tuple[Dot, ...]
    ticks: tuple[tuple[float, str], ...]
    front: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Recall along something: a line through the points, a band of their intervals.

    Args:
        points: x, y, label, n and share of each point that has a recall.
        lines, bands: one for every run of neighbours that have one.
        marks: places of change, with what changed.
    """

    title: str
    frame: Frame
    points: tuple[tuple[float, float, str, int, Share], ...]
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    ends: tuple[str, str]
    marks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a bar: ``x`` and ``width`` in per cent of it."""

    name: str
    n: int
    x: float
    width: float


def answer_share(row: RecallRow | None) -> Share | None:
    """Return answer recall with its interval, None where nobody was asked."""
    if row is None or row.recall is None:
        return None
    return row.recall, row.low, row.high


def presence_share(row: RecallRow | None) -> Share | None:
    """Return in-context recall with its interval, None where it is not defined."""
    if row is None or row.in_context is None:
        return None
    return row.in_context, row.in_context_low, row.in_context_high


def main_share(summary: Summary) -> Callable[[RecallRow | None], Share | None]:
    """Return the measure a page leads with: answers where a reader gave them."""
    return answer_share if summary.asked else presence_share


def scatter(summary: Summary, front: Sequence[str] = ()) -> Scatter | None:
    """Return every arm, and the whole history for comparison; None below two points."""
    share_of, names = main_share(summary), (*summary.arms, "full")
    sizes = {row.arm: row.context_tokens for row in summary.activity}
    found = [
        (arm, sizes[arm], row.n, share)
        for arm in names
        if arm in sizes
        and (row := summary.row(arm, ALL)) is not None
        and (share := share_of(row)) is not None
    ]
    if len(found) < 2:
        return None
    step = _step(max(size for _, size, _, _ in found))
    top = step * (int(max(size for _, size, _, _ in found) / step) + 1)
    dots = [_dot(summary, one, top) for one in found]
    at = {dot.arm: f"{dot.x},{dot.y}" for dot in dots}
    return Scatter(
        frame=SCATTER,
        dots=tuple(_apart(dots)),
        ticks=tuple((SCATTER.x(value / top), f"{value:,.0f}") for value in _multiples(step, top)),
        front=" ".join(at[arm] for arm in front if arm in at),
    )


def _dot(summary: Summary, found: tuple[str, float, int, Share], top: float) -> Dot:
    arm, tokens, n, share = found
    x, y = SCATTER.x(tokens / top), SCATTER.y(share[0])
    is_left = x > SCATTER.x(0.68)
    return Dot(
        arm=arm,
        is_control=arm in summary.controls,
        is_reference=arm == summary.manifest["reference_arm"],
        tokens=tokens,
        n=n,
        share=share,
        x=x,
        y=y,
        low_y=None if share[1] is None else SCATTER.y(share[1]),
        high_y=None if share[2] is None else SCATTER.y(share[2]),
        label_x=x - 9 if is_left else x + 9,
        label_y=y + 4,
        is_left=is_left,
    )


def _apart(dots: Sequence[Dot]) -> list[Dot]:
    """Move labels down until none stands on another, and back up where they leave the chart."""
    placed: list[Dot] = []
    for dot in sorted(dots, key=lambda d: (d.y, d.x)):
        y = dot.label_y
        for other in placed:
            near = abs(other.label_x - dot.label_x) < 150
            if near and abs(y - other.label_y) < LINE:
                y = other.label_y + LINE
        placed.append(replace(dot, label_y=y))
    over = max(0.0, max(dot.label_y for dot in placed) - SCATTER.bottom + 2)
    return [replace(dot, label_y=dot.label_y - over) for dot in placed]


def _step(largest: float) -> float:
    """Return a round step that makes three to seven ticks."""
    size: float = 1
    while True:
        for factor in (1, 2, 5):
            if largest / (size * factor) <= 6:
                return size * factor
        size *= 10


def _multiples(step: float, top: float) -> list[float]:
    return [step * number for number in range(int(top / step) + 1)]


def depth_curves(summary: Summary) -> list[Curve]:
    """Return recall by depth of the statement in its session, a curve for every arm."""
    share_of = main_share(summary)
    bands = sorted({row.bucket for row in summary.by_depth})
    if len(bands) < 2:
        return []
    by_place = {(row.arm, row.bucket): row for row in summary.by_depth}
    curves = []
    for arm in (*summary.arms, *(name for name in summary.controls if name == "full")):
        rows = [by_place.get((arm, band)) for band in bands]
        told = [(b, row.n if row else 0, share_of(row)) for b, row in zip(bands, rows, strict=True)]
        curves.append(curve(arm, told, ends=("start", "end of session")))
    return curves


def trend_curves(trend: Trend) -> list[Curve]:
    """Return recall over nights, a curve for every position."""
    nights = trend.points
    if not nights:
        return []
    marks = [(i, f"{n.started_at[:10]}: {'; '.join(n.changes)}") for i, n in enumerate(nights)
             if n.changes]  # fmt: skip
    curves = []
    for bucket in dict.fromkeys(name for night in nights for name in night.recall):
        told = []
        for night in nights:
            band = night.recall.get(bucket)
            share = (
                None if band is None or band.share is None else (band.share, band.low, band.high)
            )
            told.append((f"{night.started_at[:10]} {night.run_id}", band.n if band else 0, share))
        ends = (nights[0].started_at[:10], nights[-1].started_at[:10])
        curves.append(curve(bucket, told, ends=ends, marks=marks))
    return curves


def curve(
    title: str,
    told: Sequence[tuple[str, int, Share | None]],
    *,
    ends: tuple[str, str],
    marks: Sequence[tuple[int, str]] = (),
) -> Curve:
    """Return a curve through (label, n, share) in equal steps; a missing share breaks it."""
    last = max(1, len(told) - 1)
    runs: list[list[tuple[float, str, int, Share]]] = [[]]
    for at, (label, n, share) in enumerate(told):
        if share is None:
            runs.append([])
        else:
            runs[-1].append((SMALL.x(at / last), label, n, share))
    runs = [run for run in runs if run]
    return Curve(
        title=title,
        frame=SMALL,
        points=tuple((x, SMALL.y(s[0]), label, n, s) for run in runs for x, label, n, s in run),
        lines=tuple(_joined((x, s[0]) for x, _, _, s in run) for run in runs),
        bands=tuple(band for run in runs if (band := _band(run))),
        ends=ends,
        marks=tuple((SMALL.x(at / last), what) for at, what in marks),
    )


def _band(run: Sequence[tuple[float, str, int, Share]]) -> str:
    if any(share[1] is None or share[2] is None for _, _, _, share in run):
        return ""
    upper = [(x, share[2] or 0.0) for x, _, _, share in run]
    lower = [(x, share[1] or 0.0) for x, _, _, share in run]
    return _joined([*upper, *reversed(lower)])


def _joined(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{SMALL.y(share)}" for x, share in points)


def stack_names(summary: Summary) -> list[str]:
    """Return what the parts of the loss bars are called, in their order."""
    first = "answered" if summary.asked else "in the prompt"
    return [first, *stages_of(summary.loss_rows), "cannot be told", "other"]


def stack(row: LossRow, *, is_asked: bool) -> tuple[Segment, ...]:
    """Return the bar of one arm: kept, lost by stage, cannot be told, and the rest of its cells."""
    kept = row.in_answered + row.out_answered if is_asked else row.present
    parts = {
        "answered" if is_asked else "in the prompt": kept,
        **row.stages,
        "cannot be told": row.untold,
    }
    parts["other"] = max(0, row.n - sum(parts.values()))
    total, at, found = sum(parts.values()), 0.0, []
    for name, n in parts.items():
        if n:
            width = 100 * n / total
            found.append(Segment(name=name, n=n, x=round(at, 3), width=round(width, 3)))
            at += width
    return tuple(found)
