"""What a run would do and cost, told before anything is spent.

A dry run is the run itself, through the same replay, with a client that sends nothing. What it
cannot know are answers: where a call is missing from the ledger its answer is stood in for by text
of the wanted length, so prompts that read it have an estimated size. Whether a summary drifts into
another language and is asked for again, and whether the judge is asked about an answer, stays open:
the calls are then told with their bounds, and exactly once all answers are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ctxeng.compaction.prompts import prompt_id
from ctxeng.compaction.writing import REDRAFT_REPLICATE
from ctxeng.core.text import numbered
from ctxeng.harness.experiments.launch import replayed
from ctxeng.harness.experiments.prepared import Prepared, RunOptions, scratch_folder
from ctxeng.harness.replay.partial import PartialRun
from ctxeng.harness.replay.runner import Progress, Rows
from ctxeng.models import FORETOLD, OFFLINE

ALL_ARMS = "(all)"  # calls that are made once for the run
WRITERS = ("summariser", "distiller")


@dataclass(slots=True, kw_only=True)
class RoleForecast:
    """The calls of one role in one arm.

    Args:
        asked: requests the replay makes. held: answered by the ledger as it is.
        repeated: equal to a call another arm or cell of this run makes first.
        to_make: the rest: what would be sent and paid for.
        input_tokens, output_tokens: of the calls to make; the output is an upper estimate.
        cost_usd: of the calls to make; None where the model's price is unknown.
    """

    arm: str
    role: str
    model: str
    asked: int = 0
    held: int = 0
    repeated: int = 0
    to_make: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A run foretold.

    Args:
        cells: by arm, in the run's order.
        roles: one entry for each arm, role and model that asks anything.
        redrafts_at_most: summaries asked for again if every one not known yet came back in another
            language.
        judge_at_most: calls to the judge if every answer not known yet needed one.
    """

    name: str
    sessions: int
    messages: int
    probes: int
    cells: Mapping[str, int]
    roles: tuple[RoleForecast, ...]
    redrafts_at_most: int = 0
    judge_at_most: int
    notes: tuple[str, ...] = field(default=())

    def calls(self, *roles: str) -> int:
        """Return the calls to make, of the given roles or of all."""
        return sum(row.to_make for row in self.roles if not roles or row.role in roles)

    @property
    def calls_at_most(self) -> int:
        """Return the calls if every answer not known yet asked for all that it may ask for."""
        return self.calls() + self.redrafts_at_most + self.judge_at_most - self.calls("judge")

    @property
    def cost_usd(self) -> float | None:
        """Return the money of all calls to make, None where some price is unknown."""
        costs = [row.cost_usd for row in self.roles if row.to_make]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def record(self) -> dict[str, Any]:
        """Return the forecast as plain JSON."""
        return asdict(self) | {
            "calls_to_make": self.calls(),
            "calls_at_most": self.calls_at_most,
            "cost_usd": self.cost_usd,
        }


async def forecast(
    prepared: Prepared, options: RunOptions, *, progress: Progress | None = None
) -> Forecast:
    """Play a prepared experiment without a single call to a provider, and say what it would make.

    Raises:
        InputError: the scratch folder cannot be written. StoreError: no database.
    """
    dry = replace(options, dry_run=True)
    scratch = PartialRun(scratch_folder(prepared, dry))
    scratch.clear()
    try:
        played = await replayed(prepared, dry, progress=progress)
    finally:
        scratch.clear()
    return foretold(prepared, played.rows, judges=played.plan.replicates.judge)


def foretold(prepared: Prepared, rows: Rows, *, judges: int) -> Forecast:
    """Return the forecast that a dry run's rows add up to.

    Args:
        judges: judge replicates, for the calls that unknown answers may bring.
    """
    calls = rows.get("calls", [])
    roles = role_forecasts(calls)
    cells = Counter(cell["arm"] for cell in rows.get("cells", []))
    sessions = prepared.inputs.sessions
    told = Forecast(
        name=prepared.experiment.name,
        sessions=len(sessions),
        messages=sum(len(session.messages) for session in sessions),
        probes=prepared.inputs.probe_count,
        cells={arm.name: cells[arm.name] for arm in prepared.arms},
        roles=tuple(roles),
        redrafts_at_most=_redrafts(calls),
        judge_at_most=_judged(prepared, roles, rows.get("cells", []), judges=judges),
    )
    return replace(told, notes=tuple(_notes(told)))


def _redrafts(calls: Iterable[Mapping[str, Any]]) -> int:
    """Return how many summaries are not known yet and may come back in another language."""
    return len(
        {
            row["key"]
            for row in calls
            if row["role"] == "summariser"
            and row["model"] != OFFLINE
            and row.get("key")
            and not row["from_ledger"]
            and row["replicate"] < REDRAFT_REPLICATE
            and row["prompt_id"] != prompt_id("cut")
        }
    )


def _judged(
    prepared: Prepared,
    roles: Iterable[RoleForecast],
    cells: Iterable[Mapping[str, Any]],
    *,
    judges: int,
) -> int:
    """Return the calls to the judge if every answer not known yet needed one."""
    roles = list(roles)
    foretold = sum(row.to_make for row in roles if row.role == "judge")
    if prepared.experiment.models.judge in (OFFLINE, "none"):
        return foretold
    unread = sum(r.to_make for r in roles if r.role == "reader" and r.model != OFFLINE)
    sampled = {
        (cell["session_id"], cell["probe_id"], cell["judge_replicate"], cell["answer"])
        for cell in cells
        if cell["judge_verdict"] and (cell["answer"] or "").startswith(FORETOLD)
    }
    return foretold - len(sampled) + unread * judges


def role_forecasts(calls: Iterable[Mapping[str, Any]]) -> list[RoleForecast]:
    """Return the calls-table rows of a dry run added up by arm, role and model, in their order."""
    found: dict[tuple[str, str, str], RoleForecast] = {}
    calls = list(calls)
    missing = {row["key"] for row in calls if row.get("key") and not row["from_ledger"]}
    counted: set[str] = set()
    for row in calls:
        name = (row.get("arm") or ALL_ARMS, row["role"], row["model"])
        entry = found.setdefault(name, RoleForecast(arm=name[0], role=name[1], model=name[2]))
        entry.asked += 1
        key = row.get("key")
        if key is None or (key in missing and key not in counted):
            _add(entry, row)
            counted.add(key or "")
        elif key in missing:
            entry.repeated += 1
        else:
            entry.held += 1
    return list(found.values())


def _add(entry: RoleForecast, row: Mapping[str, Any]) -> None:
    entry.to_make += 1
    entry.input_tokens += row.get("input_tokens") or 0
    entry.output_tokens += row.get("output_tokens") or 0
    cost = row.get("cost_usd")
    known = entry.cost_usd is not None and (cost is not None or "error" in row)
    entry.cost_usd = (entry.cost_usd or 0.0) + (cost or 0.0) if known else None


def _notes(told: Forecast) -> Iterator[str]:
    written = sum(r.to_make for r in told.roles if r.role in WRITERS and r.model != OFFLINE)
    if written:
        yield (
            f"{numbered(written, 'summary or memory is', 'summaries and memories are')} not in the "
            "ledger yet: they, and the prompts that read them, are sized by their target lengths."
        )
    if told.redrafts_at_most:
        yield (
            "A summary in another language than its source is asked for once more: up to "
            f"{numbered(told.redrafts_at_most, 'further call')}."
        )
    if told.judge_at_most > told.calls("judge"):
        yield (
            "The judge is asked where the literal rules cannot decide: "
            f"{numbered(told.calls('judge'), 'call')} for the audit sample and known answers, up "
            f"to {told.judge_at_most:,} in all."
        )
    if told.calls_at_most > told.calls():
        yield (
            "Not foretold: answers that come out alike (fewer calls), summaries that a guard "
            "refuses (what follows from them changes), further tries of a call that fails."
        )
    unknown = sorted({row.model for row in told.roles if row.to_make and row.cost_usd is None})
    if unknown:
        yield f"The price of {', '.join(unknown)} is unknown; its calls are not in the sum."
    yield "Output tokens are upper estimates, and nothing is taken to be read from a prompt cache."
