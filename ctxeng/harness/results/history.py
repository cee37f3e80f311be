"""The nightly history: one immutable Parquet file a night, in any folder.

A night's file holds its cells, without texts, and the conditions of its run in the file's own
metadata: a folder of such files, copied from anywhere, is a history. Files are written beside
their final name and renamed, each night under its own name, so that writers at the same moment
never meet and a killed one leaves nothing that is read.

History of the schema:
    1  first version
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ctxeng.core.errors import InputError
from ctxeng.harness.results.conditions import Conditions, conditions_of, obstacles
from ctxeng.harness.results.damage import fault_of, naming_damaged
from ctxeng.harness.results.run_folder import RunFolder, is_derived
from ctxeng.harness.results.tables import CELLS

HISTORY_VERSION = 1
KEPT = ("run_id", "arm", "is_control", "session_id", "probe_id", "replicate", "kind", "category",
        "language", "answerable", "bucket", "distilled", "value_in_context", "outcome",
        "loss_stage", "context_tokens")  # fmt: skip
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADES: dict[int, Upgrade] = {}  # from a version to the next: how its conditions are rewritten
_VERSION, _CONDITIONS = b"ctxeng.history_version", b"ctxeng.conditions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """Cells on disk with the conditions they were made under: a night, or a run."""

    file: Path
    conditions: Conditions

    @property
    def run_id(self) -> str:
        """Return the id of the run that made the cells."""
        return str(self.conditions["run_id"])

    @property
    def started_at(self) -> str:
        """Return when the run began, ISO 8601 in UTC."""
        return str(self.conditions["started_at"])


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Every readable night of a folder, oldest first, and what could not be read."""

    nights: tuple[Night, ...]
    damaged: tuple[str, ...] = ()

    def of(self, experiment: str) -> tuple[Night, ...]:
        """Return the nights of one experiment."""
        return tuple(n for n in self.nights if n.conditions.get("experiment") == experiment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The last comparable night, and why newer nights were passed over."""

    night: Night | None
    passed_over: tuple[str, ...]


def night_of(run: RunFolder) -> Night:
    """Return a finished run as a night.

    Raises:
        InputError: the folder holds no cells.
    """
    return Night(file=run.needed("cells"), conditions=conditions_of(run.manifest()))


def append_night(history: Path, run: RunFolder) -> Path:
    """Write a run into the history and return its file; the same run twice is one night.

    Raises:
        InputError: the folder cannot be written, or the run holds another run's answers, which
            would count them twice.
    """
    import pyarrow.parquet as pq

    if is_derived(run):
        raise InputError(
            f"a night must be a run that asked, got {run.run_id}, whose answers were scored again. "
            "Compare it with `ctxeng compare`."
        )
    conditions = conditions_of(run.manifest())
    with naming_damaged([run.needed("cells")]):
        table = pq.read_table(run.table("cells"), columns=list(KEPT))
    table = table.replace_schema_metadata(
        {_VERSION: str(HISTORY_VERSION), _CONDITIONS: orjson.dumps(conditions)}
    )
    final = history / f"{run.run_id}.parquet"
    draft = history / f".{run.run_id}.{os.getpid()}.{secrets.token_hex(4)}.draft"
    try:
        history.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, draft, compression="zstd", write_page_checksum=True)
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(draft, final)
    except BaseException as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise InputError(
            f"history folder must be writable, got {history} ({error.strerror or error}). "
            "Name another with --history; the run itself is complete."
        ) from error
    return final


def read_history(folder: Path) -> History:
    """Return every night under a folder and its subfolders, each run once.

    Raises:
        InputError: a file was written by a newer version of ctxeng.
    """
    nights: dict[str, Night] = {}
    damaged = []
    for file in sorted(folder.rglob("*.parquet")):
        if file.name.startswith("."):
            continue
        try:
            night = _read(file)
        except (OSError, ValueError, TypeError, KeyError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            damaged.append(f"{file}: {reason}")
        else:
            nights.setdefault(night.run_id, night)
    ordered = sorted(nights.values(), key=lambda night: (night.started_at, night.run_id))
    return History(nights=tuple(ordered), damaged=tuple(damaged))


def _read(file: Path) -> Night:
    """Return the night of a file; OSError, ValueError, TypeError or KeyError where it is none."""
    import pyarrow.parquet as pq

    if (fault := fault_of(file)) is not None:  # the cells too: nights are small
        raise ValueError(fault)
    metadata: Mapping[bytes, bytes] = pq.read_schema(file).metadata or {}
    if _CONDITIONS not in metadata:
        raise ValueError("no night of a history: its conditions are missing")
    version = int(metadata[_VERSION])
    if version > HISTORY_VERSION:
        raise InputError(
            f"{file}: history version must be at most {HISTORY_VERSION}, got {version}. "
            "Read it with the ctxeng that wrote it, or a newer one."
        )
    conditions = orjson.loads(metadata[_CONDITIONS])
    for step in range(version, HISTORY_VERSION):
        conditions = UPGRADES[step](conditions)
    named = {name: str(conditions[name]) for name in ("run_id", "started_at")}
    return Night(file=file, conditions={**conditions, **named})


def last_comparable(nights: Sequence[Night], tonight: Night) -> Found:
    """Return the newest earlier night made under comparable conditions.

    ``passed_over`` says for each newer night of the experiment what differs.
    """
    passed: list[str] = []
    for night in reversed(nights):
        is_earlier = (night.started_at, night.run_id) < (tonight.started_at, tonight.run_id)
        if not is_earlier or night.run_id == tonight.run_id:
            continue
        found = obstacles(night.conditions, tonight.conditions)
        if not found:
            return Found(night=night, passed_over=tuple(passed))
        passed.append(f"{night.run_id} is not comparable: {', '.join(found)}")
    return Found(night=None, passed_over=tuple(passed))


def kept_types() -> dict[str, str]:
    """Return the columns of a night with their types."""
    return {name: CELLS[name] for name in KEPT}
