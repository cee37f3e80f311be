"""Reports of a finished run: terminal, one-file HTML, pictures, JSON rows."""

from ctxeng.harness.reports import terminal
from ctxeng.harness.reports.write import write_as, write_report

__all__ = ["terminal", "write_as", "write_report"]
