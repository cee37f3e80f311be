"""A probe: a question about a fact stated in a session, with what a right answer must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ProbeKind = Literal[
    "preference",
    "rejection",
    "decision",
    "constraint",
    "identifier",
    "number",
    "date",
    "list",
    "order",
    "wording",
    "referent",
    "update",
    "speaker",
    "absent",
    "other",
]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Span:
    """A run of messages, both ends inclusive: a statement and its acknowledgement."""

    from_seq: int
    to_seq: int

    @property
    def seqs(self) -> tuple[int, ...]:
        """Return every seq of the span."""
        return tuple(range(self.from_seq, self.to_seq + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One question with its ruler.

    Args:
        expect: all of the groups must be met, each by any of its values.
        forbid: stale or opposite values that a right answer must not assert.
        evidence: spans that state the fact; empty only for kind ``absent``.
        ask_at_seq: last seq the asker has seen, inclusive; None means the end of the session.
        category: as imported from a foreign probe set, raw.
        status: ``draft`` probes are never run; ``accepted`` probes are frozen by ``frozen``.
    """

    probe_id: str
    session_id: str
    question: str
    kind: ProbeKind
    evidence: tuple[Span, ...] = ()
    expect: tuple[tuple[str, ...], ...] = ()
    forbid: tuple[str, ...] = ()
    answerable: bool = True
    ask_at_seq: int | None = None
    language: str = "und"
    author: str = ""
    status: Literal["draft", "accepted", "excluded"] = "accepted"
    category: str | None = None
    frozen: str | None = None
    note: str = ""

    @property
    def evidence_seqs(self) -> tuple[int, ...]:
        """Return all evidence seqs once, in order."""
        return tuple(sorted({seq for span in self.evidence for seq in span.seqs}))
