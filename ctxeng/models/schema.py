"""Whether a tool's input keeps to its schema: the few words of JSON Schema that our tools use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def first_fault(value: Any, schema: Mapping[str, Any], *, where: str) -> str | None:
    """Return what is wrong with a value, None when it keeps to the schema.

    Checks type, enum, minimum and maximum, required and unknown keys, and items; the value itself
    is not repeated.

    Example:
        ``first_fault({}, {"type": "object", "required": ["a"]}, where="t")`` → ``"t must hold a"``
    """
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and not any(_is(value, kind) for kind in kinds):
        return f"{where} must be {' or '.join(kinds)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{where} must be one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, Mapping):
        return _in_object(value, schema, where)
    if isinstance(value, list | tuple):
        return _in_items(value, schema, where)
    return _out_of_range(value, schema, where)


def _in_object(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> str | None:
    missing = [key for key in schema.get("required", ()) if key not in value]
    if missing:
        return f"{where} must hold {', '.join(missing)}"
    properties: Mapping[str, Any] = schema.get("properties", {})
    if schema.get("additionalProperties") is False and not set(value) <= set(properties):
        return f"{where} must hold nothing but {', '.join(properties)}"
    faults = (
        first_fault(inner, properties[key], where=f"{where}.{key}")
        for key, inner in value.items()
        if key in properties
    )
    return next((fault for fault in faults if fault), None)


def _in_items(value: Sequence[Any], schema: Mapping[str, Any], where: str) -> str | None:
    items = schema.get("items", {})
    faults = (first_fault(inner, items, where=f"{where}[{i}]") for i, inner in enumerate(value))
    return next((fault for fault in faults if fault), None)


def _out_of_range(value: Any, schema: Mapping[str, Any], where: str) -> str | None:
    if not _is(value, "number"):
        return None
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and not value >= low:
        return f"{where} must be at least {low}"
    if high is not None and not value <= high:
        return f"{where} must be at most {high}"
    return None


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, ()))
