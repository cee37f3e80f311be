"""A benchmark's tables: per arm, by the benchmark's own categories, by position; BM25 beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ctxeng.core.text import numbered
from ctxeng.harness.experiments.benchmark import Benchmark, Scale
from ctxeng.harness.experiments.bm25 import Bm25Row
from ctxeng.harness.results.database import table_rows
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.scoring.outcome import is_right
from ctxeng.harness.sessions.io import atomic_file
from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.interval import share_interval

BM25 = "bm25"
Cell = Mapping[str, Any]
Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """Means of one arm over some probes; shares 0..1, None where not defined.

    Args:
        in_context: the value is in the prompt. evidence: evidence messages raw in the prompt.
        answered: right answers of those decided; for unanswerable probes, right abstentions.
        decided: probes behind ``answered``.
        in_context_bounds, answered_bounds: 95 % intervals, sessions as units; None for one session.
    """

    arm: str
    group: str
    n: int
    in_context: float | None
    evidence: float | None
    answered: float | None
    context_tokens: float
    decided: int = 0
    in_context_bounds: Bounds | None = None
    answered_bounds: Bounds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkReport:
    """All tables of one benchmark run."""

    benchmark: Benchmark
    run_id: str
    overall: tuple[ArmFigures, ...]
    by_category: tuple[ArmFigures, ...]
    by_position: tuple[ArmFigures, ...]
    abstention: tuple[ArmFigures, ...]

    def record(self) -> dict[str, Any]:
        """Return the tables as plain JSON."""
        tables = ("overall", "by_category", "by_position", "abstention")
        return {
            "benchmark": self.benchmark.name,
            "run_id": self.run_id,
            "budget_tokens": self.benchmark.budget_tokens,
            "scale": self.benchmark.scale.record(),
            "excluded": dict(self.benchmark.excluded),
            "excluded_elsewhere": self.benchmark.excluded_elsewhere,
            **{
                name: [
                    {key: getattr(row, key) for key in ArmFigures.__slots__}
                    for row in getattr(self, name)
                ]
                for name in tables
            },
        }


def benchmark_report(
    benchmark: Benchmark, run: RunFolder, baseline: Iterable[Bm25Row]
) -> BenchmarkReport:
    """Return the tables of a finished run; answerable and unanswerable questions stand apart."""
    cells: list[Cell] = list(table_rows(run, "cells"))
    cells = [*cells, *_beside(cells, baseline)]
    answerable = [cell for cell in cells if cell["answerable"]]
    absent = [cell for cell in cells if not cell["answerable"]]
    return BenchmarkReport(
        benchmark=benchmark,
        run_id=run.run_id,
        overall=_figures(answerable, lambda cell: "all"),
        by_category=_figures(answerable, lambda cell: cell["category"] or "none"),
        by_position=_figures(answerable, lambda cell: cell["bucket"]),
        abstention=_figures(absent, lambda cell: cell["category"] or "none"),
    )


def write_benchmark(report: BenchmarkReport, folder: Path) -> Path:
    """Write ``benchmark.md`` into the run's folder and return its path."""
    path = folder / "benchmark.md"
    with atomic_file(path) as stream:
        stream.write(markdown(report).encode("utf-8"))
    return path


def markdown(report: BenchmarkReport) -> str:
    """Return the tables as Markdown."""
    bench = report.benchmark
    excluded = "; ".join(f"{n} {reason}" for reason, n in bench.excluded.items()) or "none"
    if bench.excluded_elsewhere:
        excluded += f" ({bench.excluded_elsewhere} more of the lists are not in this copy)"
    lines = [
        f"# {bench.name}",
        "",
        f"Run {report.run_id}; {numbered(bench.budget_tokens, 'token')} for every arm but the "
        f"controls; `{BM25}` takes the best messages that fit, its tokens are theirs alone. "
        f"Not asked: {excluded}.",
        "",
        _scaled(bench.scale),
        "",
        "In brackets 95 % intervals, sessions taken as independent; one session has none.",
        *_wide("Answerable questions", report.overall),
        *_crossed("In-context recall by category, %", report.by_category, "in_context"),
        *_crossed("Evidence recall by category, %", report.by_category, "evidence"),
        *_crossed("In-context recall by position, %", report.by_position, "in_context"),
        *_crossed("Abstained where nothing was said, %", report.abstention, "answered"),
    ]
    return "\n".join(lines) + "\n"


def _scaled(scale: Scale) -> str:
    return (
        f"The median session has {scale.messages:g} messages and {scale.tokens:g} tokens, so arms "
        f"keep at least {scale.least_recent} recent, compact {scale.part_messages} at a time into "
        f"{scale.part_tokens} tokens, and distil memory every "
        f"{numbered(scale.every_episodes, 'episode')}."
    )


def _beside(cells: Sequence[Cell], baseline: Iterable[Bm25Row]) -> list[Cell]:
    """Return the baseline's rows as cells, with what the run says of the same probes."""
    known = {cell["probe_id"]: cell for cell in cells}
    return [
        {
            **known[row.probe_id],
            "arm": BM25,
            "value_in_context": row.value,
            "evidence_in_context": row.evidence_share,
            "context_tokens": row.tokens,
            "outcome": "skipped",
        }
        for row in baseline
        if row.probe_id in known
    ]


def _figures(cells: Iterable[Cell], group_of: Callable[[Cell], str]) -> tuple[ArmFigures, ...]:
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell["arm"], group_of(cell)), []).append(cell)
    return tuple(_row(arm, group, inside) for (arm, group), inside in groups.items())


def _row(arm: str, group: str, cells: Sequence[Cell]) -> ArmFigures:
    shown = _counted(cells, lambda cell: cell["value_in_context"])
    right = _counted(cells, lambda cell: is_right(cell["outcome"]))
    held = [cell["evidence_in_context"] for cell in cells]
    evidence = [share for share in held if share is not None]
    return ArmFigures(
        arm=arm,
        group=group,
        n=len(cells),
        in_context=shown.share,
        evidence=fmean(evidence) if evidence else None,
        answered=right.share,
        context_tokens=fmean(cell["context_tokens"] or 0 for cell in cells),
        decided=int(right.n),
        in_context_bounds=_bounds(shown),
        answered_bounds=_bounds(right),
    )


def _counted(cells: Sequence[Cell], judged: Callable[[Cell], bool | None]) -> SessionCounts:
    said = ((cell["session_id"], judged(cell)) for cell in cells)
    return SessionCounts.of((name, float(value)) for name, value in said if value is not None)


def _bounds(counts: SessionCounts) -> Bounds | None:
    interval = share_interval(counts)
    return None if interval is None else (interval.low, interval.high)


def _wide(title: str, rows: Sequence[ArmFigures]) -> list[str]:
    return [
        "",
        f"## {title}",
        "",
        "| arm | n | in context, % | evidence, % | tokens | answers, % | decided |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {row.arm} | {row.n} | {_bounded(row.in_context, row.in_context_bounds)} "
            f"| {_percent(row.evidence)} | {row.context_tokens:,.0f} "
            f"| {_bounded(row.answered, row.answered_bounds)} | {row.decided or '-'} |"
            for row in rows
        ),
    ]


def _crossed(title: str, rows: Sequence[ArmFigures], name: str) -> list[str]:
    if not rows:
        return []
    sizes = {row.group: row.n for row in rows}
    groups = sorted(sizes)
    found = {(row.arm, row.group): getattr(row, name) for row in rows}
    names = [f"{group} (n={sizes[group]})".replace("|", "\\|") for group in groups]
    return [
        "",
        f"## {title}",
        "",
        f"| arm | {' | '.join(names)} |",
        "|---" * (len(groups) + 1) + "|",
        *(
            f"| {arm} | {' | '.join(_percent(found.get((arm, group))) for group in groups)} |"
            for arm in dict.fromkeys(row.arm for row in rows)
        ),
    ]


def _bounded(share: float | None, bounds: Bounds | None) -> str:
    if bounds is None:
        return _percent(share)
    return f"{_percent(share)} ({_percent(bounds[0])}–{_percent(bounds[1])})"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"
