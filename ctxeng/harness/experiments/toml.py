"""Read an experiment file: ``extends``, typed checks, every fault at once with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ctxeng.core.errors import SettingsError
from ctxeng.harness.experiments.schema import ExperimentFile

MAX_EXTENDS = 8


def read_experiment(path: Path) -> ExperimentFile:
    """Return the checked content of an experiment file, ``extends`` merged in.

    Raises:
        SettingsError: the file is missing, is no TOML, or breaks the schema; one line a fault.
    """
    merged = _merged(path, depth=0)
    merged.pop("extends", None)
    try:
        return ExperimentFile.model_validate(merged)
    except ValidationError as error:
        text = path.read_text(encoding="utf-8")
        faults = [_fault(path, text, detail) for detail in error.errors()]
        raise SettingsError("\n".join(faults)) from None


def line_of(text: str, location: Sequence[str | int]) -> int:
    """Return the 1-based line where a dotted location is set; its table's line, or 1, if absent.

    Example:
        ``line_of('a = 1\\n[arms.x]\\nstrategy = "s"', ("arms", "x", "strategy"))`` → ``3``
    """
    keys = [str(part) for part in location if isinstance(part, str)]
    best, depth_found, table = 1, 0, []
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\[?([^\]]+)\]", line):
            table = [part.strip().strip("\"'") for part in header[1].split(".")]
            here = table
        elif key := re.match(r"""\s*["']?([\w.\- ]+?)["']?\s*=""", line):
            here = [*table, *key[1].split(".")]
        else:
            continue
        if here == keys[: len(here)] and len(here) > depth_found:
            best, depth_found = number, len(here)
    return best


def _merged(path: Path, *, depth: int) -> dict[str, Any]:
    if depth > MAX_EXTENDS:
        raise SettingsError(f"extends must end, got a chain over {MAX_EXTENDS} files ({path}).")
    try:
        own = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise SettingsError(
            f"experiment file must exist, got {path}. `ctxeng init DIR` lays out a workspace."
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: must be a TOML file in UTF-8: {error}.") from None
    base = own.get("extends")
    if base is None:
        return own
    if not isinstance(base, str):
        raise SettingsError(f"{path}: extends must be a file name, got {base!r}.")
    return _deep_merge(_merged(path.parent / base, depth=depth + 1), own)


def _deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = _deep_merge(old, value) if both else value  # type: ignore[arg-type]
    return result


def _fault(path: Path, text: str, detail: Mapping[str, Any]) -> str:
    location = tuple(detail["loc"])
    name = ".".join(str(part) for part in location) or "file"
    line = line_of(text, location)
    if detail["type"] == "extra_forbidden":
        return f"{path}:{line}: {name} is not a known key. Remove it or correct its spelling."
    if detail["type"] == "missing":
        return f"{path}:{line}: {name} must be given."
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"{path}:{line}: {name}: {message} (got {detail.get('input')!r})."
