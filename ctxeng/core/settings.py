"""Settings of a strategy: one table per section, every threshold exposed, unknown keys refused.

Defaults are those of the source articles: 6,000 recent tokens and at least four messages, an
8,000-token rolling threshold, six-message episodes with one message of overlap, a distillation
every three episodes, and the budget shares of the first article.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

LARGEST = 2**53  # what every JSON reader keeps exactly


class Section(BaseModel):
    """Base of every settings table: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="after")
    def _representable(self) -> Self:
        for name, value in self:
            if isinstance(value, int) and abs(value) > LARGEST:
                raise ValueError(f"{name} must be at most {LARGEST}, got {value}")
        return self


class WindowSettings(Section):
    """Recent window: newest messages kept raw. ``tokens = None`` means no limit."""

    tokens: int | None = Field(default=6000, ge=0)
    min_messages: int = Field(default=4, ge=0)


class RollingSettings(Section):
    """Rolling summary: one structured task state, rewritten when enough has piled up."""

    enabled: bool = False
    threshold_tokens: int = Field(default=8000, ge=1)
    target_tokens: int = Field(default=600, ge=20)


class HierarchySettings(Section):
    """Summary tree over messages: level 0 chunks, then fan_in children to one parent."""

    enabled: bool = False
    chunk_messages: int = Field(default=12, ge=2)
    fan_in: int = Field(default=3, ge=2)
    levels: int = Field(default=4, ge=1, le=8)
    chunk_tokens: int = Field(default=250, ge=20)
    level_tokens: tuple[Annotated[int, Field(ge=20)], ...] = (300, 350, 400)


class EpisodeSettings(Section):
    """Episodes: runs of messages summarised together.

    ``phase`` shifts the grid: the first episode has ``size - phase`` messages (phase 0: ``size``).
    ``cut = "exchange"`` moves cuts to exchange borders, ``semantic`` to dips of embedding
    similarity, both within ``min_size`` and ``max_size``.
    """

    enabled: bool = False
    size: int = Field(default=6, ge=2)
    overlap: int = Field(default=1, ge=0)
    phase: int = Field(default=0, ge=0)
    cut: Literal["fixed", "exchange", "semantic", "model"] = "fixed"
    min_size: int = Field(default=3, ge=1)
    max_size: int = Field(default=12, ge=2)
    target_tokens: int = Field(default=200, ge=20)

    @model_validator(mode="after")
    def _consistent(self) -> EpisodeSettings:
        if self.phase >= self.size:
            raise ValueError(f"episodes.phase must be below episodes.size, got {self.phase}")
        if self.min_size > self.max_size:
            raise ValueError("episodes.min_size must not exceed episodes.max_size")
        return self


class MemorySettings(Section):
    """Distilled memory: every k new episodes are merged into the snapshot.

    ``cross_conversation``: prompts also show what other conversations of the same user (or
    project) remember with that scope, the items nearest to the question.
    """

    enabled: bool = False
    every_episodes: int = Field(default=3, ge=1)
    target_tokens: int = Field(default=800, ge=50)
    cross_conversation: bool = False


class RetrievalSettings(Section):
    """Search over older raw messages. ``preset`` names the fusion of scores.

    ``candidates``: how many messages of each search are ranked. What ``convex`` weighs besides
    (``retrieval.fusion.rerank`` has the formula): ``previous_weight`` and ``following_weight``, how
    much of the score of its neighbours a message is worth; ``reference_weight``, that the question
    names its speaker or an identifier in it; ``tool_output_weight``, a factor on the score of
    messages that hold tool results.
    """

    enabled: bool = False
    gate: Literal["auto", "always", "never"] = "auto"
    groups: int = Field(default=4, ge=1)
    around: int = Field(default=2, ge=0)
    candidates: int = Field(default=200, ge=1)
    preset: Literal["convex", "article", "rrf", "semantic", "lexical", "trigram"] = "convex"
    semantic_weight: float = Field(default=0.45, ge=0, le=1)
    previous_weight: float = Field(default=0.2, ge=0, le=1)
    following_weight: float = Field(default=0.3, ge=0, le=1)
    reference_weight: float = Field(default=0.2, ge=0, le=1)
    tool_output_weight: float = Field(default=1.0, ge=0, le=1)
    min_score: float = Field(default=0.0, ge=0)


class BudgetSettings(Section):
    """Token budget. ``total_tokens = None``: no limit. Shares are the first article's.

    ``recent_tokens`` is what the window keeps beside notes and found messages; it takes more where
    their shares leave it. ``system_tokens`` is what the total foresees for the system text: that
    text is never cut. What it does not need goes to the other sections; what it needs beyond its
    share is taken from them, and ``Context.notices`` says so with both numbers.
    """

    total_tokens: int | None = Field(default=18000, ge=1)
    system_tokens: int = Field(default=2000, ge=0)
    summary_tokens: int = Field(default=2000, ge=0)
    memory_tokens: int = Field(default=1000, ge=0)
    retrieved_tokens: int = Field(default=3000, ge=0)
    recent_tokens: int = Field(default=6000, ge=0)
    reserve_tokens: int = Field(default=4000, ge=0)


class CompactionSettings(Section):
    """When artifacts become visible, and what the builder does while they are late.

    ``lag_messages``: how many messages pass before an artifact may be used; None, which a file
    writes as ``"never"``: it never may.
    ``when_late``: keep the uncovered messages raw while the budget lasts, or the window only.
    """

    lag_messages: int | None = Field(default=0, ge=0)
    when_late: Literal["keep_raw", "window_only"] = "keep_raw"

    @field_validator("lag_messages", mode="before")
    @classmethod
    def _never(cls, value: object) -> object:
        return None if value == "never" else value


class StrategySettings(Section):
    """A strategy: a table of settings, not a subclass per idea."""

    window: WindowSettings = WindowSettings()
    rolling: RollingSettings = RollingSettings()
    hierarchy: HierarchySettings = HierarchySettings()
    episodes: EpisodeSettings = EpisodeSettings()
    memory: MemorySettings = MemorySettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    budget: BudgetSettings = BudgetSettings()
    compaction: CompactionSettings = CompactionSettings()

    @property
    def compacts(self) -> bool:
        """Return whether any compaction is switched on."""
        return self.rolling.enabled or self.hierarchy.enabled or self.episodes.enabled
