"""A run folder: written whole into a hidden folder, then renamed into place."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from ctxeng.core.errors import InputError
from ctxeng.harness.results.tables import SCHEMA_VERSION, TABLES, Row, write_table


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """A finished run on disk."""

    path: Path

    @property
    def run_id(self) -> str:
        """Return the run's id, which is the folder's name."""
        return self.path.name

    def table(self, name: str) -> Path:
        """Return the Parquet file of one table."""
        return self.path / f"{name}.parquet"

    def needed(self, name: str) -> Path:
        """Return the Parquet file of a table that must be there.

        Raises:
            InputError: the folder has no such table.
        """
        file = self.table(name)
        if not file.is_file():
            raise InputError(
                f"run folder must hold the table {file.name} for this, got none in {self.path}. "
                "Copy the folder whole, or run its experiment again."
            )
        return file

    def manifest(self) -> dict[str, Any]:
        """Return the manifest, with the experiment, versions, hashes and counts.

        Raises:
            InputError: it cannot be read, or lacks what every run writes.
        """
        loaded = self.loaded_manifest()
        try:
            _Manifest.model_validate(loaded)
        except ValidationError as error:
            detail = error.errors()[0]
            name = ".".join(map(str, detail["loc"]))
            raise self._unreadable(f"must hold {name}", str(detail["msg"])) from None
        return loaded

    def loaded_manifest(self) -> dict[str, Any]:
        """Return the manifest, whatever it holds.

        Raises:
            InputError: it cannot be read, or is no JSON object.
        """
        try:
            loaded = orjson.loads((self.path / "manifest.json").read_bytes())
        except (OSError, orjson.JSONDecodeError) as error:
            raise self._unreadable("must be readable JSON", str(error)) from None
        if not isinstance(loaded, dict):
            raise self._unreadable("must be a JSON object", type(loaded).__name__)
        return loaded

    def _unreadable(self, must: str, got: str) -> InputError:
        return InputError(
            f"a run's manifest {must}, got {got} ({self.path / 'manifest.json'}). "
            "Remove the run folder, or copy it again."
        )


class _Arm(BaseModel):
    control: str | None
    settings: dict[str, Any]


class _Experiment(BaseModel):
    models: dict[str, Any]


class _Counts(BaseModel):
    sessions: int
    cells: int
    outcomes: dict[str, int]


class _Manifest(BaseModel):
    """What every manifest holds, and every reader of one relies on."""

    run_id: str
    started_at: str
    experiment: _Experiment
    arms: dict[str, _Arm]
    reference_arm: str
    is_offline: bool
    counts: _Counts


def write_run(
    out: Path, *, manifest: Mapping[str, Any], tables: Mapping[str, Sequence[Row]]
) -> RunFolder:
    """Write every table and the manifest, atomically, and return the finished folder.

    Whatever goes wrong, nothing is left behind.

    Raises:
        InputError: the output folder cannot be written.
    """
    run_id = str(manifest["run_id"])
    final, draft = out / run_id, out / f".{run_id}.{os.getpid()}.draft"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        for name in TABLES:
            rows = [{**row, "run_id": run_id} for row in tables.get(name, ())]
            write_table(draft / f"{name}.parquet", name, rows)
        body = {"schema_version": SCHEMA_VERSION, **manifest}
        (draft / "manifest.json").write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
        os.replace(draft, final)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if not isinstance(error, OSError):
            raise
        raise InputError(
            f"output folder must be writable, got {out} ({error.strerror or error}). "
            "Name another with --out, or free the space; finished cells are kept for the next try."
        ) from error
    return RunFolder(path=final)


def check_writable(out: Path) -> None:
    """Make the output folder and write a byte to it, before any work is done.

    Raises:
        InputError: it cannot be made or written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out) as probe:
            probe.write(b"\0")
    except OSError as error:
        raise InputError(
            f"output folder must be writable, got {out} ({error.strerror or error}). "
            "Name another with --out, or free the space."
        ) from error


def open_run(name: str | Path, *, reports: Path) -> RunFolder:
    """Return a finished run by path, id, unique prefix of the id, or ``latest``.

    Runs of answers scored or judged again are passed over, unless they are named whole or nothing
    else fits: they begin with the id of the run that asked.

    Raises:
        InputError: there is no such run, or several.
    """
    direct = Path(name)
    if (direct / "manifest.json").is_file():
        return RunFolder(path=direct.resolve())
    runs = finished_runs(reports)
    asked = [run for run in runs if not is_derived(run)]
    if str(name) == "latest" and runs:
        return (asked or runs)[-1]
    found = [run for run in asked if run.run_id.startswith(str(name))]
    found = found or [run for run in runs if run.run_id.startswith(str(name))]
    exact = [run for run in runs if run.run_id == str(name)]
    if len(exact or found) == 1:
        return (exact or found)[0]
    fitting = found or runs
    known = ", ".join(run.run_id for run in reversed(fitting[-5:])) or "none"
    what, told = ("ambiguous", "It begins") if found else ("not a run", "Newest runs")
    raise InputError(
        f"run must be a run folder, an id under {reports} or 'latest', got {str(name)!r} ({what}). "
        f"{told}: {known}."
    )


def is_derived(run: RunFolder) -> bool:
    """Return whether a run holds another run's answers, scored or judged again."""
    return run.loaded_manifest().get("answers_from") is not None


def finished_runs(reports: Path) -> list[RunFolder]:
    """Return the finished runs under a folder, oldest first (by manifest time, then name)."""
    return sorted(
        run_folders(reports),
        key=lambda run: (str(run.loaded_manifest().get("started_at", "")), run.run_id),
    )


def run_folders(reports: Path) -> list[RunFolder]:
    """Return the folders under a folder that have a manifest, by name; none of it is read."""
    folders = [p for p in sorted(reports.glob("*")) if (p / "manifest.json").is_file()]
    return [RunFolder(path=p) for p in folders if not p.name.startswith(".")]
