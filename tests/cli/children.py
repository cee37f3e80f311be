"""Runs in processes of their own that start at once: forked from one that has loaded everything."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import anthropic  # noqa: F401
import duckdb  # noqa: F401
import matplotlib.pyplot  # noqa: F401
import pandas  # noqa: F401
import pyarrow.parquet  # noqa: F401

import ctxeng.harness.experiments.launch
import ctxeng.harness.reports
import ctxeng.models.anthropic_client
import ctxeng.models.batches
import ctxeng.store  # noqa: F401
from ctxeng.cli import main

main.register()


def run_in_child(path: str, environment: dict[str, str], arguments: list[str]) -> None:
    """Run the command line quietly, as the target of a process that may be killed."""
    os.environ.update(environment)
    os.chdir(path)
    sys.argv = ["ctxeng", *arguments]
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        main.run()
