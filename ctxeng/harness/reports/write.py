"""Write a run's report files into its folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ctxeng.core.errors import InputError
from ctxeng.harness.reports.beside import Beside
from ctxeng.harness.reports.html import HTML_NAME, write_html
from ctxeng.harness.reports.plot import PICTURES, PNG_NAME, draw
from ctxeng.harness.reports.summary import Summary, summarise
from ctxeng.harness.results.run_folder import RunFolder

Format = Literal["html", "png", "svg"]


def write_report(
    run: RunFolder, summary: Summary | None = None, *, beside: Beside | None = None
) -> dict[str, Path]:
    """Write the HTML page and the plot; return every file of the run by what it is.

    Args:
        summary: of this run, where it has been computed already.
        beside: an earlier night, a trend, costs: what the page shows besides the run.

    Raises:
        InputError: the run's folder cannot be written.
    """
    summary = summary or summarise(run)
    with _writable(run):
        plot = draw(summary, "recall_by_position", run.path / PNG_NAME)
        page = write_html(run, summary, run.path / HTML_NAME, beside=beside)
    return {"html": page, "png": plot, "cells": run.table("cells"), "run": run.path}


def write_as(run: RunFolder, summary: Summary, form: Format) -> list[Path]:
    """Write the page, or every picture as PNG or SVG; return the files.

    Raises:
        InputError: the run's folder cannot be written.
    """
    with _writable(run):
        if form == "html":
            return [write_html(run, summary, run.path / HTML_NAME)]
        return [draw(summary, name, run.path / f"{name}.{form}") for name in PICTURES]


@contextmanager
def _writable(run: RunFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"run folder must be writable, got {run.path} ({error.strerror or error}). Free the "
            "space and run `ctxeng report` on it again; the tables are complete."
        ) from error
