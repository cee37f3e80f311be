"""Fusing scores: normalisation, weighted sums, reciprocal ranks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.retrieval.fusion import (
    convex,
    min_max,
    normalised,
    recency,
    reciprocal_rank,
    rerank,
)
from ctxeng.store import Hit

scores = st.dictionaries(st.integers(0, 20), st.floats(-5, 5), max_size=8)
shares = st.dictionaries(st.integers(0, 20), st.floats(0, 1), max_size=8)


def hits(given_scores: dict[int, float]) -> list[Hit]:
    """Return scores as the store would."""
    return [Hit(seq=seq, score=score) for seq, score in given_scores.items()]


@pytest.mark.parametrize(
    ("given_scores", "expected"),
    [
        ({}, {}),
        ({3: 4.0, 5: 1.0}, {3: 1.0, 5: 0.25}),
        ({3: 0.5}, {3: 1.0}),
        ({3: 2.0, 5: -1.0}, {3: 1.0, 5: 0.0}),
        ({3: 0.0, 5: -1.0}, {}),
    ],
)
def test_scores_divided_by_the_best(
    given_scores: dict[int, float], expected: dict[int, float]
) -> None:
    """The best score becomes 1, negative ones 0; without a positive one nothing is left."""
    assert normalised(hits(given_scores)) == expected


@pytest.mark.parametrize(
    ("given_scores", "expected"),
    [
        ({}, {}),
        ({3: 0.9}, {3: 1.0}),
        ({3: 0.9, 5: 0.1, 7: 0.5}, {3: 1.0, 5: 0.0, 7: 0.5}),
        ({3: 0.4, 5: 0.4}, {3: 1.0, 5: 1.0}),
        ({3: -0.5, 5: -1.0}, {3: 1.0, 5: 0.0}),
    ],
)
def test_scores_scaled_between_worst_and_best(
    given_scores: dict[int, float], expected: dict[int, float]
) -> None:
    """The best becomes 1, the worst 0; equal scores and a single hit are all best."""
    assert min_max(hits(given_scores)) == pytest.approx(expected)


@settings(max_examples=50, deadline=None)
@given(scores)
def test_normalised_scores_keep_the_order(given_scores: dict[int, float]) -> None:
    """Both normalisations stay within 0 and 1 and never put a worse hit before a better one."""
    for scaled in (normalised(hits(given_scores)), min_max(hits(given_scores))):
        assert all(0 <= share <= 1 for share in scaled.values())
        ranked = sorted(scaled, key=lambda seq: given_scores[seq])
        assert all(scaled[low] <= scaled[high] for low, high in itertools.pairwise(ranked))


def test_a_weighted_sum_by_hand() -> None:
    """A missing score counts as 0; each message says which terms it is the sum of."""
    named = {"semantic": {1: 1.0, 2: 0.5}, "lexical": {2: 1.0, 3: 0.2}}
    fused = convex(named, {"semantic": 0.45, "lexical": 0.55})
    assert [(f.seq, f.score) for f in fused] == [
        (2, pytest.approx(0.775)),  # 0.45 · 0.5 + 0.55 · 1
        (1, pytest.approx(0.45)),
        (3, pytest.approx(0.11)),
    ]
    assert fused[0].terms == {"semantic": 0.5, "lexical": 1.0}
    assert fused[1].terms == {"semantic": 1.0}


def test_a_search_without_a_weight_adds_nothing() -> None:
    """A name that has no weight counts as 0 and is still shown."""
    (fused,) = convex({"other": {4: 1.0}}, {})
    assert (fused.seq, fused.score, fused.terms) == (4, 0.0, {"other": 1.0})


@settings(max_examples=50, deadline=None)
@given(semantic=shares, lexical=shares, weight=st.floats(0, 1))
def test_a_convex_sum_stays_within_its_parts(
    semantic: dict[int, float], lexical: dict[int, float], weight: float
) -> None:
    """Every message is ranked once, best first, with a score between 0 and its best term."""
    fused = convex(
        {"semantic": semantic, "lexical": lexical}, {"semantic": weight, "lexical": 1 - weight}
    )
    assert sorted(f.seq for f in fused) == sorted(set(semantic) | set(lexical))
    assert [f.score for f in fused] == sorted((f.score for f in fused), reverse=True)
    for f in fused:
        assert 0 <= f.score <= max(f.terms.values()) + 1e-9


def test_a_message_is_ranked_with_its_surroundings() -> None:
    """Weights 0.2, 0.4 and 0.4 of the one before, the one after and the reference (by hand)."""
    fused = convex({"lexical": {3: 1.0, 4: 0.5, 7: 0.8}}, {"lexical": 1.0})
    ranked = rerank(
        fused, previous=0.2, following=0.4, reference=0.4, named={7: 1.0}, factors={3: 0.5}
    )
    assert [(one.seq, round(one.score, 6)) for one in ranked] == [
        (7, 0.6),  # (0.8 + 0.4) / 2
        (4, 0.35),  # (0.5 + 0.2 · 1) / 2
        (3, 0.3),  # (1 + 0.4 · 0.5) / 2 · 0.5
    ]
    assert ranked[0].terms == {"lexical": 0.8, "around": 0.0, "reference": 1.0}


@settings(max_examples=50, deadline=None)
@given(
    scores=st.dictionaries(st.integers(0, 9), st.floats(0, 1), max_size=8),
    weights=st.tuples(*[st.floats(0, 1)] * 3),
    named=st.sets(st.integers(0, 12)),
)
def test_reranked_scores_stay_within_one_and_add_no_message(
    scores: dict[int, float], weights: tuple[float, float, float], named: set[int]
) -> None:
    """A reference alone finds nothing: what no search found is not ranked."""
    previous, following, reference = weights
    ranked = rerank(
        convex({"s": scores}, {"s": 1.0}), previous=previous, following=following,
        reference=reference, named=dict.fromkeys(named, 1.0), factors={},
    )  # fmt: skip
    assert {one.seq for one in ranked} == scores.keys()
    assert all(0 <= one.score <= 1 + 1e-9 for one in ranked)


def test_reciprocal_ranks_by_hand() -> None:
    """Ranks begin at 1 and k is 60, as in Cormack, Clarke & Büttcher (2009); ties go by seq."""
    named = {"semantic": {1: 0.9, 2: 0.8}, "lexical": {2: 7.0, 3: 7.0}}
    fused = reciprocal_rank(named)
    assert [(f.seq, f.score) for f in fused] == [
        (2, pytest.approx(1 / 62 + 1 / 61)),
        (1, pytest.approx(1 / 61)),
        (3, pytest.approx(1 / 62)),
    ]
    assert reciprocal_rank(named, k=0)[0].score == pytest.approx(1.5)
    assert reciprocal_rank({"semantic": {}, "lexical": {}}) == []


@settings(max_examples=50, deadline=None)
@given(semantic=shares, factor=st.floats(0.5, 100))
def test_reciprocal_ranks_do_not_depend_on_the_scale(
    semantic: dict[int, float], factor: float
) -> None:
    """Only the order within each search counts, not how large its scores are."""
    apart = {seq: round(score, 3) for seq, score in semantic.items()}
    scaled = {seq: score * factor for seq, score in apart.items()}
    plain = [(f.seq, f.score) for f in reciprocal_rank({"a": apart})]
    assert [(f.seq, f.score) for f in reciprocal_rank({"a": scaled})] == plain


@pytest.mark.parametrize(
    ("seqs", "as_of", "expected"),
    [
        ([0, 5, 10], 10, {0: 0.0, 5: 0.5, 10: 1.0}),
        ([0], 0, {0: 1.0}),
        ([], 10, {}),
    ],
)
def test_recency_is_the_place_in_the_conversation(
    seqs: list[int], as_of: int, expected: dict[int, float]
) -> None:
    """0 for the first message, 1 for the one asked at; nothing later enters it."""
    assert recency(seqs, as_of=as_of) == expected
