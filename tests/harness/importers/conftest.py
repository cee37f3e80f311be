"""Imports into a temporary folder, and files to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.messages import Message, Session
from ctxeng.harness.importers.run import ImportReport, import_paths
from ctxeng.harness.probes.io import read_probes
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.io import load_dataset


@dataclass(frozen=True, kw_only=True)
class Imported:
    """An import, read back from the disk."""

    report: ImportReport
    out: Path
    sessions: Mapping[str, Session]
    probes: Sequence[Probe]

    @property
    def session(self) -> Session:
        """Return the one session."""
        (one,) = self.sessions.values()
        return one

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the messages of the one session."""
        return self.session.messages

    @property
    def said(self) -> list[tuple[str, str]]:
        """Return role and words of every message of the one session."""
        return [(message.role, message.content) for message in self.messages]

    @property
    def findings(self) -> list[tuple[int, str]]:
        """Return line and words of every finding."""
        return [(f.line, f.what) for f in (*self.report.failures, *self.report.findings)]


Import = Callable[..., Imported]
Write = Callable[..., Path]


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    """Return a function that imports files into a fresh folder and reads the result back."""
    count = 0

    def run(format_name: str, *paths: Path, out: Path | None = None, **options: Any) -> Imported:
        nonlocal count
        count += 1
        folder = out or tmp_path / f"imported-{count}"
        report = import_paths(format_name, paths, folder, **options)
        assert report.balanced
        found = load_dataset([folder]) if report.sessions else []
        probes = folder / "probes.jsonl"
        return Imported(
            report=report,
            out=folder,
            sessions={session.session_id: session for session in found},
            probes=read_probes(probes) if probes.exists() else [],
        )

    return run


@pytest.fixture
def source(tmp_path: Path) -> Write:
    """Return a function that writes a file: bytes and text as they are, other values as JSON.

    Several values, or a name that ends in ``.jsonl``, make JSON Lines.
    """

    def write(*values: Any, name: str = "file.jsonl") -> Path:
        path = tmp_path / "given" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [_encoded(value) for value in values]
        path.write_bytes(b"\n".join(parts))
        return path

    return write


def _encoded(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8") if isinstance(value, str) else orjson.dumps(value)
