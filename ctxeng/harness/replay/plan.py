"""What a replay is asked to do, resolved: no file names, no defaults left open."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from ctxeng.core.calls import ModelClient
from ctxeng.core.messages import Session
from ctxeng.core.protocols import Cutter, Distiller, Embedder, Summariser, TokenCounter
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.probes.model import Probe

ControlName = Literal["full", "none", "oracle", "restated", "verbatim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One configured strategy, or a control.

    Args:
        pins_evidence: the builder is handed the probe's evidence messages (oracle, restated).
        lossless: summaries return their input (verbatim).
    """

    name: str
    settings: StrategySettings
    control: ControlName | None = None
    pins_evidence: bool = False
    lossless: bool = False

    @property
    def is_control(self) -> bool:
        """Return whether the arm is one of the reserved controls."""
        return self.control is not None


CutterFactory = Callable[[Arm, ModelClient], Cutter]
SummariserFactory = Callable[[Arm, ModelClient], Summariser]
DistillerFactory = Callable[[Arm, ModelClient], Distiller]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Who answers and who judges; ``reader`` None runs in-context recall only.

    Args:
        extract: reader and writers quote sentences of the session as they stand, and never reword.
    """

    reader: ModelClient | None
    reader_model: str
    reader_max_tokens: int
    reader_system: str
    reader_prompt_id: str
    judge: ModelClient | None
    judge_model: str
    judge_system: str
    judge_prompt_id: str
    extract: bool = False
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicates:
    """How often each random role is repeated."""

    summariser: int = 1
    reader: int = 1
    judge: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """Everything a replay needs.

    Args:
        key: content hash of all that decides the cells; an interrupted replay resumes by it.
        writer: the client that summariser and distiller call; the factories get a recording one.
        audit_share: share of literal verdicts that the judge checks as well, 0..1.
        run_token: names this process's conversations, so that two runs share a database in peace.
        scratch: folder for finished units of an unfinished replay.
        jobs: sessions in flight at once.
    """

    key: str
    arms: tuple[Arm, ...]
    reference_arm: str
    sessions: tuple[Session, ...]
    probes: Mapping[str, tuple[Probe, ...]]
    writer: ModelClient
    summariser: SummariserFactory
    distiller: DistillerFactory
    cutter: CutterFactory | None = None
    readers: Readers
    embedder: Embedder | None
    counter: TokenCounter
    audit_share: float
    seed: int
    replicates: Replicates = Replicates()
    run_token: str
    scratch: Path
    jobs: int = 4

    @property
    def reference(self) -> Arm:
        """Return the arm whose geometry defines the buckets."""
        return next(arm for arm in self.arms if arm.name == self.reference_arm)


def content_key(value: Any) -> str:
    """Return a short sha256 over the canonical JSON of a value (16 hex digits)."""
    body = orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(body).hexdigest()[:16]
