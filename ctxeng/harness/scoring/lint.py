"""Probe lint: what makes a probe measure something else than recall of one fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.presence import values_present
from ctxeng.harness.scoring.text import content_words, normal

Rule = Literal[
    "value_not_in_evidence", "value_elsewhere", "value_in_question", "near_copy_in_question",
    "no_evidence", "evidence_after_asking", "duplicate", "absent_with_value", "no_value",
]  # fmt: skip
NEAR_COPY_SHARE = 0.8
NEAR_COPY_WORDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One fault of one probe."""

    probe_id: str
    rule: Rule
    detail: str

    def line(self) -> str:
        """Return the finding as one line."""
        return f"{self.probe_id}: {self.rule.replace('_', ' ')}: {self.detail}"


def lint(probes: Sequence[Probe], sessions: Iterable[Session]) -> list[LintFinding]:
    """Return every fault of every probe, in file order; empty when there is none.

    Rules that need a run (the value is guessed without context, the evidence stands in the recent
    window) are read from a run's ``none`` control and buckets.
    """
    known = {session.session_id: session for session in sessions}
    found: list[LintFinding] = []
    asked: dict[tuple[str, str], str] = {}
    for probe in probes:
        found += _shape(probe)
        key = (probe.session_id, normal(probe.question))
        if key in asked:
            found.append(_finding(probe, "duplicate", f"asks the same as {asked[key]}"))
        asked.setdefault(key, probe.probe_id)
        session = known.get(probe.session_id)
        if session is not None and probe.answerable and probe.expect and probe.evidence:
            found += _against(probe, session.messages)
    return found


def _shape(probe: Probe) -> list[LintFinding]:
    faults = []
    if not probe.answerable:
        if probe.expect or probe.evidence:
            faults.append(_finding(probe, "absent_with_value", "it names a value or evidence"))
        return faults
    if not probe.evidence:
        faults.append(_finding(probe, "no_evidence", "an answerable probe names its messages"))
    if not probe.expect:
        faults.append(_finding(probe, "no_value", "an answerable probe expects a value"))
    for group in probe.expect:
        if probe.kind != "speaker" and values_present([group], [probe.question]):
            faults.append(_finding(probe, "value_in_question", " | ".join(group)))
    late = [s for s in probe.evidence_seqs if probe.ask_at_seq is not None and s > probe.ask_at_seq]
    if late:
        faults.append(_finding(probe, "evidence_after_asking", f"seq {late[0]}"))
    return faults


def _against(probe: Probe, messages: Sequence[Message]) -> list[LintFinding]:
    inside = set(probe.evidence_seqs)
    stated = [_said(probe, m) for m in messages if m.seq in inside]
    faults = [
        _finding(probe, "value_not_in_evidence", " | ".join(group))
        for group in probe.expect
        if not values_present([group], stated)
    ]
    last = probe.ask_at_seq if probe.ask_at_seq is not None else len(messages) - 1
    if probe.kind != "speaker":
        faults += [
            _finding(probe, "value_elsewhere", f"also in seq {m.seq}")
            for m in messages
            if m.seq not in inside and m.seq <= last and values_present(probe.expect, [m.text])
        ]
        faults += _near_copies(probe, stated)
    return faults


def _near_copies(probe: Probe, stated: Sequence[str]) -> list[LintFinding]:
    """A question that quotes its evidence; who-said-it questions must, and are left alone."""
    question = content_words(probe.question)
    copied = [
        words
        for text in stated
        if len(words := content_words(text)) >= NEAR_COPY_WORDS
        and len(words & question) >= NEAR_COPY_SHARE * len(words)
    ]
    detail = "it repeats its evidence"
    return [_finding(probe, "near_copy_in_question", detail)] if copied else []


def _said(probe: Probe, message: Message) -> str:
    return f"{message.name}: {message.text}" if probe.kind == "speaker" else message.text


def _finding(probe: Probe, rule: Rule, detail: str) -> LintFinding:
    return LintFinding(probe_id=probe.probe_id, rule=rule, detail=detail)


def counts_by_rule(findings: Iterable[LintFinding]) -> Mapping[str, int]:
    """Return how many findings each rule has."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.rule] = counts.get(finding.rule, 0) + 1
    return dict(sorted(counts.items()))
