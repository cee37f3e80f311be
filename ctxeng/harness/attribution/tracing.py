"""Build the path of a fact from what a run stored. No model is asked, no database opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import orjson

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.core.messages import Message
from ctxeng.harness.attribution.inputs import tries_of
from ctxeng.harness.attribution.loss import LossStage
from ctxeng.harness.attribution.path import (
    Answer,
    Earlier,
    FactPath,
    Fate,
    Given,
    LeftOutBlock,
    Match,
    PromptBlock,
    Said,
    Search,
    Written,
)
from ctxeng.harness.attribution.stored import StoredRun, unit_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.results.tables import Row
from ctxeng.harness.scoring.marks import Marked, marked

AROUND = 2  # messages shown before and after the statement
BEST_MATCHES = 10
FLAGS = ("distilled", "tail", "retrieved", "evicted", "verbose", "audited")

WHY: Mapping[LossStage | None, str] = {
    None: "Not lost, or nothing can be said.",
    "never_reached": "No compactor was given it by the time of the question, and nothing else "
    "brought it into the prompt.",
    "lost_in_summary": "The artifact that covers the statement was written without the value.",
    "lost_in_rewrite": "It was in an earlier version or a lower level; what was loaded lacks it.",
    "lost_in_distillation": "The episode held it and gave way to a memory that does not.",
    "not_loaded": "An artifact holds it and was not loaded: late, stale or hidden.",
    "gated": "The gate decided that this question needs no search.",
    "not_retrieved": "The search was made and did not bring the statement back.",
    "deduplicated": "It was found, and dropped as a copy of something shown.",
    "over_budget": "It was loaded, and cut to fit the token budget.",
    "reader_missed": "It was in the prompt, and the answer does not have it.",
}


def fact_paths(
    stored: StoredRun, cells: Sequence[Row] | None = None, *, only_lost: bool = False
) -> Iterator[FactPath]:
    """Yield the path of each cell (of all cells by default), in the order of the table.

    Args:
        only_lost: leave out cells without a loss stage.
    """
    for cell in stored.cells if cells is None else cells:
        if cell["loss_stage"] or not only_lost:
            yield fact_path(stored, cell)


def fact_path(stored: StoredRun, cell: Row) -> FactPath:
    """Return the path of one cell of the run.

    Raises:
        KeyError: the run's probes table does not hold the cell's probe.
    """
    probe = stored.probes[cell["session_id"], cell["probe_id"]]
    context = stored.context(cell)
    said = stored.messages.get(cell["session_id"], ())
    stage = cell["loss_stage"]
    return FactPath(
        run_id=cell["run_id"],
        arm=cell["arm"],
        session_id=cell["session_id"],
        probe_id=cell["probe_id"],
        replicate=cell["replicate"],
        question=probe.question,
        kind=probe.kind,
        answerable=probe.answerable,
        expect=probe.expect,
        forbid=probe.forbid,
        as_of=context.as_of if context else None,
        bucket=cell["bucket"],
        arm_bucket=cell["arm_bucket"],
        flags=tuple(name for name in FLAGS if cell[name]),
        statement=_statement(probe, said),
        written=_written(stored, cell, probe, context),
        search=_search(stored, cell, probe, context, said),
        left_out=_left_out(stored, cell, probe, context, said) if context else (),
        prompt=_prompt(probe, context) if context else (),
        prompt_blocks=len(context.blocks) if context else 0,
        prompt_holds=_prompt_holds(probe, context) if context else (),
        prompt_tokens=cell["context_tokens"],
        budget_tokens=context.budget_tokens if context else None,
        answer=_answer(probe, cell),
        value_in_context=cell["value_in_context"],
        loss_stage=stage,
        why=WHY[stage if stage in get_args(LossStage) else None],
    )


def _said(message: Message, probe: Probe, text: str | None = None) -> Said:
    return Said(
        seq=message.seq,
        role=message.role,
        speaker=message.speaker,
        text=marked(message.text if text is None else text, probe.expect),
        is_evidence=message.seq in probe.evidence_seqs,
    )


def _statement(probe: Probe, said: Sequence[Message]) -> tuple[Said, ...]:
    near = {
        seq
        for span in probe.evidence
        for seq in range(span.from_seq - AROUND, span.to_seq + AROUND + 1)
    }
    return tuple(_said(message, probe) for message in said if message.seq in near)


def _written(
    stored: StoredRun, cell: Row, probe: Probe, context: Context | None
) -> tuple[Written, ...]:
    made = stored.artifacts(*unit_of(cell))
    order = {"rolling": 0, "node": 1, "episode": 2, "memory": 3}
    covering = [a for a in made if any(map(a.covers, probe.evidence_seqs))]
    covering.sort(key=lambda a: (order[a.kind], a.level, a.from_seq, a.version))
    judged = stored.paraphrases(cell)
    return tuple(
        Written(
            artifact_id=a.artifact_id,
            kind=a.kind,
            level=a.level,
            version=a.version,
            from_seq=a.from_seq,
            to_seq=a.to_seq,
            visible_from_seq=a.visible_from_seq,
            model=a.model,
            text=marked(a.text, probe.expect),
            given=_given(stored, cell, probe, a, made),
            fate=_fate(a, context),
            states_it=judged.get(a.artifact_id),
        )
        for a in covering
    )


def _fate(artifact: Artifact, context: Context | None) -> Fate:
    if context is None:
        return "not_loaded"
    if any(artifact.artifact_id in block.artifact_ids for block in context.blocks):
        return "in_prompt"
    for out in context.left_out:
        if artifact.artifact_id in out.artifact_ids:
            return "folded" if out.reason == "folded" else "over_budget"
    if artifact.visible_from_seq > context.as_of:
        return "not_visible"
    replaced = artifact.superseded_from_seq
    return "superseded" if replaced is not None and replaced <= context.as_of else "not_loaded"


def _given(
    stored: StoredRun, cell: Row, probe: Probe, artifact: Artifact, made: Sequence[Artifact]
) -> Given | None:
    """Return what the artifact was made from: the recorded task, and its parents' texts."""
    tries = tries_of(artifact, stored.inputs(*unit_of(cell)))
    if not tries:
        return None
    task = tries[-1]
    cut: dict[str, str] = orjson.loads(task["cut"])
    seqs = {seq for low, high in orjson.loads(task["seqs"]) for seq in range(low, high + 1)}
    said = stored.messages.get(cell["session_id"], ())
    texts = {a.artifact_id: a.text for a in made}
    return Given(
        from_seq=task["from_seq"],
        to_seq=task["to_seq"],
        handed=len(seqs),
        messages=tuple(_said(m, probe, cut.get(str(m.seq))) for m in said if m.seq in seqs),
        earlier=tuple(
            Earlier(artifact_id=parent, text=marked(texts[parent], probe.expect))
            for parent in artifact.parents
            if parent in texts
        ),
        cut_seqs=tuple(sorted(map(int, cut))),
        refused=tuple(row["error"] or row["text"] or "" for row in tries[:-1]),
    )


def _search(
    stored: StoredRun, cell: Row, probe: Probe, context: Context | None, said: Sequence[Message]
) -> Search | None:
    if context is None or not stored.settings[cell["arm"]].retrieval.enabled:
        return None
    record = context.retrieval
    texts = {message.seq: message.text for message in said}
    evidence = set(probe.evidence_seqs)
    ranked: list[Mapping[str, Any]] = list(record.get("ranked", ()))
    matches = [
        Match(
            rank=rank,
            seq=found["seq"],
            score=found["score"],
            terms={k: v for k, v in found.items() if k not in ("seq", "score")},
            text=marked(texts.get(found["seq"], ""), probe.expect),
            is_evidence=found["seq"] in evidence,
        )
        for rank, found in enumerate(ranked, start=1)
        if rank <= BEST_MATCHES or found["seq"] in evidence
    ]
    return Search(
        is_made=bool(record.get("retrieve", False)),
        reasons=tuple(record.get("reasons", ())),
        considered=len(ranked),
        matches=tuple(matches),
        groups=tuple(tuple(group["seqs"]) for group in record.get("groups", ())),
        evidence_rank=min((m.rank for m in matches if m.is_evidence), default=None),
    )


def _left_out(
    stored: StoredRun, cell: Row, probe: Probe, context: Context, said: Sequence[Message]
) -> tuple[LeftOutBlock, ...]:
    evidence = set(probe.evidence_seqs)
    texts = {a.artifact_id: a.text for a in stored.artifacts(*unit_of(cell))}
    raw = {message.seq: message.text for message in said}
    found = []
    for out in context.left_out:
        words = [texts.get(i, "") for i in out.artifact_ids]
        words = words or [raw.get(seq, "") for seq in out.message_seqs]
        found.append(
            LeftOutBlock(
                kind=out.kind,
                reason=out.reason,
                tokens=out.tokens,
                seqs=out.message_seqs,
                artifact_ids=out.artifact_ids,
                holds=_held([marked(text, probe.expect) for text in words]),
                is_of_fact=bool(evidence & set(out.message_seqs)),
            )
        )
    return tuple(found)


def _prompt(probe: Probe, context: Context) -> tuple[PromptBlock, ...]:
    history = {id(block) for block in context.history}
    return tuple(
        PromptBlock(
            kind=block.kind,
            tokens=block.tokens,
            seqs=block.message_seqs,
            artifact_ids=block.artifact_ids,
            is_shortened=block.shortened,
            text=marked(block.text, probe.expect if id(block) in history else ()),
        )
        for block in context.blocks
    )


def _prompt_holds(probe: Probe, context: Context) -> tuple[int, ...]:
    return _held([marked(block.text, probe.expect) for block in context.history])


def _held(texts: Sequence[Marked]) -> tuple[int, ...]:
    return tuple(sorted({i for text in texts for i in text.holds}))


def _answer(probe: Probe, cell: Row) -> Answer:
    said = cell["answer"]
    return Answer(
        text=None if said is None else marked(said, probe.expect),
        outcome=cell["outcome"],
        literal_verdict=cell["literal_verdict"],
        literal_rule=cell["literal_rule"],
        judge_verdict=cell["judge_verdict"],
        judged_by=cell["judged_by"],
        error=cell["error"],
    )
