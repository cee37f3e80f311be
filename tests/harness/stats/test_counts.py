"""Successes and trials by session."""

from __future__ import annotations

import numpy as np
import pytest

from ctxeng.harness.stats.counts import SessionCounts


def test_probes_are_added_up_by_session() -> None:
    """Sessions come in the order of their names, whatever the order of the probes."""
    counts = SessionCounts.of([("b", 1), ("a", 0), ("b", 0), ("b", 1), ("a", 1)])
    np.testing.assert_array_equal(counts.successes, [1, 2])
    np.testing.assert_array_equal(counts.trials, [2, 3])
    assert (counts.sessions, counts.n, counts.share) == (2, 5, 3 / 5)


def test_a_mean_over_replicates_is_one_trial() -> None:
    """Three replicates with one success make a third of a success, not three trials."""
    counts = SessionCounts.of([("a", 1 / 3), ("a", 1.0)])
    assert counts.n == 2
    assert counts.share == pytest.approx(2 / 3)


def test_without_probes_there_is_no_share() -> None:
    """An empty bucket has no recall: None, not 0."""
    counts = SessionCounts.of([])
    assert (counts.sessions, counts.n, counts.share) == (0, 0.0, None)


def test_session_names_may_be_any_text() -> None:
    """Names are keys, nothing more."""
    counts = SessionCounts.of([("会議", 1), ("회의", 0), ("", 1), ("a\x00", 1)])
    assert (counts.sessions, counts.share) == (4, 3 / 4)
