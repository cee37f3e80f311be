"""The typed shape of an experiment file. Unknown keys are errors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, field_validator

from ctxeng.core.settings import Section
from ctxeng.harness.attribution.position import Bucket

Control = Literal["full", "none", "oracle", "restated", "verbatim"]
DeliveryMode = Literal["live", "batch"]
ArmName = Annotated[str, StringConstraints(max_length=100, pattern=r"^\w[\w .,=+()\[\]-]*$")]
CONTROLS: tuple[Control, ...] = ("full", "none", "oracle", "restated", "verbatim")


class ModelsTable(Section):
    """Which model plays which role; ``offline`` is the built-in baseline, ``none`` asks nobody.

    ``mode``: ``live`` sends each call at once, ``batch`` gathers calls into Message Batches, at
    their price and in their time: a batch is sent once no call has come for ``quiet_seconds``, and
    asked after every ``poll_seconds``.
    """

    reader: str = "offline"
    summariser: str = "offline"
    distiller: str | None = None
    judge: str = "offline"
    artifact_judge: str = "none"
    embedder: str = "minilm"
    counter: str = "heuristic"
    reader_max_tokens: int = Field(default=200, ge=1)
    reader_prompt: str | None = None
    judge_prompt: str | None = None
    base_url: str | None = None
    concurrency: int = Field(default=8, ge=1)
    timeout_seconds: float = Field(default=120, gt=0)
    mode: DeliveryMode = "live"
    quiet_seconds: float = Field(default=2, gt=0)
    poll_seconds: float = Field(default=20, gt=0)
    extra: dict[str, dict[str, Any]] = Field(default_factory=dict)


class ReplicatesTable(Section):
    """How often each random role is repeated. A deterministic model needs one."""

    summariser: int = Field(default=1, ge=1)
    reader: int = Field(default=1, ge=1)
    judge: int = Field(default=1, ge=1)


class LimitsTable(Section):
    """Where a run stops before it spends more."""

    max_calls: int | None = Field(default=None, ge=0)
    max_cost_usd: float | None = Field(default=None, ge=0)


class EconomicsTable(Section):
    """Whose prices ``ctxeng economics`` uses for each role, and the product's system text (a file).

    A role without a name takes its own model's prices, the offline model's those of a stand-in.
    """

    reader: str | None = None
    summariser: str | None = None
    distiller: str | None = None
    system_prompt: str | None = None


class GateTable(Section):
    """The nightly non-inferiority gate: how much recall may drop, and in which buckets.

    ``arms`` empty: the reference arm. ``measure``: answers need a reader; without one, presence.
    """

    margin_share: float = Field(default=0.05, gt=0, lt=1)
    buckets: tuple[Bucket, ...] = ("recent", "interior", "boundary")
    arms: tuple[str, ...] = ()
    measure: Literal["answer", "in_context"] = "answer"
    min_probes: int = Field(default=40, ge=40)  # under 40 a bucket never gates


class SweepTable(Section):
    """A matrix over settings of one arm: every combination becomes an arm."""

    arm: str
    matrix: dict[str, list[Any]] = Field(min_length=1)

    @field_validator("matrix")
    @classmethod
    def _dotted(cls, value: dict[str, list[Any]]) -> dict[str, list[Any]]:
        for key, values in value.items():
            if key.count(".") != 1:
                raise ValueError(f"a swept setting must read section.key, got {key!r}")
            if not values:
                raise ValueError(f"{key} must list at least one value")
        return value


class ArmTable(Section):
    """One arm: a built-in strategy, and the settings it changes."""

    model_config = ConfigDict(frozen=True, extra="allow")

    strategy: str

    @property
    def overrides(self) -> dict[str, Any]:
        """Return the sections the arm changes, as written."""
        return dict(self.__pydantic_extra__ or {})


class ExperimentFile(Section):
    """A whole experiment file.

    ``description`` says what is asked, ``expectation`` what is expected and by whom: a results page
    shows it beside what came out. Neither decides anything.
    """

    name: str = Field(max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    description: str = ""
    expectation: str = ""
    extends: str | None = None
    sessions: list[str] = Field(min_length=1)
    probes: list[str] = Field(min_length=1)
    exclude: list[str] = Field(default_factory=list)
    reference_arm: str
    controls: tuple[Control, ...] = ("full", "none")
    models: ModelsTable = ModelsTable()
    replicates: ReplicatesTable = ReplicatesTable()
    limits: LimitsTable = LimitsTable()
    gate: GateTable = GateTable()
    economics: EconomicsTable = EconomicsTable()
    arms: dict[ArmName, ArmTable] = Field(min_length=1)
    sweeps: dict[ArmName, SweepTable] = Field(default_factory=dict)
    audit_share: float = Field(default=0.05, ge=0, le=1)
    seed: int = 20260101

    @field_validator("arms")
    @classmethod
    def _not_reserved(cls, value: dict[str, ArmTable]) -> dict[str, ArmTable]:
        taken = sorted(set(value) & set(CONTROLS))
        if taken:
            raise ValueError(f"arm names must not be control names, got {taken}; rename them")
        return value
