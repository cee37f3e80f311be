"""Where expected and forbidden values stand, when one lies within the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxeng.harness.scoring.found import _outside
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.matching import Found

PLACES = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 5)).map(lambda p: Found(p[0], p[0] + p[1])),
    max_size=8,
)


@given(places=PLACES, longer=PLACES)
def test_places_within_a_longer_one_are_left_out(places: list[Found], longer: list[Found]) -> None:
    """As told pair by pair: within another one, and shorter than it."""
    kept = [
        p
        for p in places
        if not any(
            o.start <= p.start and p.end <= o.end and o.end - o.start > p.end - p.start
            for o in longer
        )
    ]
    assert _outside(places, longer) == kept


def test_an_answer_of_both_values_over_and_over_is_still_scored() -> None:
    """Pair by pair forty thousand places took more than half a minute."""
    said = score_literal(
        question="Which?",
        kind="other",
        expect=[["x"]],
        forbid=["y"],
        answer="not y but x " * 20_000,
    )
    assert said.rule == "verbose_answer"
