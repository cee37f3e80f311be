"""The way of one fact through one arm, with the texts at each step: what was said, what the
compactor was given and wrote, what the search found, what was cut, the prompt and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from operator import is_
from typing import Any, Literal

import orjson

from ctxeng.harness.attribution.loss import LossStage
from ctxeng.harness.scoring.marks import Marked

_PLAIN = frozenset({str, int, float, bool})

Fate = Literal["in_prompt", "over_budget", "folded", "not_visible", "superseded", "not_loaded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message. ``is_evidence``: it states the fact or acknowledges it."""

    seq: int
    role: str
    speaker: str | None
    text: Marked
    is_evidence: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """An artifact that a compactor was given: the version it rewrote, a child, an episode."""

    artifact_id: str
    text: Marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a compactor was handed.

    Args:
        from_seq, to_seq: the range the result stands for; messages before it are overlap.
        handed: how many messages; ``messages`` holds them in order (of a brief path: those of the
            fact), their texts as handed, so shortened where ``cut_seqs`` names them.
        refused: answers that the guards did not accept, or errors, before the one that stands.
    """

    from_seq: int
    to_seq: int
    handed: int
    messages: tuple[Said, ...]
    earlier: tuple[Earlier, ...] = ()
    cut_seqs: tuple[int, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def holds(self) -> tuple[int, ...]:
        """Return the expected groups that something handed over meets."""
        texts = [*(m.text for m in self.messages), *(e.text for e in self.earlier)]
        return tuple(sorted({i for text in texts for i in text.holds}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An artifact that stands for the statement: its text with the values marked or absent.

    Args:
        given: None where the run does not tell.
        fate: what became of it when the prompt was built.
        states_it: a judge found the fact in it in other words; None: nobody was asked.
    """

    artifact_id: str
    kind: str
    level: int
    version: int
    from_seq: int
    to_seq: int
    visible_from_seq: int
    model: str
    text: Marked
    given: Given | None
    fate: Fate
    states_it: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A message the search scored. ``rank`` 1 is the best; ``terms`` are the parts of ``score``."""

    rank: int
    seq: int
    score: float
    terms: Mapping[str, float]
    text: Marked
    is_evidence: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What the gate decided and the search found.

    Args:
        matches: the best ones, and those of the evidence whatever their rank.
        groups: runs of messages that were handed to the builder, best first.
        evidence_rank: best rank of an evidence message; None: not among the ``considered``.
    """

    is_made: bool
    reasons: tuple[str, ...]
    considered: int
    matches: tuple[Match, ...]
    groups: tuple[tuple[int, ...], ...]
    evidence_rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutBlock:
    """Something that was loaded and is not in the prompt, and why. ``holds``: of the values."""

    kind: str
    reason: str
    tokens: int
    seqs: tuple[int, ...]
    artifact_ids: tuple[str, ...]
    holds: tuple[int, ...]
    is_of_fact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBlock:
    """One block of the final prompt, in order."""

    kind: str
    tokens: int
    seqs: tuple[int, ...]
    artifact_ids: tuple[str, ...]
    is_shortened: bool
    text: Marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the reader said, and who decided what about it."""

    text: Marked | None
    outcome: str
    literal_verdict: str | None
    literal_rule: str | None
    judge_verdict: str | None
    judged_by: str | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPath:
    """One fact, one arm, one replicate: everything between the statement and the verdict.

    Args:
        expect: groups of values; ``holds`` everywhere below are indices into it.
        statement: the evidence in its surroundings, in order of seq.
        written: artifacts that cover the statement, in order of rewriting.
        search: None for an arm that does not search.
        prompt: the blocks as sent, in order (of a brief path: those of the fact and the question),
            ``prompt_blocks`` how many there were; ``prompt_holds`` the groups its history meets.
        loss_stage: None where nothing was lost or nothing can be said; ``why`` says it in words.
    """

    run_id: str
    arm: str
    session_id: str
    probe_id: str
    replicate: int
    question: str
    kind: str
    answerable: bool
    expect: tuple[tuple[str, ...], ...]
    forbid: tuple[str, ...]
    as_of: int | None
    bucket: str
    arm_bucket: str
    flags: tuple[str, ...]
    statement: tuple[Said, ...]
    written: tuple[Written, ...]
    search: Search | None
    left_out: tuple[LeftOutBlock, ...]
    prompt: tuple[PromptBlock, ...]
    prompt_blocks: int
    prompt_holds: tuple[int, ...]
    prompt_tokens: int
    budget_tokens: int | None
    answer: Answer
    value_in_context: bool | None
    loss_stage: LossStage | None
    why: str

    def to_json(self) -> dict[str, Any]:
        """Return the path as plain JSON types: dicts, lists, texts, numbers, None."""
        plain: dict[str, Any] = orjson.loads(orjson.dumps(self))
        return plain

    def brief(self, *, characters: int = 600) -> FactPath:
        """Return the path without what is not of this fact, long texts cut around its values.

        For pages that show many paths: blocks of the prompt and messages handed to a compactor
        that neither hold a value nor are evidence are left out; their numbers stay.
        """
        evidence = {said.seq for said in self.statement if said.is_evidence}
        own = tuple(
            block
            for block in self.prompt
            if block.text.holds or block.kind == "question" or evidence & set(block.seqs)
        )
        short: FactPath = _brief(replace(self, prompt=own), characters)
        return short


def _brief(value: Any, characters: int) -> Any:
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Marked):
        return value.excerpt(characters)
    if isinstance(value, tuple):
        short = tuple([_brief(inner, characters) for inner in value])
        return value if all(map(is_, short, value)) else short
    if isinstance(value, Given):
        kept = tuple(m for m in value.messages if m.text.holds or m.is_evidence)
        return _brief_fields(replace(value, messages=kept), characters)
    return _brief_fields(value, characters) if is_dataclass(value) else value


def _brief_fields(value: Any, characters: int) -> Any:
    changes = {}
    for name in value.__dataclass_fields__:
        whole = getattr(value, name)
        short = _brief(whole, characters)
        if short is not whole:
            changes[name] = short
    return replace(value, **changes) if changes else value
