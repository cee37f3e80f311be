"""What may differ between two runs, and what forbids comparing them."""

from __future__ import annotations

import pytest

from ctxeng.harness.results.conditions import differences, error_share, obstacles


@pytest.mark.parametrize(
    ("name", "forbids"),
    [
        ("hashes.probes", True), ("hashes.sessions", True), ("hashes.scorer", True),
        ("models.judge", True), ("models.reader", False), ("arms.a", False), ("hashes.source", False),
    ],
)  # fmt: skip
def test_only_questions_grading_and_judge_must_be_equal(name: str, forbids: bool) -> None:
    """Models, strategies and code are what a comparison is about."""
    section, key = name.split(".")
    before, after = {section: {key: "old"}}, {section: {key: "new"}}
    assert differences(before, after) == [f"{name}: old → new"]
    assert bool(obstacles(before, after)) is forbids


def test_a_session_that_changed_is_named() -> None:
    """Hashes of sessions are compared one by one."""
    before = {"hashes": {"sessions": {"a": "1", "b": "2"}}}
    after = {"hashes": {"sessions": {"a": "1", "c": "3"}}}
    assert obstacles(before, after) == ["sessions (2 differ: b, c)"]
    after["hashes"]["sessions"] |= dict.fromkeys("defg", "4")
    assert obstacles(before, after) == ["sessions (6 differ)"]


def test_what_forbids_to_compare_is_short() -> None:
    """Counts where they differ; of a hash eight characters, and nothing of what may differ."""
    before, after = (
        {
            "counts": {"probes": n, "sessions": m},
            "hashes": {
                "probes": digit * 64,
                "sessions": {f"s{i}-{digit}": digit * 64 for i in range(m)},
                "scorer": digit * 64,
                "source": digit * 64,
            },
            "models": {"judge": judge, "extra": {"judge": {"effort": digit}}},
        }
        for n, m, digit, judge in ((315, 14, "a", "offline"), (1, 1, "b", "made-1"))
    )
    assert obstacles(before, after) == [
        "probes (315 and 1)", "sessions (14 and 1)", "scorer (aaaaaaaa → bbbbbbbb)",
        "judge (offline → made-1)", "the judge's settings (1 differs: effort)",
    ]  # fmt: skip
    assert "hashes.source: aaaaaaaa → bbbbbbbb" in differences(before, after)


def test_when_and_where_a_run_was_made_is_no_condition() -> None:
    """Ids, times and counts always differ."""
    before = {"run_id": "a", "started_at": "1", "counts": {"cells": 1}}
    assert differences(before, {"run_id": "b", "started_at": "2", "counts": {"cells": 2}}) == []


def test_changes_are_those_of_the_arms_in_question() -> None:
    """What is no arm is told always."""
    before = {"arms": {"a": {"size": 1}, "b": {"size": 1}}, "models": {"reader": "x"}}
    after = {"arms": {"a": {"size": 2}, "b": {"size": 2}}, "models": {"reader": "y"}}
    assert differences(before, after, arms=["a"]) == ["arms.a.size: 1 → 2", "models.reader: x → y"]


def test_long_values_are_cut() -> None:
    """One line stays one line."""
    (line,) = differences({"x": "w" * 100}, {"x": "b"})
    assert line == f"x: {'w' * 39}… → b"


@pytest.mark.parametrize(
    ("counts", "share"),
    [
        ({"cells": 200, "outcomes": {"error": 3}}, 0.015),
        ({"cells": 5, "outcomes": {}}, 0.0),
        ({}, 1.0),
    ],
)
def test_the_share_of_errors(counts: dict[str, object], share: float) -> None:
    """A run without cells is all errors: nothing passes on it."""
    assert error_share({"counts": counts}) == share
