"""Evidence recall, reciprocal rank, the tuning: numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ctxeng.core.errors import InputError
from ctxeng.core.settings import RetrievalSettings
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.ranking.evaluate import ks_of
from ctxeng.harness.ranking.recall import (
    Ranked,
    compared,
    evidence_recall,
    recall_rows,
    reciprocal_rank,
)
from ctxeng.harness.ranking.tuning import GRID, Weights, best_place, leave_one_out
from ctxeng.harness.stats.cluster import mean_interval


def ranked(session: str, kind: str, evidence: int, **rankings: list[int]) -> Ranked:
    """Return one probe with one evidence message and its rankings."""
    probe = Probe(
        probe_id=f"{session}{kind}{evidence}", session_id=session, question="?", kind=kind,  # type: ignore[arg-type]
        evidence=(Span(from_seq=evidence, to_seq=evidence),), expect=(("x",),),
    )  # fmt: skip
    return Ranked(probe=probe, rankings=rankings)


@pytest.mark.parametrize(
    ("ranking", "evidence", "k", "recall", "mrr"),
    [
        ([7, 3, 9], {3}, 1, 0.0, 0.0),
        ([7, 3, 9], {3}, 2, 1.0, 0.5),
        ([7, 3, 9], {3, 9}, 2, 0.5, 0.5),
        ([7, 3, 9], {9, 7, 1, 2}, 3, 0.5, 1.0),
        ([], {1}, 5, 0.0, 0.0),
    ],
)
def test_recall_is_the_share_of_evidence_among_the_first_k(
    ranking: list[int], evidence: set[int], k: int, recall: float, mrr: float
) -> None:
    """By hand; what ranks after k counts for neither number."""
    assert evidence_recall(ranking, evidence, k=k) == recall
    assert reciprocal_rank(ranking, evidence, k=k) == mrr


def test_rows_are_means_over_the_probes_of_a_category() -> None:
    """All probes first, then each category; by hand."""
    asked = [
        ranked("a", "date", 1, one=[1], two=[5, 1]),
        ranked("b", "date", 1, one=[2], two=[1]),
        ranked("b", "number", 4, one=[9, 4], two=[]),
    ]
    rows = {(r.method, r.category, r.k): (r.n, r.recall, r.mrr) for r in recall_rows(asked, ks=[2])}
    assert rows["one", "all", 2] == pytest.approx((3, 2 / 3, 0.5))
    assert rows["one", "date", 2] == pytest.approx((2, 0.5, 0.5))
    assert rows["two", "date", 2] == pytest.approx((2, 1.0, 0.75))
    assert rows["two", "number", 2] == (1, 0.0, 0.0)


def test_a_difference_is_paired_by_probe_and_worse_only_beyond_its_interval() -> None:
    """Every probe loses in every session: worse; lost in one of two sessions: not shown."""
    lost = [ranked(s, "date", 1, mine=[], other=[1]) for s in ("a", "b", "c")]
    (row, _) = compared(lost, "mine", ks=[5])
    assert (row.difference, row.is_worse) == (-1.0, True)
    mixed = [*lost[:1], ranked("b", "date", 1, mine=[1], other=[1])]
    assert not compared(mixed, "mine", ks=[5])[0].is_worse
    (alone, _) = compared(lost[:1], "mine", ks=[5])
    assert (alone.interval, alone.is_worse) == (None, False)


def test_the_interval_of_equal_clusters_is_students_t_of_their_means() -> None:
    """By hand: means 0 and 1, standard error 1/2, t(1) = 12.706."""
    found = mean_interval(np.array([0.0, 0.0, 1.0, 1.0]), ["a", "a", "b", "b"])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.5 - 6.353, 0.5 + 6.353), abs=1e-3)


def test_a_session_is_ranked_with_weights_tuned_on_the_others() -> None:
    """Each of two sessions is best at its own place of the grid: each gets the other's."""
    recalls = np.zeros((2, len(GRID)))
    recalls[0, 4], recalls[1, 10] = 1, 1
    assert leave_one_out(recalls, ["a", "b"]) == {"a": 10, "b": 4}
    assert leave_one_out(recalls[:1], ["a"]) == {"a": 4}
    assert best_place(np.ones((3, 21))) == 10


def test_the_grid_holds_the_searches_alone_and_the_default() -> None:
    """Tuning may turn every term off, and the default weights are one of its places."""
    table = RetrievalSettings()
    default = Weights(*(getattr(table, name) for name in Weights._fields))
    assert default in GRID
    assert {Weights(0.0), Weights(1.0)} <= set(GRID)
    assert len(set(GRID)) == len(GRID)


def test_ks_are_whole_numbers_in_order() -> None:
    """Sorted, each once; anything else is refused."""
    assert ks_of("20, 5,10,5") == [5, 10, 20]
    for bad in ("", "0", "5,", "-1", "a", "1.5", "５"):
        with pytest.raises(InputError):
            ks_of(bad)
