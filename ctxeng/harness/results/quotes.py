"""Which run folders hold certain words: every text of every table, and the pages beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ctxeng.harness.results.damage import naming_damaged


def quoting_runs(reports: Path, is_quoted: Callable[[str], bool]) -> list[Path]:
    """Return the run folders, finished or not, that hold a text for which ``is_quoted`` holds."""
    if not reports.is_dir():
        return []
    folders = sorted(folder for folder in reports.iterdir() if folder.is_dir())
    return [folder for folder in folders if any(map(is_quoted, texts(folder)))]


def texts(folder: Path) -> Iterator[str]:
    """Yield every distinct text of a run folder: string columns of its tables, HTML and JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for file in sorted(folder.rglob("*.parquet")):
        with naming_damaged([file]):
            table = pq.read_table(file)
        for field in table.schema:
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                yield from (t for t in table[field.name].unique().to_pylist() if t)
    for pattern in ("*.html", "*.json", "*.jsonl", "*.md"):
        for file in sorted(folder.rglob(pattern)):
            yield file.read_text("utf-8", errors="replace")
