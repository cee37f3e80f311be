"""Readers that do not read are named on the first screen, and recall keeps absent facts apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import duckdb
import pandas as pd
import pytest

from ctxeng.harness.probes.model import Probe
from ctxeng.harness.reports.answerers import answerer_notices
from ctxeng.harness.reports.recall import RecallRow, recall_rows
from ctxeng.harness.results.aggregates import Grouping, answer_counts, prepare, session_counts
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.outcome import outcome_of

COUNT = 12
STATED = [
    Probe(probe_id=f"p{i}", session_id=f"s{i % 4}", question=f"Which part is in slot {i}?",
          kind="identifier", expect=((f"KX-{7000 + i}",),))
    for i in range(COUNT)
]  # fmt: skip
ABSENT = [
    replace(probe, probe_id=f"a{i}", kind="absent", expect=(), answerable=False)
    for i, probe in enumerate(STATED[:4])
]
CONTEXT = " ".join(f"The part in slot {i} is KX-{7000 + i} and it is blue." for i in range(COUNT))


def cell(probe: Probe, answer: str, arm: str = "made") -> dict[str, Any]:
    """Return the cell that the scorer makes of an answer."""
    literal = score_literal(
        question=probe.question, kind=probe.kind, expect=probe.expect, forbid=(), answer=answer,
        answerable=probe.answerable,
    )  # fmt: skip
    return {
        "arm": arm, "session_id": probe.session_id, "probe_id": probe.probe_id, "replicate": 0,
        "answerable": probe.answerable, "bucket": "interior" if probe.answerable else "none",
        "distilled": False, "answer": answer, "verbose": literal.verbose,
        "literal_rule": literal.rule, "outcome": outcome_of(probe, literal, None).outcome,
        "value_in_context": False, "evidence_in_context": 0.0,
        "kind": probe.kind, "category": "", "language": "en", "depth": 0.5,
        "rounds": 0,
    }  # fmt: skip


def answered(reader: Callable[[Probe], str], arm: str = "made") -> list[dict[str, Any]]:
    """Return the cells of a reader over facts that were stated and facts that were not."""
    return [cell(probe, reader(probe), arm) for probe in [*STATED, *ABSENT]]


def notices_and_rows(cells: list[dict[str, Any]]) -> tuple[list[str], dict[str, RecallRow]]:
    """Return what a report says of the cells, and the rows of its recall table by bucket."""
    with duckdb.connect(":memory:") as connection:
        connection.register("cells", pd.DataFrame(cells))
        prepare(connection)
        counted = {name: session_counts(connection, name) for name in get_args(Grouping)}
        found = answerer_notices(answer_counts(connection))
    return found, {row.bucket: row for row in recall_rows(counted, ["made"])}


@pytest.mark.parametrize(
    ("reader", "told", "recall", "absent"),
    [
        (lambda probe: "It is not mentioned.", "16 of 16 answers are the same words", 0.0, 1.0),
        (lambda probe: CONTEXT, "16 of 16 answers are the same words", None, 0.0),
        (lambda probe: f"{probe.probe_id}: {CONTEXT}", "far longer than an answer", None, 0.0),
        (lambda probe: probe.question, "16 of 16 answers only repeat the question", 0.0, 0.0),
    ],
    ids=["constant", "dump", "own dump", "question"],
)
def test_a_reader_that_does_not_read_is_exposed(
    reader: Callable[[Probe], str], told: str, recall: float | None, absent: float
) -> None:
    """None of them is recalled, and the share of absent facts is told in a row of its own."""
    cells = answered(reader)
    if "repeat" in told:
        cells = [c for c in cells if c["answerable"]] + [c for c in cells if not c["answerable"]]
        told = told.replace("16 of 16", f"{COUNT} of {len(cells)}")
    (notice,), rows = notices_and_rows(cells)
    assert told in notice
    assert rows["all"].recall == recall
    assert rows["none"].recall == absent


def test_a_reader_that_answers_is_not_named() -> None:
    """Right answers, abstentions for absent facts, and the control without history are fine."""
    good = answered(lambda probe: probe.expect[0][0] if probe.expect else "UNKNOWN")
    assert notices_and_rows(good)[0] == []
    assert notices_and_rows(answered(lambda probe: "UNKNOWN", arm="none"))[0] == []
    assert notices_and_rows(answered(lambda probe: "UNKNOWN")[:9])[0] == []


def test_common_answers_are_counted_in_the_fullest_part_alone() -> None:
    """Of 2,000 answers 1,200 are equal but for case: counted whole; among 2,000 others none is."""
    spread = [cell(STATED[0], f"answer {number}", "spread") for number in range(2000)]
    most = [cell(STATED[0], "The Same." if n % 2 else " the same.", "most") for n in range(1200)]
    rest = [cell(STATED[0], f"answer {number}", "most") for number in range(800)]
    with duckdb.connect(":memory:") as connection:
        connection.register("cells", pd.DataFrame([*spread, *most, *rest]))
        rows = {row["arm"]: row for row in answer_counts(connection)}
    assert (rows["most"]["n"], rows["most"]["same"]) == (2000, 1200)
    assert rows["most"]["words"] == "the same."
    assert (rows["spread"]["n"], rows["spread"]["same"]) == (2000, 1)
