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
    """Return whether the first line that is not blank is a JSON object by itself."""
    for _, line in source.lines():
        if line.strip():
            try:
                return isinstance(parse_json(line), dict) and not _is_alone(source)
            except ValueError:
                return source.path.suffix == ".jsonl"
    return False


def _is_alone(source: Source) -> bool:
    """Return whether a ``.json`` file holds one line only: then it is one value."""
    if source.path.suffix == ".jsonl":
        return False
    return sum(1 for _, line in source.lines() if line.strip()) == 1


def _from_lines(source: Source, account: Account) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except ValueError as error:
            account.skip("damaged line")
            account.note(f"damaged line: {error}", line=number)
            continue
        if isinstance(record, dict):
            yield number, record
        else:
            account.skip("not an object")
            account.note(f"a {type(record).__name__} is no record", line=number)
