"""Reports of a finished run: terminal, one-page HTML, plot, JSON rows."""

from ctxeng.harness.reports import terminal
from ctxeng.harness.reports.write import write_report

__all__ = ["terminal", "write_report"]
