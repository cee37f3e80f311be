"""One unit of a replay: one arm on one session, from the first append to the last cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ctxeng.context.builder import MIN_CACHEABLE_TOKENS
from ctxeng.core.artifacts import Artifact
from ctxeng.core.calls import ModelClient
from ctxeng.core.context import Context
from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay.plan import Arm, ReplayPlan
from ctxeng.harness.replay.recording import (
    RecordingDistiller,
    RecordingSummariser,
)
from ctxeng.models.prices import price_of
from ctxeng.store import Store
from ctxeng.strategies import jobs
from ctxeng.strategies.wiring import Parts, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A session that went through an arm's write path."""

    conversation_id: str
    parts: Parts
    messages: tuple[Message, ...]
    artifacts: tuple[Artifact, ...]
    failures: tuple[Mapping[str, Any], ...]
    inputs: tuple[Mapping[str, Any], ...] = ()
    model_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A prompt that was built for a probe, and what building it took."""

    probe: Probe
    context: Context
    as_of: int
    now: datetime | None
    build_seconds: float


async def play(
    plan: ReplayPlan,
    arm: Arm,
    session: Session,
    *,
    store: Store,
    client: ModelClient,
    replicate: int,
    on_append: Callable[[int], None] = lambda seq: None,
) -> Played:
    """Append a session message by message, compacting after each as production would.

    Args:
        client: what summariser and distiller ask.
        on_append: told each message's seq before what is due after it is compacted.
    """
    conversation_id = f"{plan.run_token}/{arm.name}/{replicate}/{session.session_id}"
    given: list[dict[str, Any]] = []
    parts = wire(
        arm.settings,
        store=store,
        summariser=RecordingSummariser(plan.summariser(arm, client), session.messages, given),
        distiller=RecordingDistiller(plan.distiller(arm, client), given),
        embedder=plan.embedder,
        counter=plan.counter,
        cutter=plan.cutter(arm, client) if plan.cutter is not None else None,
        replicate=replicate,
        min_cacheable_tokens=_min_cacheable(plan.readers.reader_model),
    )
    await store.discard_conversation(conversation_id)
    await store.create_conversation(conversation_id, language=session.language)
    failures = await _write_path(
        arm, session, store=store, parts=parts, name=conversation_id, on_append=on_append
    )
    broken = next((f for f in failures if f.is_model_error), None)
    if arm.settings.retrieval.enabled:
        await jobs.index(parts, conversation_id)
    return Played(
        conversation_id=conversation_id,
        parts=parts,
        messages=tuple(await store.messages(conversation_id)),
        artifacts=tuple(await store.all_artifacts(conversation_id)),
        failures=tuple({"kind": f.kind, "reason": f.reason, "at_seq": f.at_seq} for f in failures),
        inputs=tuple(given),
        model_error=f"compaction {broken.kind}: {broken.reason}" if broken else None,
    )


async def build(played: Played, probe: Probe, *, pins_evidence: bool, system: str) -> Built:
    """Return the prompt production would send for a probe's question."""
    last_seq = played.messages[-1].seq
    as_of = last_seq if probe.ask_at_seq is None else min(probe.ask_at_seq, last_seq)
    seen = reversed(played.messages[: as_of + 1])
    now = next((m.timestamp for m in seen if m.timestamp), None)
    started = time.perf_counter()
    context = await played.parts.builder.build(
        played.conversation_id,
        probe.question,
        as_of=as_of,
        system=system,
        now=now,
        pinned_seqs=probe.evidence_seqs if pins_evidence else (),
    )
    seconds = time.perf_counter() - started
    return Built(probe=probe, context=context, as_of=as_of, now=now, build_seconds=seconds)


def visible_at(artifacts: Sequence[Artifact], as_of: int) -> list[Artifact]:
    """Return the artifacts a prompt built at ``as_of`` could use."""
    return [
        a
        for a in artifacts
        if a.visible_from_seq <= as_of
        and (a.superseded_from_seq is None or a.superseded_from_seq > as_of)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    kind: str
    reason: str
    at_seq: int
    is_model_error: bool


async def _write_path(
    arm: Arm,
    session: Session,
    *,
    store: Store,
    parts: Parts,
    name: str,
    on_append: Callable[[int], None],
) -> list[_Failure]:
    """Append and compact; after a failed call, which makes all cells errors, none is paid for."""
    if not arm.settings.compacts:
        await store.append_many(name, _counted(session.messages, parts))
        return []
    failures: list[_Failure] = []
    messages = _counted(session.messages, parts)
    for number, message in enumerate(messages, start=1):
        await store.append_many(name, [message])
        on_append(message.seq)
        report = await jobs.catch_up(parts, name)
        failures += [
            _Failure(
                kind=f.kind, reason=f.reason, at_seq=message.seq, is_model_error=f.is_model_error
            )
            for f in report.failures
        ]
        if any(f.is_model_error for f in failures):
            await store.append_many(name, messages[number:])
            break
    return failures


def _counted(messages: Sequence[Message], parts: Parts) -> list[Message]:
    return [replace(m, tokens=parts.counter.count(m.text)) for m in messages]


def _min_cacheable(model: str) -> int:
    """Return the shortest prefix that a model's provider caches, the usual one if unpublished."""
    price = price_of(model)
    known = None if price is None else price.min_cacheable_tokens
    return MIN_CACHEABLE_TOKENS if known is None else known
