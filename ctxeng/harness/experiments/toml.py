"""Read an experiment file: ``extends``, typed checks, every fault at once with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ctxeng.core.errors import SettingsError
from ctxeng.harness.experiments.arms import arm_faults
from ctxeng.harness.experiments.schema import ExperimentFile

MAX_EXTENDS = 8
MAX_SHOWN = 400
_QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'[^']*')"""
_HEADER = re.compile(rf"\s*\[\[?((?:{_QUOTED}|[^\]\"'])+)\]")
_KEY = re.compile(rf"\s*((?:{_QUOTED}|[\w.\- \t])+?)\s*=")
_TOKEN = re.compile(
    r""""{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'|#[^\n]*|[\[\]{}\n]""",
    re.DOTALL,
)  # whatever may hold a bracket or end a line


def read_experiment(path: Path) -> ExperimentFile:
    """Return the checked content of an experiment file, ``extends`` merged in.

    Raises:
        SettingsError: the file is missing, is no TOML, or breaks the schema; one line a fault.
    """
    files = _chain(path)
    merged: dict[str, Any] = {}
    for file in reversed(files):
        merged = _deep_merge(merged, file.table)
    merged.pop("extends", None)
    experiment: ExperimentFile | None
    faults: list[str] = []
    try:
        experiment = ExperimentFile.model_validate(merged)
    except ValidationError as error:
        experiment = _without(merged, error)
        faults = [_fault(files, detail) for detail in error.errors()]
    for found in arm_faults(experiment) if experiment else ():
        faults.append(f"{_where(files, found.location)}: {found.message}")
    if faults or experiment is None:
        raise SettingsError("\n".join(faults))
    return experiment


def _without(merged: Mapping[str, Any], error: ValidationError) -> ExperimentFile | None:
    """Return the experiment without its faulty tables, so that its arms are checked all the same.

    None where the arms themselves are faulty.
    """
    faulty = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
    if faulty & {"arms", "sweeps"} or not merged.get("arms"):
        return None
    placeholders = {"name": "x", "sessions": ["x"], "probes": ["x"]}
    placeholders["reference_arm"] = next(iter(merged["arms"]))
    kept = {name: value for name, value in merged.items() if name not in faulty}
    try:
        return ExperimentFile.model_validate({**placeholders, **kept})
    except ValidationError:
        return None


def line_of(text: str, location: Sequence[str | int]) -> int:
    """Return the 1-based line where a dotted location is set; its table's line, or 1, if absent.

    Example:
        ``line_of('a = 1\\n[arms.x]\\nstrategy = "s"', ("arms", "x", "strategy"))`` → ``3``
    """
    return _find(text, location).line


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """One file of an ``extends`` chain."""

    path: Path
    text: str
    table: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Where a location is set; ``depth`` is how many of its keys stand there."""

    line: int
    depth: int


def _find(text: str, location: Sequence[str | int]) -> _Found:
    keys = tuple(part for part in location if isinstance(part, str))
    places = _places(text)
    for depth in range(len(keys), 0, -1):
        if line := places.get(keys[:depth]):
            return _Found(line=line, depth=depth)
    return _Found(line=1, depth=0)


@lru_cache(maxsize=MAX_EXTENDS + 1)
def _places(text: str) -> Mapping[tuple[str, ...], int]:
    """Return the line of every table and every key of a valid TOML text."""
    places: dict[tuple[str, ...], int] = {}
    table: list[str] = []
    for number, line in _statements(text):
        if header := _HEADER.match(line):
            here = table = _parts(header[1])
        elif key := _KEY.match(line):
            here = [*table, *_parts(key[1])]
        else:
            continue
        places.setdefault(tuple(here), number)
    return places


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line of every header and assignment of a valid text, with its number.

    Lines inside a list or a text of several lines look like either, and are neither.
    """
    number = start = 1
    depth, begin = 0, 0
    for token in _TOKEN.finditer(f"{text}\n"):
        found = token[0]
        depth += (found in ("[", "{")) - (found in ("]", "}"))
        number += found.count("\n")
        if found == "\n" and depth == 0:
            yield start, text[begin : token.start()].split("\n", 1)[0]
            start, begin = number, token.end()


def _parts(dotted: str) -> list[str]:
    """Return the keys of a dotted key, quotes and escapes read."""
    inner: Any = tomllib.loads(f"{dotted} = 0")
    parts = []
    while isinstance(inner, dict):
        ((key, inner),) = inner.items()
        parts.append(key)
    return parts


def _chain(path: Path) -> list[_File]:
    """Return the file and what it extends, nearest first."""
    files = [_read(path)]
    while (base := files[-1].table.get("extends")) is not None:
        at = files[-1].path
        if not isinstance(base, str):
            raise SettingsError(f"{at}: extends must be a file name, got {base!r}.")
        if len(files) > MAX_EXTENDS:
            raise SettingsError(f"extends must end, got a chain over {MAX_EXTENDS} files ({at}).")
        files.append(_read(at.parent / base))
    return files


def _read(path: Path) -> _File:
    try:
        text = path.read_text(encoding="utf-8-sig")
        return _File(path=path, text=text, table=tomllib.loads(text))
    except FileNotFoundError:
        raise SettingsError(
            f"experiment file must exist, got {path}. `ctxeng init DIR` lays out a workspace."
        ) from None
    except RecursionError:
        raise SettingsError(f"{path}: lists and tables must not stand so deep in others.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: must be a TOML file in UTF-8: {error}.") from None


def _deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = _deep_merge(old, value)
        else:
            result[key] = value
    return result


def _fault(files: Sequence[_File], detail: Mapping[str, Any]) -> str:
    """Return the fault with the file of the chain that sets the value, and its line there."""
    location = tuple(part for part in detail["loc"] if part != "[key]")
    name = _short(".".join(str(part) for part in location)) or "file"
    where = _where(files, location)
    if detail["type"] == "extra_forbidden":
        return f"{where}: {name} is not a known key. Remove it or correct its spelling."
    if detail["type"] == "missing":
        return f"{where}: {name} must be given."
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"{where}: {name}: {message} (got {_short(repr(detail.get('input')))})."


def _short(text: str) -> str:
    """Return text that fits a line: hostile characters escaped, the middle of a long one cut."""
    line = text if text.isprintable() else repr(text)
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN // 2]}…{line[-20:]}"


def _where(files: Sequence[_File], location: Sequence[str | int]) -> str:
    """Return ``file:line`` of the file of the chain that sets a value."""
    file = max(files, key=lambda file: _find(file.text, location).depth)
    return f"{file.path}:{line_of(file.text, location)}"
