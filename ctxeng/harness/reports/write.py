"""Write a run's report files into its folder."""

from __future__ import annotations

from pathlib import Path

from ctxeng.core.errors import InputError
from ctxeng.harness.reports.html import HTML_NAME, write_html
from ctxeng.harness.reports.plot import PNG_NAME, plot_recall
from ctxeng.harness.reports.summary import Summary, summarise
from ctxeng.harness.results.run_folder import RunFolder


def write_report(run: RunFolder, summary: Summary | None = None) -> dict[str, Path]:
    """Write the HTML page and the plot; return every file of the run by what it is.

    Args:
        summary: of this run, where it has been computed already.

    Raises:
        InputError: the run's folder cannot be written.
    """
    summary = summary or summarise(run)
    try:
        plot = plot_recall(summary, run.path / PNG_NAME)
        page = write_html(summary, plot, run.path / HTML_NAME)
    except OSError as error:
        raise InputError(
            f"run folder must be writable, got {run.path} ({error.strerror or error}). Free the "
            "space and run `ctxeng report` on it again; the tables are complete."
        ) from error
    return {"html": page, "png": plot, "cells": run.table("cells"), "run": run.path}
