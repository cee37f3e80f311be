"""Probe lint: each rule finds its planted fault, and a sound probe passes all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.scoring.lint import LintFinding, counts_by_rule, lint

TEXTS = (
    "Good morning, let us plan the move.",
    "予算は三千円にしましょう。",
    "了解しました。",
    "The code name is Kestrel and nobody outside may know it.",
    "Noted.",
    "Anything else?",
)
SESSION = Session(
    session_id="s",
    messages=tuple(
        Message(
            seq=i,
            role="user" if i % 2 else "assistant",
            content=text,
            speaker="佐伯" if i == 1 else None,
        )
        for i, text in enumerate(TEXTS)
    ),
)
SOUND = Probe(
    probe_id="p",
    session_id="s",
    question="予算はいくらに決まりましたか？",
    kind="number",
    evidence=(Span(from_seq=1, to_seq=2),),
    expect=(("¥3,000",),),
)
NAMED = replace(
    SOUND,
    probe_id="q",
    question="What is the move called among us?",
    evidence=(Span(from_seq=3, to_seq=4),),
    expect=(("Kestrel",),),
)
ABSENT = Probe(probe_id="a", session_id="s", question="Who pays?", kind="absent", answerable=False)


def rules_of(*probes: Probe, session: Session = SESSION) -> list[str]:
    """Return the rules that the probes break, in order."""
    return [finding.rule for finding in lint(probes, [session])]


def with_message(seq: int, text: str) -> Session:
    """Return the session with one message changed."""
    changed = (replace(m, content=text) if m.seq == seq else m for m in SESSION.messages)
    return replace(SESSION, messages=tuple(changed))


def test_a_sound_probe_has_no_fault() -> None:
    """Values are compared by value, so other spellings in the evidence are fine."""
    assert lint([SOUND, NAMED, ABSENT], [SESSION]) == []


@pytest.mark.parametrize(
    ("probe", "rule"),
    [
        (replace(SOUND, expect=(("¥5,000",),)), "value_not_in_evidence"),
        (replace(NAMED, expect=(("Kestrel",), ("Falcon",))), "value_not_in_evidence"),
        (replace(SOUND, question="予算は3000円ですか？"), "value_in_question"),
        (replace(NAMED, question="What is KESTREL?"), "value_in_question"),
        (
            replace(NAMED, question="The code name, may nobody outside know it?"),
            "near_copy_in_question",
        ),
        (replace(SOUND, evidence=()), "no_evidence"),
        (replace(SOUND, expect=()), "no_value"),
        (replace(SOUND, ask_at_seq=1), "evidence_after_asking"),
        (replace(ABSENT, expect=(("Mira",),)), "absent_with_value"),
        (replace(ABSENT, evidence=(Span(from_seq=0, to_seq=0),)), "absent_with_value"),
    ],
)
def test_each_rule_finds_its_fault(probe: Probe, rule: str) -> None:
    """One planted fault gives one finding, named by its rule."""
    assert rules_of(probe) == [rule]


def test_a_value_stated_elsewhere_is_told_with_its_place() -> None:
    """A fact that stands twice measures nothing: the second place is named, in any spelling."""
    (finding,) = lint([SOUND], [with_message(5, "So 3,000円 it is?")])
    assert finding == LintFinding(probe_id="p", rule="value_elsewhere", detail="also in seq 5")
    assert finding.line().startswith("p: value elsewhere: also in seq 5. ")


def test_what_is_said_after_the_question_is_asked_does_not_count() -> None:
    """A repetition past ``ask_at_seq`` is not there yet when the probe is asked."""
    later = with_message(5, "3,000円ですね")
    assert rules_of(replace(SOUND, ask_at_seq=4), session=later) == []
    assert rules_of(replace(SOUND, ask_at_seq=5), session=later) == ["value_elsewhere"]


def test_who_said_it_is_found_in_the_speakers_name() -> None:
    """A speaker probe's value is the name, which may stand anywhere else and in the question."""
    said = replace(
        SOUND, kind="speaker", expect=(("佐伯",),), question="佐伯さんか誰が予算は三千円と言った？"
    )
    assert rules_of(said) == []
    assert rules_of(replace(said, evidence=(Span(from_seq=3, to_seq=3),))) == [
        "value_not_in_evidence"
    ]


def test_the_same_question_twice_is_a_duplicate_within_its_session() -> None:
    """Width and case do not make a question another one; another session does."""
    again = replace(NAMED, probe_id="r", question="WHAT is the move  called among us？")
    (finding,) = lint([NAMED, again], [SESSION])
    assert (finding.probe_id, finding.rule) == ("r", "duplicate")
    assert "q" in finding.detail
    assert rules_of(NAMED, replace(again, session_id="other")) == []


def test_a_probe_of_an_unknown_session_is_checked_by_its_shape_alone() -> None:
    """Without the messages only the probe itself can be at fault."""
    stray = replace(SOUND, session_id="elsewhere", expect=(("¥5,000",),))
    assert rules_of(stray) == []
    assert rules_of(replace(stray, evidence=())) == ["no_evidence"]


def test_findings_are_counted_by_rule() -> None:
    """The summary counts every rule once, in order of its name."""
    faulty = [
        replace(SOUND, expect=()),
        replace(NAMED, expect=()),
        replace(ABSENT, expect=(("x",),)),
    ]
    assert counts_by_rule(lint(faulty, [SESSION])) == {"absent_with_value": 1, "no_value": 2}
    assert counts_by_rule([]) == {}
