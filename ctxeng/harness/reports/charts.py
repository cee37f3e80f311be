"""Where things stand in the charts of the page: numbers only, the templates draw them.

Lengths are units of the chart's own view box; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ctxeng.harness.reports.losses import LossRow, stages_of
from ctxeng.harness.reports.recall import ALL, RecallRow
from ctxeng.harness.reports.summary import Summary
from ctxeng.harness.reports.trend import Trend
from ctxeng.harness.stats.compare import position

Share = tuple[float, float | None, float | None]
LINE, LABEL = 14.0, 110.0  # height and usual width of a label
LONGEST = 24  # letters of a label
MOST_NAMED = 12  # dots with a label; among more, those of the front, the reference and the controls


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The plotting area inside a view box; shares 0..``most`` run from ``bottom`` to ``top``."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    most: float = 1.0

    def y(self, share: float) -> float:
        """Return the height of a share."""
        return round(self.bottom - share / self.most * (self.bottom - self.top), 1)

    def x(self, part: float) -> float:
        """Return the place of a part 0..1 of the width."""
        return round(self.left + part * (self.right - self.left), 1)


SCATTER = Frame(width=480, height=300, left=34, right=472, top=12, bottom=256)
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
    is_named: bool = True

    @property
    def label(self) -> str:
        """The arm; of a long name its end, where arms of one sweep differ."""
        return self.arm if len(self.arm) <= LONGEST else f"{self.arm[:4]}…{self.arm[5 - LONGEST :]}"


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
    found = _measured(summary)
    if len(found) < 2:
        return None
    largest = max(size for _, size, _, _ in found)
    step = _step(largest)
    top = step * (int(largest / step) + 1)
    highest = max(share[2] or share[0] for _, _, _, share in found)
    frame = replace(SCATTER, most=min(1.0, 0.2 * (int(highest / 0.2) + 1)))
    dots = _named([_dot(summary, one, top, frame) for one in found], front, frame)
    at = {dot.arm: f"{dot.x},{dot.y}" for dot in dots}
    return Scatter(
        frame=frame,
        dots=tuple(dots),
        ticks=tuple((frame.x(value / top), f"{value:,.0f}") for value in _multiples(step, top)),
        front=" ".join(at[arm] for arm in front if arm in at),
    )


def _measured(summary: Summary) -> list[tuple[str, float, int, Share]]:
    """Return arm, mean prompt tokens, probes and recall of every arm and the whole history."""
    share_of, sizes = main_share(summary), {a.arm: a.context_tokens for a in summary.activity}
    return [
        (arm, sizes[arm], row.n, share)
        for arm in (*summary.arms, *(name for name in summary.controls if name == "full"))
        if (row := summary.row(arm, ALL)) is not None and (share := share_of(row)) is not None
    ]


def _dot(summary: Summary, found: tuple[str, float, int, Share], top: float, frame: Frame) -> Dot:
    arm, tokens, n, share = found
    x, y = frame.x(tokens / top), frame.y(share[0])
    return Dot(
        arm=arm,
        is_control=arm in summary.controls,
        is_reference=arm == summary.manifest["reference_arm"],
        tokens=tokens,
        n=n,
        share=share,
        x=x,
        y=y,
        low_y=None if share[1] is None else frame.y(share[1]),
        high_y=None if share[2] is None else frame.y(share[2]),
        label_x=x + 9,
        label_y=y + 4,
        is_left=False,
    )


def _named(dots: Sequence[Dot], front: Sequence[str], frame: Frame) -> list[Dot]:
    """Give as many dots a label as can be read; the others tell their name when pointed at."""
    if len(dots) <= MOST_NAMED:
        return _apart(dots, frame)
    told = [d for d in dots if d.is_reference or d.is_control or d.arm in front]
    return [replace(d, is_named=False) for d in dots if d not in told] + _apart(told, frame)


def _apart(dots: Sequence[Dot], frame: Frame) -> list[Dot]:
    """Put labels beside their dots, on the side without another, then down until none overlap."""
    placed: list[Dot] = []
    for dot in sorted((_sided(dot, dots, frame) for dot in dots), key=lambda d: (d.y, d.x)):
        y = dot.label_y
        for other in placed:
            if _spans_meet(dot, other) and abs(y - other.label_y) < LINE:
                y = other.label_y + LINE
        placed.append(replace(dot, label_y=y))
    over = max(0.0, max(dot.label_y for dot in placed) - frame.bottom + 2)
    return [replace(dot, label_y=round(dot.label_y - over, 1)) for dot in placed]


def _sided(dot: Dot, dots: Sequence[Dot], frame: Frame) -> Dot:
    """Return a dot with its label to the left where the right is the worse side."""
    level = [other.x - dot.x for other in dots if other != dot and abs(other.y - dot.y) < LINE]
    is_crowded = any(0 < gap < LABEL for gap in level) and not any(-LABEL < g <= 0 for g in level)
    has_room = dot.x - LABEL > frame.left
    is_left = has_room and (is_crowded or dot.x + LABEL > frame.right)
    return replace(dot, is_left=is_left, label_x=dot.x - 9 if is_left else dot.x + 9)


def _spans_meet(one: Dot, other: Dot) -> bool:
    starts = [d.label_x - LABEL if d.is_left else d.label_x for d in (one, other)]
    return abs(starts[0] - starts[1]) < LABEL


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
        curves.append(curve(position(bucket), told, ends=ends, marks=marks))
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
