"""A session whose facts stand at known places, and models that lose exactly what they are told to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.core.calls import ModelClient, ModelRequest, ModelResponse
from ctxeng.core.messages import Message, Session
from ctxeng.core.protocols import Distiller, Summariser, Summary, SummaryTask
from ctxeng.core.settings import StrategySettings
from ctxeng.embedding import open_embedder
from ctxeng.harness.experiments.arms import control_arm
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.replay.plan import Arm, Readers, ReplayPlan
from ctxeng.models import Ledger, open_client
from ctxeng.strategies.builtin import settings_for
from ctxeng.tokens import open_counter

SIZE = 6
LENGTH = 48
INTERIOR = {8: "KX-0008", 14: "KX-0014", 20: "KX-0020", 26: "KX-0026"}
BOUNDARY = {11: "KX-0011", 17: "KX-0017", 23: "KX-0023"}  # and the acknowledgement at +1
RECENT = {46: "KX-0046"}
UNLIMITED = {"total_tokens": None}


def session(session_id: str = "planted", *, length: int = LENGTH) -> Session:
    """Return a session of short messages; facts at ``INTERIOR``, ``BOUNDARY`` and ``RECENT``."""
    facts = INTERIOR | BOUNDARY | RECENT
    messages = []
    for seq in range(length):
        text = f"Message number {seq} is about nothing much at all."
        if seq in facts:
            text = f"Right, the part for slot {seq} is {facts[seq]}, keep that."
        elif seq - 1 in BOUNDARY:
            text = f"Noted, {BOUNDARY[seq - 1]} it is."
        role = "user" if seq % 2 == 0 else "assistant"
        messages.append(Message(seq=seq, role=role, content=text))  # type: ignore[arg-type]
    return Session(session_id=session_id, messages=tuple(messages), language="en")


def probes(session_id: str = "planted") -> tuple[Probe, ...]:
    """Return a probe for every fact, and one for a fact that was never stated."""
    spans = {seq: Span(from_seq=seq, to_seq=seq) for seq in INTERIOR | RECENT}
    spans |= {seq: Span(from_seq=seq, to_seq=seq + 1) for seq in BOUNDARY}
    facts = INTERIOR | BOUNDARY | RECENT
    stated = [
        Probe(
            probe_id=f"{session_id}-{seq}",
            session_id=session_id,
            question=f"Which part is for slot {seq}?",
            kind="identifier",
            evidence=(spans[seq],),
            expect=((facts[seq],),),
            language="en",
        )
        for seq in sorted(facts)
    ]
    absent = Probe(
        probe_id=f"{session_id}-absent",
        session_id=session_id,
        question="Which part is for slot 99?",
        kind="absent",
        answerable=False,
        language="en",
    )
    return (*stated, absent)


def settings(strategy: str = "episodes") -> StrategySettings:
    """Return settings that cut every six messages, with a window of two and no token limit."""
    return settings_for(
        strategy,
        {
            "window": {"tokens": 0, "min_messages": 2},
            "episodes": {"size": SIZE, "overlap": 1},
            "memory": {"every_episodes": 3},
            "rolling": {"threshold_tokens": 40},
            "retrieval": {"gate": "always"},
            "budget": UNLIMITED,
        },
    )


class LosingSummariser(VerbatimSummariser):
    """Keeps every word but those of the messages it is told to lose."""

    def __init__(self, loses: Callable[[Message, SummaryTask], bool]) -> None:
        self._loses = loses

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the kept messages of the core, and what came before."""
        kept = tuple(m for m in task.messages if not self._loses(m, task))
        return await super().summarise(replace(task, messages=kept))


class PerfectReader:
    """Answers from its prompt: the part that stands beside the slot asked for, else UNKNOWN."""

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the part number, looked up in the text of the whole prompt."""
        self.calls += 1
        texts = [str(block.get("text", "")) for block in request.system]
        texts += [str(b["text"]) for m in request.messages for b in m["content"]]
        slot = re.findall(r"slot (\d+)\?", texts[-1])[-1]
        found = re.findall(rf"slot {slot} is (KX-\d+)", "\n".join(texts[:-1]))
        return ModelResponse(text=found[-1] if found else "UNKNOWN", model="perfect")


class FixedReader:
    """Ignores its prompt and always says the same."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the fixed text."""
        return ModelResponse(text=self._text, model="fixed")


def plan(
    scratch: Path,
    *,
    summariser: Summariser | None = None,
    distiller: Distiller | None = None,
    reader: ModelClient | None = None,
    arms: dict[str, StrategySettings] | None = None,
    sessions: tuple[Session, ...] | None = None,
    controls: tuple[str, ...] = (),
    token: str = "t",
) -> ReplayPlan:
    """Return a plan over planted sessions; the first arm is the reference."""
    chosen = arms or {"episodes": settings()}
    listed = sessions or (session(),)
    reference = next(iter(chosen.values()))
    return ReplayPlan(
        key=scratch.name,
        arms=(
            *(Arm(name=name, settings=table) for name, table in chosen.items()),
            *(control_arm(name, reference) for name in controls),  # type: ignore[arg-type]
        ),
        reference_arm=next(iter(chosen)),
        sessions=listed,
        probes={s.session_id: probes(s.session_id) for s in listed},
        writer=open_client(ledger=Ledger.open(None)),
        summariser=lambda arm, client: (
            VerbatimSummariser() if arm.lossless else summariser or VerbatimSummariser()
        ),
        distiller=lambda arm, client: (
            VerbatimDistiller() if arm.lossless else distiller or VerbatimDistiller()
        ),
        readers=Readers(
            reader=reader or PerfectReader(),
            reader_model="offline",
            reader_max_tokens=50,
            reader_system="Answer from the conversation.",
            reader_prompt_id="reader@test",
            judge=None,
            judge_model="none",
            judge_system="",
            judge_prompt_id="none",
        ),
        embedder=open_embedder("hashing"),
        counter=open_counter("heuristic"),
        audit_share=0.0,
        seed=1,
        run_token=token,
        scratch=scratch,
    )
