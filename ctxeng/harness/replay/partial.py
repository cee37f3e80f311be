"""Finished units of an unfinished replay: one small file each, so that a killed run resumes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from ctxeng.core.errors import InputError
from ctxeng.harness.replay.plan import content_key

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


class PartialRun:
    """A folder of finished units, named by the replay's content key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, *unit: str) -> dict[str, list[dict[str, Any]]] | None:
        """Return the rows of a finished unit, or None when it must be (re)played."""
        try:
            loaded: dict[str, list[dict[str, Any]]] = orjson.loads(self._file(unit).read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return None
        return loaded

    def save(self, rows: Rows, *unit: str) -> None:
        """Write a unit's rows; a reader sees all of them or none.

        Raises:
            InputError: the scratch folder cannot be written.
        """
        final = self._file(unit)
        draft = final.with_suffix(f".{os.getpid()}.draft")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(orjson.dumps(rows, default=str))
            os.replace(draft, final)
        except OSError as error:
            raise InputError(
                f"scratch folder must be writable, got {self._folder} ({error.strerror or error}). "
                "Free the space or name another workspace."
            ) from error

    def count(self, units: Sequence[tuple[str, ...]]) -> int:
        """Return how many of the units are finished."""
        return sum(1 for unit in units if self._file(unit).is_file())

    def has_all(self, units: Sequence[tuple[str, ...]]) -> bool:
        """Return whether every unit is finished."""
        return self.count(units) == len(units)

    def clear(self) -> None:
        """Remove the folder once the finished run is safely in place."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _file(self, unit: tuple[str, ...]) -> Path:
        return self._folder / f"{content_key(unit)}.json"
