"""Probes and their spans."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.probes.model import Probe, Span

spans = st.tuples(st.integers(0, 30), st.integers(0, 4)).map(
    lambda pair: Span(from_seq=pair[0], to_seq=pair[0] + pair[1])
)


def probe(*evidence: Span) -> Probe:
    """Return a probe with the evidence."""
    return Probe(
        probe_id="p",
        session_id="s",
        question="Which budget?",
        kind="number",
        evidence=evidence,
        expect=(("3,000",),),
    )


@pytest.mark.parametrize(
    ("first", "last", "seqs"), [(0, 0, (0,)), (3, 5, (3, 4, 5)), (7, 8, (7, 8)), (5, 4, ())]
)
def test_a_span_has_both_its_ends(first: int, last: int, seqs: tuple[int, ...]) -> None:
    """Both bounds are inclusive, as everywhere."""
    assert Span(from_seq=first, to_seq=last).seqs == seqs


def test_spans_sort_by_where_they_begin() -> None:
    """Order is by first seq, then by last."""
    ordered = [Span(from_seq=a, to_seq=b) for a, b in ((0, 9), (2, 3), (2, 5), (10, 10))]
    assert sorted(reversed(ordered)) == ordered


@given(st.lists(spans, max_size=5))
@settings(max_examples=50, deadline=None)
def test_evidence_seqs_are_the_union_in_order(evidence: list[Span]) -> None:
    """Overlapping spans count a message once."""
    seqs = probe(*evidence).evidence_seqs
    assert list(seqs) == sorted(set(seqs))
    assert set(seqs) == {seq for span in evidence for seq in span.seqs}


def test_a_probe_is_asked_at_the_end_unless_it_says_otherwise() -> None:
    """The defaults: accepted, answerable, asked when the session is over."""
    plain = probe()
    assert (plain.ask_at_seq, plain.status, plain.answerable) == (None, "accepted", True)
    assert plain.evidence_seqs == ()
    with pytest.raises(FrozenInstanceError):
        plain.question = "another"  # type: ignore[misc]
