"""Presence: does a text hold the expected values? No model, no negation, no forbidden values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ctxeng.harness.scoring.matching import find, may_hold, value_of

Groups = Sequence[Sequence[str]]


def values_present(expect: Groups, texts: Iterable[str]) -> bool:
    """Return whether every group is met by any of its values in any of the texts."""
    missing = set(range(len(expect)))
    if not missing:
        return False
    for text in texts:
        missing -= {i for i in missing if any(_holds(value, text) for value in expect[i])}
        if not missing:
            return True
    return False


def groups_present(expect: Groups, text: str) -> frozenset[int]:
    """Return the groups that one text meets."""
    return frozenset(
        i for i, group in enumerate(expect) if any(_holds(value, text) for value in group)
    )


@lru_cache(maxsize=400_000)
def _holds(value: str, text: str) -> bool:
    read = value_of(value)
    return may_hold(read, text) and bool(find(read, text, exact_unit=True))
