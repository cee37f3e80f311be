"""Questions of foreign probe sets as probes, with their known label errors and their faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.model import Account
from ctxeng.harness.importers.source import Source
from ctxeng.harness.importers.values import listed, spans_of, text_of
from ctxeng.harness.probes.model import Probe, ProbeKind

ERRATA_NAME = "label_errata.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question as a probe set has it.

    Args:
        label: tells the question from others of its session where errata name it by its words.
        values: groups of values that a right answer must say; none for an abstention question.
        evidence: seqs that state the answer.
        fault: why the question cannot be asked, where the format says so.
    """

    probe_id: str
    session_id: str
    text: str
    values: Sequence[Sequence[str]] = ()
    evidence: Iterable[int] = ()
    is_absent: bool = False
    kind: ProbeKind = "other"
    forbid: Sequence[str] = ()
    category: str = ""
    language: str = "und"
    label: tuple[str, ...] = ()
    fault: str = ""


@dataclass(slots=True)
class Questions:
    """Turns the questions of one file into probes and accounts for each.

    A question without answer or evidence, or whose label is known to be wrong, is kept and marked
    ``excluded``: it is counted, shown with its reason, and never asked.
    """

    account: Account
    author: str
    errata: Errata

    def ask(self, question: Question) -> Iterable[Probe]:
        """Yield the question's probe; nothing, and a finding, where there are no words."""
        if not question.text.strip():
            self.account.skip("not a question")
            self.account.note(f"{question.probe_id} is no question")
            return
        self.account.take()
        seqs = sorted(set(question.evidence))
        values = tuple(group for group in map(_filled, question.values) if group)
        note = "" if question.is_absent else question.fault or _fault(values, seqs)
        note = note or self.errata.reason(question)
        if note:
            self.account.note(f"{question.probe_id}: excluded, {note}")
        yield Probe(
            probe_id=question.probe_id,
            session_id=question.session_id,
            question=question.text,
            kind="absent" if question.is_absent else question.kind,
            evidence=() if question.is_absent else spans_of(seqs),
            expect=() if question.is_absent else values,
            forbid=_filled(question.forbid),
            answerable=not question.is_absent,
            language=question.language,
            author=self.author,
            status="excluded" if note else "accepted",
            category=question.category or None,
            note=note,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Errata:
    """Known label errors: reasons by probe id, and by session and label."""

    by_id: Mapping[str, str] = field(default_factory=dict)
    by_label: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    @classmethod
    def beside(cls, path: Path) -> Errata:
        """Return the errata that lie in the same folder as a file; none where there are none.

        An entry is ``{"probe": id, "reason": why}``, or ``{"sample_id", "original", "corrected"}``
        as the corrected LoCoMo labels are published.

        Raises:
            DatasetError: the file is damaged.
        """
        errata = path.parent / ERRATA_NAME
        if not errata.exists():
            return cls()
        by_id: dict[str, str] = {}
        by_label: dict[tuple[str, ...], str] = {}
        for entry in listed(Source(errata).json):
            try:
                if "probe" in entry:
                    by_id[str(entry["probe"])] = f"known label error: {entry['reason']}"
                    continue
                key = (str(entry["sample_id"]), *label_of(entry["original"]))
                by_label[key] = _changed(entry["original"], entry.get("corrected"))
            except (KeyError, TypeError, AttributeError) as error:
                raise DatasetError(
                    "label errata must be a list of {probe, reason} or {sample_id, original, "
                    f"corrected}}, got an entry without {error} ({errata}). Mend the file or move "
                    "it away."
                ) from None
        return cls(by_id=by_id, by_label=by_label)

    def reason(self, question: Question) -> str:
        """Return why a question must not be asked, "" where nothing is known against it."""
        return self.by_id.get(question.probe_id) or self.by_label.get(
            (question.session_id, *question.label), ""
        )


def label_of(question: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the label of a question: its words, answer and evidence as published."""
    evidence = listed(question.get("evidence"))
    return (str(question.get("question")), str(question.get("answer")), *map(str, evidence))


def answer_values(value: Any) -> tuple[tuple[str, ...], ...]:
    """Return an answer as groups of values; a list is one group of alternatives."""
    if isinstance(value, list):
        return (tuple(text_of(one) for one in value),)
    return ((text_of(value),),)


def _filled(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(value for value in values if value.strip())


def _changed(original: Mapping[str, Any], corrected: Mapping[str, Any] | None) -> str:
    if not corrected:
        return "known label error: withdrawn"
    changed = [key for key in original if original[key] != corrected.get(key)]
    return f"known label error: {', '.join(changed) or 'label'} corrected"


def _fault(values: Sequence[Sequence[str]], evidence: Sequence[int]) -> str:
    if not values:
        return "no answer is given"
    return "" if evidence else "no evidence is given"
