"""The error tree: drawn at the top of its file, and true."""

from __future__ import annotations

import inspect
import re

import pytest

from ctxeng.core import errors
from ctxeng.core.calls import Usage

CLASSES = [
    c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__
]


def drawn() -> dict[str, str]:
    """Return child and parent of every line of the drawing in the module's docstring."""
    parents: dict[str, str] = {}
    branch: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^([│├└─ ]*)([A-Z]\w+)(?:\s|$)", line)
        if found is None or not hasattr(errors, found[2]):
            continue
        depth = len(found[1]) // 4
        branch[depth:] = [found[2]]
        if depth:
            parents[found[2]] = branch[depth - 1]
    return parents


def test_the_drawing_shows_every_error_under_its_real_parent() -> None:
    """A reader of the docstring may rely on it for `except`."""
    real = {c.__name__: c.__base__.__name__ for c in CLASSES if c is not errors.CtxengError}
    assert drawn() == real


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: c.__name__)
def test_every_error_is_a_ctxeng_error_and_says_what_it_is_for(kind: type[Exception]) -> None:
    """One `except CtxengError` catches what is raised on purpose."""
    assert issubclass(kind, errors.CtxengError)
    assert (kind.__doc__ or "").strip()


def test_a_budget_that_is_too_small_names_both_numbers_and_the_remedy() -> None:
    """The message gives the rule, what was given, and what to do."""
    error = errors.BudgetTooSmall(budget_tokens=100, needed_tokens=250, detail="reserve 50")
    assert (error.budget_tokens, error.needed_tokens) == (100, 250)
    assert str(error) == (
        "budget.total_tokens must be at least 250, got 100 (reserve 50). "
        "Raise it, or shorten the system text or question."
    )
    assert "()" not in str(errors.BudgetTooSmall(budget_tokens=1, needed_tokens=2))


@pytest.mark.parametrize(
    ("detail", "expected"), [("", "empty"), ("90 tokens from 40", "empty: 90 tokens from 40")]
)
def test_a_refused_compaction_carries_its_reason_apart_from_the_detail(
    detail: str, expected: str
) -> None:
    """Reports count by reason."""
    error = errors.CompactionFailed("empty", detail)
    assert (error.reason, str(error)) == ("empty", expected)


def test_a_failed_call_may_tell_what_it_was_billed_for() -> None:
    """Useless answers cost money too; what is not known stays None."""
    error = errors.EmptyAnswer("no text")
    assert error.usage is None
    error.usage = Usage(input_tokens=3) + Usage(input_tokens=4, output_tokens=1)
    assert error.usage == Usage(input_tokens=7, output_tokens=1)
    assert errors.EmptyAnswer("another").usage is None


def test_usage_adds_up_kind_by_kind() -> None:
    """Cached, written and plain tokens are never mixed: each has its own price."""
    one = Usage(input_tokens=1, cached_tokens=2, cache_write_tokens=3, output_tokens=4)
    two = Usage(input_tokens=10, cached_tokens=20, cache_write_tokens=30, output_tokens=40)
    assert one + two == Usage(
        input_tokens=11, cached_tokens=22, cache_write_tokens=33, output_tokens=44
    )
    assert one + Usage() == one
