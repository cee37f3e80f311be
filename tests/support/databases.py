"""Remove what a test's workspace left outside it: the embedded server's data, when run as root."""

from __future__ import annotations

import shutil
from pathlib import Path


def remove_database(workspace: Path) -> None:
    """Remove the database of a workspace that no process uses any more."""
    note = workspace / ".ctxeng" / "database-location.txt"
    if note.is_file():
        shutil.rmtree(note.read_text("utf-8").strip(), ignore_errors=True)
