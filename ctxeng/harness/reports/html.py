"""The one-page report: a single file without scripts, every text escaped."""

from __future__ import annotations

import base64
from importlib.resources import files
from pathlib import Path

from jinja2 import DictLoader, Environment, StrictUndefined

from ctxeng.harness.reports.losses import stages_of
from ctxeng.harness.reports.recall import ALL
from ctxeng.harness.reports.summary import Summary

HTML_NAME = "report.html"


def write_html(summary: Summary, plot: Path, path: Path) -> Path:
    """Write the report beside its plot (which it carries inside) and return the file."""
    template = (files("ctxeng.harness.reports") / "templates" / "report.html.j2").read_text("utf-8")
    environment = Environment(
        loader=DictLoader({"report": template}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pct"] = _percent
    page = environment.get_template("report").render(
        s=summary,
        all=ALL,
        loss_stages=stages_of(summary.loss_rows),
        image=base64.b64encode(plot.read_bytes()).decode(),
        reference=summary.manifest["reference_arm"],
    )
    draft = path.with_suffix(".draft")
    draft.write_text(page, encoding="utf-8")
    draft.replace(path)
    return path


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.0f}"
