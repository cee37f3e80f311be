"""The report as one file: charts drawn in it, cells and paths packed into it, nothing loaded.

Every text that comes from a run is escaped by the template or set as text by the scripts; the
page's own policy lets nothing run but those scripts.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from ctxeng.core.text import numbered, words
from ctxeng.harness.reports import charts
from ctxeng.harness.reports.beside import Beside
from ctxeng.harness.reports.cache import run_cache
from ctxeng.harness.reports.economics import Grid
from ctxeng.harness.reports.embedded import embed
from ctxeng.harness.reports.faults import LIMIT, faults
from ctxeng.harness.reports.losses import stages_of
from ctxeng.harness.reports.recall import ALL
from ctxeng.harness.reports.summary import Summary
from ctxeng.harness.reports.sweep import front_of
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.stats.compare import position
from ctxeng.models import OFFLINE

HTML_NAME = "report.html"
MAX_BYTES = 5_000_000
SCRIPTS = ("blocks.js", "sorting.js", "cells.js", "path.js", "start.js")


def write_html(
    run: RunFolder, summary: Summary, path: Path, *, beside: Beside | None = None
) -> Path:
    """Write the report and return the file.

    Args:
        beside: what the page shows besides the run, where it is known.
    """
    draft = path.with_suffix(".draft")
    draft.write_text(render(run, summary, beside or Beside()), encoding="utf-8")
    draft.replace(path)
    return path


def render(run: RunFolder, summary: Summary, beside: Beside, *, max_bytes: int = MAX_BYTES) -> str:
    """Return the page; paths are left out where it would be longer than ``max_bytes``."""
    shown = _shown(run, summary, beside)
    page = _environment().get_template("report.html.j2")
    room = max_bytes - len(page.render(**shown, embedded=None).encode())
    return page.render(**shown, embedded=embed(run, room=room) if room > 0 else None)


def _shown(run: RunFolder, summary: Summary, beside: Beside) -> dict[str, Any]:
    """Return all that the template names, but for the packed cells and paths."""
    style = _asset("report.css")
    script = "\n".join(["'use strict';", *map(_asset, SCRIPTS)])
    front = front_of(run)
    return {
        "s": summary,
        "beside": beside,
        "money_grids": [*_cache_grids(run), *beside.economics],
        "all": ALL,
        "reference": summary.manifest["reference_arm"],
        "charts": charts,
        "front": [point.arm for point in front.front] if front else [],
        "inseparable": front.inseparable if front else [],
        "faults": faults(run),
        "max_faults": LIMIT,
        "loss_stages": stages_of(summary.loss_rows),
        "style": Markup(style),
        "script": Markup(script),
        "style_hash": _hash(style),
        "script_hash": _hash(script),
    }


def _cache_grids(run: RunFolder) -> list[Grid]:
    """Return the table of the reader's prompt cache, where the reader has one."""
    reader = run.manifest()["experiment"]["models"]["reader"]
    return [] if reader in (OFFLINE, "none") else [run_cache(run)]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pct"] = _percent
    environment.filters["bounds"] = _bounds
    environment.filters["words"] = lambda name: words(str(name))
    environment.filters["position"] = position
    environment.filters["numbered"] = numbered
    environment.filters["breaking"] = _breaking
    return environment


def _asset(name: str) -> str:
    return (files("ctxeng.harness.reports") / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _breaking(name: str) -> Markup:
    """Return the name of an arm that may break between the settings of a sweep."""
    return Markup(str(escape(name)).replace(",", ",<wbr>").replace("[", "[<wbr>"))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.0f}"


def _bounds(share: charts.Share) -> str:
    _, low, high = share
    return "" if low is None or high is None else f"{low * 100:.0f}–{high * 100:.0f}"
