"""Protocols that cross floors; implementations are wired together in ``strategies``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ctxeng.core.artifacts import MemoryItem
from ctxeng.core.messages import Message
from ctxeng.core.settings import EpisodeSettings

Vectors = NDArray[np.float32]


class TokenCounter(Protocol):
    """Counts tokens locally and fast; an estimate unless its name says otherwise."""

    name: str

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``, 0 or more."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def embedder_id(self) -> str:
        """Return a name that changes whenever the vectors would."""
        ...

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        ...

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
        """Return ``(len(texts), dimensions)`` float32, rows of unit length."""
        ...

    def split(self, text: str) -> list[str]:
        """Return the text in pieces that the model reads whole; empty for blank text."""
        ...


class Clock(Protocol):
    """Tells the time; replays use a simulated one."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryTask:
    """What a summariser is asked to compress.

    Args:
        kind: rolling rewrites ``previous`` with ``messages``; episode compresses ``messages``;
            node compresses ``parts`` (texts of its children, oldest first).
        core_from_seq, core_to_seq: the range the summary stands for; messages outside it
            (overlap) are there for understanding only.
        target_tokens: wanted length of the summary.
    """

    kind: Literal["rolling", "episode", "node"]
    messages: tuple[Message, ...] = ()
    previous: str | None = None
    parts: tuple[str, ...] = ()
    core_from_seq: int
    core_to_seq: int
    target_tokens: int
    language: str = "und"
    level: int = 0
    replicate: int = 0
    conversation_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summariser's answer, before the guards have looked at it."""

    text: str
    model: str
    prompt_hash: str
    call_key: str = ""


class Summariser(Protocol):
    """Compresses messages or summaries; ``lossless`` exempts from length and repetition guards."""

    lossless: bool
    prompt_hash: str

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the summary, or raise a ModelError."""
        ...


class Cutter(Protocol):
    """Decides where an episode ends (``episodes.cut = "model"``)."""

    async def end_of_episode(
        self,
        messages: Sequence[Message],
        settings: EpisodeSettings,
        *,
        replicate: int = 0,
        conversation_id: str = "",
    ) -> int:
        """Return the last seq of the first episode, within the size limits."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillTask:
    """What a distiller is asked to merge: the previous snapshot and new episode summaries.

    ``sources`` gives each text's core range, aligned with ``texts``; ``speakers`` the names in
    the conversation, so that items can be told apart by speaker.
    """

    previous: tuple[MemoryItem, ...]
    texts: tuple[str, ...]
    sources: tuple[tuple[int, int], ...]
    speakers: tuple[str, ...] = ()
    language: str = "und"
    replicate: int = 0
    conversation_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """A distiller's answer: the whole merged snapshot, superseded items kept with their status."""

    items: tuple[MemoryItem, ...]
    model: str
    prompt_hash: str
    call_key: str = ""
    refused: tuple[str, ...] = ()


class Distiller(Protocol):
    """Merges new evidence into long-term memory."""

    lossless: bool
    prompt_hash: str

    async def distil(self, task: DistillTask) -> Distillation:
        """Return the merged snapshot, or raise a ModelError."""
        ...


class CallRecord(Protocol):
    """Keeps the answers of model calls, and knows whose words each holds."""

    def forget_deleted(self, deleted: Mapping[str, float]) -> int:
        """Remove the calls that hold words of deleted conversations; return how many there were.

        Args:
            deleted: sha256 of a conversation's id, and when words of it were deleted last (epoch).
        """
        ...
