"""Read the objects of a file that is one JSON value or JSON Lines, whichever it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxeng.harness.importers.model import Account
from ctxeng.harness.importers.source import Source
from ctxeng.harness.importers.values import listed
from ctxeng.harness.sessions.text import parse_json


def json_records(source: Source, account: Account) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield ``(place, object)``: line numbers of JSON Lines, positions from 1 in a JSON list.

    What is no object is skipped and reported, damaged lines too. A JSON file whose one value
    spans lines is read whole.
    """
    if _is_lines(source):
        yield from _from_lines(source, account)
        return
    for place, record in enumerate(listed(source.json), start=1):
        if isinstance(record, dict):
            yield place, record
        else:
            account.skip("not an object")
            account.note(f"entry {place} is a {type(record).__name__}", line=0)


def _is_lines(source: Source) -> bool:
    """Return whether the first line that is not blank is a JSON value by itself.

    One line alone is one value, but for a ``.jsonl`` file that holds one object.
    """
    is_named_so = source.path.suffix == ".jsonl"
    filled = (line for _, line in source.lines() if line.strip())
    first = next(filled, b"")
    try:
        value = parse_json(first)
    except ValueError:
        return is_named_so and bool(first)
    if is_named_so and isinstance(value, dict):
        return True
    return next(filled, None) is not None


def _from_lines(source: Source, account: Account) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except ValueError as error:
            account.damaged(line, error, line=number)
            continue
        if isinstance(record, dict):
            yield number, record
        else:
            account.skip("not an object")
            account.note(f"a {type(record).__name__} is no record", line=number)
