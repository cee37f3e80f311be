"""The built-in strategies by name, and how an arm's overrides are laid over them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
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


def settings_for(
    strategy: str, overrides: Mapping[str, Mapping[str, Any]] | None = None
) -> StrategySettings:
    """Return a built-in strategy's settings with sections of overrides laid over them.

    Raises:
        SettingsError: an unknown strategy, section, key or value; one line a fault.
    """
    if strategy not in _TABLES:
        near = difflib.get_close_matches(strategy, _TABLES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise SettingsError(
            f"strategy must be one of {', '.join(_TABLES)}, got {strategy!r}.{hint}"
        )
    merged: dict[str, Any] = {name: dict(values) for name, values in _TABLES[strategy].items()}
    faults = []
    for section, values in (overrides or {}).items():
        if not isinstance(values, Mapping):
            faults.append(f"{section} must be a table of settings, got {values!r}.")
            continue
        merged[section] = {**merged.get(section, {}), **values}
    try:
        settings = StrategySettings.model_validate(merged)
    except ValidationError as error:
        faults += [_fault(detail) for detail in error.errors()]
    if faults:
        raise SettingsError("\n".join(faults))
    return settings


def _fault(detail: Mapping[str, Any]) -> str:
    parts = [str(part) for part in detail["loc"]]
    name = ".".join(parts)
    if detail["type"] == "extra_forbidden":
        known = _known_keys(parts[:-1])
        near = difflib.get_close_matches(parts[-1], known, n=1)
        hint = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(known)}."
        return f"{name} is not a known setting.{hint}"
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"{name}: {message} (got {detail.get('input')!r})."


def _known_keys(path: list[str]) -> list[str]:
    fields = StrategySettings.model_fields
    if not path:
        return list(fields)
    section = fields[path[0]].annotation if path[0] in fields else None
    return list(getattr(section, "model_fields", {}))
