"""What datasets cover, as a Markdown table and as a picture of lengths, languages and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ctxeng.core.errors import InputError
from ctxeng.core.text import numbered, printable
from ctxeng.harness.probes.coverage import DECILES, Coverage, Spread
from ctxeng.harness.reports.plot import COLOURS, CONTROL, NO_METADATA, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS = 12
_HATCHES = ("", "////", "....", "xxxx", "----", "\\\\\\\\", "++++")


def markdown(found: Sequence[Coverage]) -> str:
    """Return a table with a column for every dataset."""
    columns = [_column(one) for one in found]
    names = [printable(one.name).replace("|", "\\|") for one in found]
    rows = [f"| | {' | '.join(names)} |", "|---|" + "---|" * len(found)]
    for label in columns[0]:
        rows.append(f"| {label} | {' | '.join(column[label] for column in columns)} |")
    return "\n".join(rows) + "\n"


def _column(one: Coverage) -> dict[str, str]:
    code = "-" if one.code_share is None else f"{one.code_share:.1%}"
    return {
        "sessions": f"{one.sessions:,}",
        "messages": f"{one.messages:,}",
        "tokens (local estimate)": f"{one.tokens:,}",
        "messages a session": _spread(one.session_messages),
        "tokens a session": _spread(one.session_tokens),
        "tokens a message": _spread(one.message_tokens),
        "messages by role": _counts(one.roles),
        "tool results": f"{one.tool_messages_share:.1%} of messages, "
        f"{one.tool_tokens_share:.1%} of tokens",
        "fenced code": f"{code} of the characters said",
        "sessions by language": _counts(one.languages),
        "probes": f"{one.probes:,}, {one.unanswerable:,} of them without an answer",
        "probes by kind": _counts(one.kinds),
        "probes by language": _counts(one.probe_languages),
        "facts by tenth of the session": f"{' '.join(map(str, one.depth_deciles))} "
        f"(n = {len(one.depths):,})",
    }


def _spread(one: Spread) -> str:
    return f"median {one.median:,.0f}, 5–95 %: {one.p5:,.0f}–{one.p95:,.0f}, most {one.largest:,}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{printable(name)} {n:,}" for name, n in counts.items()) or "none"


def draw_coverage(found: Sequence[Coverage], path: Path) -> Path:
    """Write the picture as PNG or SVG, told by the file's name, and return the file.

    Raises:
        InputError: the name ends otherwise, or the file cannot be written.
    """
    import matplotlib

    if path.suffix not in NO_METADATA:
        raise InputError(f"--out must end in .png or .svg, got {path}. Rename it.")
    with matplotlib.rc_context(STYLE):
        figure = coverage_figure(found)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=144, metadata=dict(NO_METADATA[path.suffix]))
        except OSError as error:
            raise InputError(
                f"--out must be writable, got {path} ({error.strerror or error})."
            ) from None
    return path


def coverage_figure(found: Sequence[Coverage]) -> Figure:
    """Return a row of three panels for every dataset: lengths, languages, positions of facts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 1.0 + 3.1 * len(found)), layout="constrained")
    panels = figure.subplots(len(found), 3, squeeze=False)
    top = max(size for one in found for size, _ in one.lengths)
    for row, one in zip(panels, found, strict=True):
        colours = _colours(found)
        _draw_lengths(row[0], one, colours, top)
        _draw_languages(row[1], one, colours)
        _draw_depths(row[2], one)
    figure.suptitle("What the datasets cover; counts, no interval", fontsize=11)
    return figure


def _colours(found: Sequence[Coverage]) -> dict[str, tuple[str, str]]:
    """Return a colour and a hatch for every language, the same in all panels."""
    languages = dict.fromkeys(language for one in found for language in one.languages)
    return {
        language: (COLOURS[index % len(COLOURS)], _HATCHES[index % len(_HATCHES)])
        for index, language in enumerate(languages)
    }


def _draw_lengths(
    axes: Axes, one: Coverage, colours: Mapping[str, tuple[str, str]], top: int
) -> None:
    width = top / _BINS
    floor = [0] * _BINS
    for language, (colour, hatch) in colours.items():
        sizes = [size for size, spoken in one.lengths if spoken == language]
        counts = [int(n) for n in np.histogram(sizes, bins=_BINS, range=(0, top))[0]]
        places = [(part + 0.5) * width for part in range(_BINS)]
        axes.bar(places, counts, width, bottom=floor, color=colour, edgecolor="white", hatch=hatch)
        floor = [under + n for under, n in zip(floor, counts, strict=True)]
    axes.locator_params(axis="y", integer=True)
    axes.set_xlim(0, top)
    _label(axes, "messages a session, stacked by language", "sessions", f"n = {one.sessions:,}")
    axes.text(
        0.0, 1.12, printable(one.name), transform=axes.transAxes, fontsize=11, fontweight="bold"
    )


def _draw_languages(axes: Axes, one: Coverage, colours: Mapping[str, tuple[str, str]]) -> None:
    languages = list(one.languages)
    bars = axes.barh(
        range(len(languages)),
        [one.languages[language] for language in languages],
        color=[colours[language][0] for language in languages],
        edgecolor="white",
    )
    for bar, language in zip(bars, languages, strict=True):
        bar.set_hatch(colours[language][1])
    axes.bar_label(bars, padding=3)
    axes.set_yticks(range(len(languages)), [printable(language) for language in languages])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.locator_params(axis="x", integer=True)
    _label(axes, "sessions", "", f"languages, n = {numbered(one.sessions, 'session')}")


def _draw_depths(axes: Axes, one: Coverage) -> None:
    centres = [100 * (part + 0.5) / DECILES for part in range(DECILES)]
    axes.bar(centres, one.depth_deciles, width=100 / DECILES, color=COLOURS[0], edgecolor="white")
    if one.depths:
        even = len(one.depths) / DECILES
        axes.axhline(even, color=CONTROL, linestyle="--", linewidth=1)
        axes.text(101, even, "if even", color=CONTROL, va="center", fontsize=9)
    axes.set_xlim(0, 100)
    _label(axes, "% of the session before the fact is stated", "probes",
           f"n = {numbered(len(one.depths), 'probe')} with evidence")  # fmt: skip


def _label(axes: Axes, x: str, y: str, title: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
