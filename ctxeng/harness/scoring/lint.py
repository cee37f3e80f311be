"""Probe lint: what makes a probe measure something else than recall of one fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.scoring.presence import values_present
from ctxeng.harness.scoring.text import content_words, normal

Rule = Literal[
    "value_not_in_evidence", "value_elsewhere", "value_in_question", "near_copy_in_question",
    "no_evidence", "evidence_after_asking", "duplicate", "absent_with_value", "no_value",
    "evidence_in_window", "guessed_without_context", "few_probes",
]  # fmt: skip
REMEDIES: Mapping[Rule, str] = {
    "value_not_in_evidence": "Name the messages that state it (--fix, where there is one such "
    "message), or write the value as they do.",
    "value_elsewhere": "Add that message to the evidence, ask before it, or choose another fact.",
    "value_in_question": "Ask without the value.",
    "near_copy_in_question": "Ask in other words than the message.",
    "no_evidence": "Name the messages that state the fact.",
    "evidence_after_asking": "Ask later, or mend the evidence.",
    "duplicate": "Remove one of the two.",
    "absent_with_value": "Remove the value and the evidence, or make it answerable.",
    "no_value": "Add what a right answer must say.",
    "evidence_in_window": "Ask later, or choose an older fact.",
    "guessed_without_context": "Choose a value that cannot be guessed.",
    "few_probes": "Write more, see `ctxeng probes plan`.",
}
NEAR_COPY_SHARE = 0.8
NEAR_COPY_WORDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One fault of one probe.

    Args:
        probe_id: the probe, or the bucket that is too small.
        is_warning: told, but no reason to refuse the probe.
        where: ``file:line`` of the probe; empty where the probes came from no file.
    """

    probe_id: str
    rule: Rule
    detail: str
    is_warning: bool = False
    where: str = ""

    @property
    def remedy(self) -> str:
        """Return what to do about it."""
        return REMEDIES[self.rule]

    def line(self) -> str:
        """Return the finding as one line."""
        place = f"{self.where}: " if self.where else ""
        kind = "warning: " if self.is_warning else ""
        rule = self.rule.replace("_", " ")
        return f"{place}{self.probe_id}: {kind}{rule}: {self.detail}. {self.remedy}"


def lint(probes: Sequence[Probe], sessions: Iterable[Session]) -> list[LintFinding]:
    """Return every fault of every probe, in file order; empty when there is none.

    Rules that need a run (the value is guessed without context, the evidence stands in the recent
    window, too few probes in a bucket) are in :mod:`ctxeng.harness.results.probe_lint`.
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


def placed(
    findings: Iterable[LintFinding], file: str, lines: Mapping[str, int]
) -> list[LintFinding]:
    """Return findings with the place of each probe in its file."""
    return [
        replace(f, where=f"{file}:{lines[f.probe_id]}") if f.probe_id in lines else f
        for f in findings
    ]


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
    stated = [said_in(probe, m) for m in messages if m.seq in inside]
    faults = [
        _finding(
            probe, "value_not_in_evidence", f"{' | '.join(group)} (evidence seqs {_run(inside)})"
        )
        for group in probe.expect
        if not values_present([group], stated)
    ]
    if probe.kind != "speaker":
        faults += [
            _finding(probe, "value_elsewhere", f"also in seq {seq}")
            for seq in stated_in(probe, messages)
            if seq not in inside
        ]
        faults += _near_copies(probe, stated)
    return faults


def stated_in(probe: Probe, messages: Sequence[Message]) -> list[int]:
    """Return the seqs, up to the asking, of the messages that state every expected value."""
    last = probe.ask_at_seq if probe.ask_at_seq is not None else len(messages) - 1
    return [
        m.seq
        for m in messages
        if m.seq <= last and values_present(probe.expect, [said_in(probe, m)])
    ]


def _run(seqs: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(seqs)))


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


def said_in(probe: Probe, message: Message) -> str:
    """Return what a message says to a probe: its speaker as well where that is asked."""
    return f"{message.name}: {message.text}" if probe.kind == "speaker" else message.text


def _finding(probe: Probe, rule: Rule, detail: str) -> LintFinding:
    return LintFinding(probe_id=probe.probe_id, rule=rule, detail=detail)


def mended(probe: Probe, messages: Sequence[Message]) -> Probe | None:
    """Return a probe with the evidence that states its values, None where that is not mechanical.

    Only where the evidence named does not state them and exactly one message does; a frozen probe
    stays as it is.
    """
    if not probe.answerable or not probe.expect or probe.frozen is not None:
        return None
    inside = set(probe.evidence_seqs)
    stated = [said_in(probe, m) for m in messages if m.seq in inside]
    places = stated_in(probe, messages)
    if len(places) != 1 or all(values_present([group], stated) for group in probe.expect):
        return None
    return replace(probe, evidence=(Span(from_seq=places[0], to_seq=places[0]),))


def counts_by_rule(findings: Iterable[LintFinding]) -> Mapping[str, int]:
    """Return how many findings each rule has."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.rule] = counts.get(finding.rule, 0) + 1
    return dict(sorted(counts.items()))
