"""The built-in strategies by name, and how an arm's overrides are laid over them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ctxeng.core.errors import SettingsError
from ctxeng.core.settings import StrategySettings

_ON = {"enabled": True}
_TABLES: dict[str, dict[str, dict[str, Any]]] = {
    "full_history": {"window": {"tokens": None}},
    "recent_window": {},
    "rolling": {"rolling": _ON},
    "hierarchical": {"hierarchy": _ON},
    "episodes": {"episodes": _ON},
    "episodes_memory": {"episodes": _ON, "memory": _ON},
    "retrieval": {"retrieval": _ON},
    "hybrid": {
        "rolling": _ON,
        "hierarchy": _ON,
        "episodes": _ON,
        "memory": _ON,
        "retrieval": _ON,
    },
}
BUILTIN: dict[str, StrategySettings] = {
    name: StrategySettings.model_validate(table) for name, table in _TABLES.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingFault:
    """What is wrong with a setting; ``location`` is empty for the strategy's name."""

    location: tuple[str, ...]
    message: str


def settings_for(
    strategy: str, overrides: Mapping[str, Mapping[str, Any]] | None = None
) -> StrategySettings:
    """Return a built-in strategy's settings with sections of overrides laid over them.

    Raises:
        SettingsError: an unknown strategy, section, key or value; one line a fault.
    """
    found = checked_settings(strategy, overrides or {})
    if isinstance(found, StrategySettings):
        return found
    raise SettingsError("\n".join(fault.message for fault in found))


def checked_settings(
    strategy: str, overrides: Mapping[str, Mapping[str, Any]]
) -> StrategySettings | list[SettingFault]:
    """Return the settings, or everything that is wrong with them."""
    if strategy not in _TABLES:
        near = difflib.get_close_matches(strategy, _TABLES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        known = ", ".join(_TABLES)
        message = f"strategy must be one of {known}, got {strategy!r}.{hint}"
        return [SettingFault(location=(), message=message)]
    merged: dict[str, Any] = {name: dict(values) for name, values in _TABLES[strategy].items()}
    faults: list[SettingFault] = []
    for section, values in overrides.items():
        if not isinstance(values, Mapping):
            message = f"{section} must be a table of settings, got {values!r}."
            faults.append(SettingFault(location=(section,), message=message))
            continue
        merged[section] = {**merged.get(section, {}), **values}
    try:
        settings = StrategySettings.model_validate(merged)
    except ValidationError as error:
        return [*faults, *map(_fault, error.errors())]
    return faults or settings


def _fault(detail: Mapping[str, Any]) -> SettingFault:
    parts = tuple(str(part) for part in detail["loc"])
    name = ".".join(parts)
    if detail["type"] == "extra_forbidden":
        known = _known_keys(list(parts[:-1]))
        near = difflib.get_close_matches(parts[-1], known, n=1)
        hint = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(known)}."
        return SettingFault(location=parts, message=f"{name} is not a known setting.{hint}")
    message = str(detail["msg"]).removeprefix("Value error, ")
    return SettingFault(location=parts, message=f"{name}: {message} (got {detail.get('input')!r}).")


def _known_keys(path: list[str]) -> list[str]:
    fields = StrategySettings.model_fields
    if not path:
        return list(fields)
    section = fields[path[0]].annotation if path[0] in fields else None
    return list(getattr(section, "model_fields", {}))
