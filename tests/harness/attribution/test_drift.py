"""Drift, from tables put together by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxeng.core.artifacts import Artifact
from ctxeng.core.messages import Message, Session
from ctxeng.harness.attribution.drift import (
    Round,
    decay,
    drift_tables,
    rounds,
    stored_rounds,
    stored_wordings,
    wordings,
)
from ctxeng.harness.attribution.stored import StoredRun
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay.rows import artifact_rows, message_rows, probe_row
from tests.harness.attribution.made import artifact, messages, probe

FACT = "予算は $500 に決定"
SAID = messages(30, m7=FACT, m8="了解")


def stored(
    *made: Artifact, probes: tuple[Probe, ...] = (probe((7, 7)),), said: list[Message] = SAID
) -> StoredRun:
    """Return a run with one arm, one session and these artifacts."""
    about = {"arm": "a", "session_id": "s", "replicate": 0}
    tables: dict[str, list[dict[str, Any]]] = {
        "artifacts": [about | row for row in artifact_rows(made)],
        "messages": message_rows(Session(session_id="s", messages=tuple(said)), said),
        "probes": [probe_row(p) for p in probes],
    }
    return StoredRun(manifest={"arms": {"a": {"settings": {}}}}, tables=tables)


def version(number: int, last: int, text: str) -> Artifact:
    return artifact("rolling", 0, last, text, version=number)


def test_a_value_is_followed_from_version_to_version() -> None:
    """There in 1, gone in 2, back in 3; a version before the statement is no round of it."""
    made = [
        version(1, 5, "weather"), version(2, 9, FACT), version(3, 15, "weather"), version(4, 20, FACT),
    ]  # fmt: skip
    found = list(rounds(stored(*made)))
    assert [(one.round, one.is_present, one.was_present, one.is_dropped) for one in found] == [
        (1, True, None, False),
        (2, False, True, True),
        (3, True, False, False),
    ]
    first, second, third = decay(found)
    assert (first.n, first.present, first.share, first.at_risk) == (1, 1, 1.0, 0)
    assert (second.present, second.at_risk, second.dropped, second.regained) == (0, 1, 1, 0)
    assert (third.present, third.at_risk, third.dropped, third.regained) == (1, 0, 0, 1)
    assert (first.kept, second.kept, third.kept) == (1.0, 0.0, None)


def test_levels_of_a_tree_are_rounds() -> None:
    """A parent is a rewrite of its chunks; episodes are written once and have no rounds."""
    chunk, parent = artifact("node", 6, 11, FACT), artifact("node", 0, 17, "weather", level=1)
    found = list(rounds(stored(parent, chunk, artifact("episode", 6, 11, FACT))))
    assert [(one.kind, one.round, one.is_present) for one in found] == [
        ("node", 1, True),
        ("node", 2, False),
    ]


@pytest.mark.parametrize(
    "asked",
    [
        probe((7, 7), expect=(("five hundred dollars and no cents",),)),
        probe((7, 7), answerable=False),
        probe((7, 7), kind="speaker"),
        probe(),
        probe((7, 12)),
    ],
)
def test_facts_that_cannot_be_searched_for_have_no_rounds(asked: Probe) -> None:
    """Paraphrases, absent facts, who said it, and evidence no artifact covers whole."""
    made = artifact("node", 6, 11, FACT)
    assert list(rounds(stored(made, probes=(asked,)))) == []


def test_the_decay_curve_counts_facts_by_round() -> None:
    """Two sessions, by hand: 4 facts in round 1, of which 3 present; 2 in round 2, 1 present."""
    base = Round(
        arm="a", session_id="s1", replicate=0, probe_id="p1", kind="rolling", round=1,
        artifact_id="x", is_present=True, was_present=None,
    )  # fmt: skip
    found = [
        base,
        replace(base, probe_id="p2", is_present=False),
        replace(base, probe_id="p3", session_id="s2"),
        replace(base, probe_id="p4", session_id="s2"),
        replace(base, probe_id="p3", session_id="s2", round=2, was_present=True),
        replace(base, probe_id="p4", session_id="s2", round=2, was_present=True, is_present=False),
    ]
    first, second = decay(found)
    assert (first.round, first.n, first.present, first.share) == (1, 4, 3, 0.75)
    assert (second.round, second.n, second.share, second.at_risk, second.dropped) == (
        2, 2, 0.5, 2, 1,
    )  # fmt: skip
    assert (first.kept, second.kept) == (0.75, 0.375)
    assert first.low is not None and first.high is not None
    assert first.low < 0.75 < first.high


GERMAN = "Wir haben über das Budget gesprochen und die Farbe ist nicht mehr grün, es ist blau."
ENGLISH = "They talked about the budget and the colour is not green any more, it is blue."
JAPANESE = "予算について話し、色は緑ではなく青に決めました。"


@pytest.mark.parametrize(
    ("source", "text", "differs"),
    [
        (GERMAN, ENGLISH, True),
        (GERMAN, GERMAN, False),
        (JAPANESE, ENGLISH, True),
        (JAPANESE, JAPANESE, False),
        (ENGLISH, "KX-0014 $500", False),
    ],
)
def test_a_summary_in_another_language_is_told(source: str, text: str, differs: bool) -> None:
    """By language, not script alone: English for German is drift as well."""
    said = messages(6, **{f"m{seq}": source for seq in range(6)})
    (one,) = wordings(stored(artifact("episode", 0, 5, text), said=said))
    assert one.is_other_language is differs


def test_an_invented_value_counts_where_it_first_appears() -> None:
    """The second version carries the first one's invention on and adds one of its own."""
    made = [version(1, 9, f"{FACT}, order CB-77"), version(2, 15, f"{FACT}, order CB-77, €840")]
    first, second = wordings(stored(*made))
    assert (first.invented, first.values) == (("cb-77",), 2)
    assert (second.invented, second.values) == (("€840",), 3)


def test_what_is_said_later_is_no_invention() -> None:
    """Any message of the session may state it: the range is not what is checked."""
    (one,) = wordings(stored(artifact("episode", 0, 5, "$500")))
    assert one.invented == ()


def test_tables_give_back_what_was_found() -> None:
    """Rows of the tables are the values again."""
    run = stored(version(1, 9, f"{FACT}, CB-77"), version(2, 15, "weather"))
    tables = drift_tables(run)
    assert stored_rounds(tables["rounds"]) == list(rounds(run))
    assert stored_wordings(tables["wordings"]) == list(wordings(run))


def test_a_run_that_compacted_nothing_has_no_drift() -> None:
    """No artifacts: no rounds, no wordings."""
    assert drift_tables(stored()) == {"rounds": [], "wordings": []}
