"""Would compaction help on these sessions? Their lengths, and what each strategy would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ctxeng.core.messages import Session
from ctxeng.harness.economics.arms import ArmEconomics
from ctxeng.harness.economics.money import Payers
from ctxeng.harness.experiments.arms import resolve_arms
from ctxeng.harness.experiments.economics import Economics, economics
from ctxeng.harness.experiments.inputs import Inputs
from ctxeng.harness.experiments.prepared import Prepared, RunOptions
from ctxeng.harness.experiments.schema import ArmTable, EconomicsTable, ExperimentFile, ModelsTable
from ctxeng.harness.replay.runner import Progress
from ctxeng.models.prices import price_of
from ctxeng.strategies.builtin import BUILTIN
from ctxeng.tokens import open_counter

COMPACTING = ("rolling", "hierarchical", "episodes", "episodes_memory")
CUTTING = "recent_window"  # keeps nothing of what it leaves out: a floor, not an advice
WORTH_SHARE = 0.05  # smaller savings do not pay for the plumbing
WINDOW_TOKENS = BUILTIN["episodes"].window.tokens or 0
SAMPLE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long the sessions are: 10th, 50th and 90th percentile, and the longest."""

    messages: tuple[int, int, int, int]
    tokens: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to do with these sessions.

    Args:
        within_window_share: sessions that the recent window holds whole, so that nothing would
            ever be compacted, 0..1.
        found: what the sampled sessions cost; None where no session is longer than the window.
        best: the cheapest compacting strategy. saved_share: its saving against the whole history,
            each with the caching that is cheapest for it.
        pays_from_turn: median turn from which it is cheaper. paying_share: sessions that reach it.
        exceeds_model: some history is longer than the reader's model takes.
    """

    sessions: int
    lengths: Lengths
    within_window_share: float
    answer: str
    reasons: tuple[str, ...]
    found: Economics | None = None
    best: str | None = None
    saved_share: float | None = None
    pays_from_turn: float | None = None
    paying_share: float | None = None
    exceeds_model: bool = False


async def advise(
    sessions: Sequence[Session],
    *,
    workspace: Path,
    counter: str = "heuristic",
    payers: Payers,
    sample: int = SAMPLE,
    progress: Progress | None = None,
) -> Advice:
    """Return whether compaction would help on sessions, with the built-in strategies as they are.

    Args:
        sessions: at least one.
        sample: how many of them are played, evenly over their lengths.

    Raises:
        StoreError: no database. SettingsError: a price is unknown.
    """
    count = open_counter(counter).count
    tokens = {s.session_id: sum(count(m.text) for m in s.messages) for s in sessions}
    within = sum(1 for total in tokens.values() if total <= WINDOW_TOKENS) / len(sessions)
    about = Advice(
        sessions=len(sessions),
        lengths=Lengths(
            messages=_spread([len(s.messages) for s in sessions]),
            tokens=_spread(list(tokens.values())),
        ),
        within_window_share=within,
        answer="no",
        reasons=(
            f"Every session fits the recent window of {WINDOW_TOKENS:,} tokens: nothing would ever "
            "be compacted. Send the whole history.",
        ),
    )
    if within == 1:
        return about
    played = sampled(sorted(sessions, key=lambda s: (tokens[s.session_id], s.session_id)), sample)
    prepared = _prepared(played, workspace, counter=counter, payers=payers)
    options = RunOptions(out=workspace / "reports")
    return judged(about, await economics(prepared, options, progress=progress))


def sampled(ordered: Sequence[Session], size: int) -> list[Session]:
    """Return so many sessions evenly over an order, the last one among them."""
    if len(ordered) <= size:
        return list(ordered)
    return [ordered[round((place + 1) * len(ordered) / size) - 1] for place in range(size)]


def judged(about: Advice, found: Economics) -> Advice:
    """Return the advice that the costs of the sampled sessions lead to."""
    whole, *others = found.arms
    arms = [arm for arm in others if arm.arm in COMPACTING]
    best = min(arms, key=cheapest)
    saved = 1 - cheapest(best) / cheapest(whole) if cheapest(whole) else 0.0
    cost = min(best.costs, key=lambda c: c.usd_per_1000_turns)
    price = price_of(found.payers.reader)
    limit = price.window_tokens if price is not None else None
    too_long = limit is not None and whole.request_tokens[2] > limit
    paying = cost.paying_sessions / best.sessions
    answer = "no"
    if saved >= WORTH_SHARE or too_long:
        answer = "yes" if paying >= 0.5 or too_long else "for the long ones"
    return replace(
        about,
        found=found,
        answer=answer,
        reasons=tuple(_reasons(about, best, saved=saved, paying=paying, too_long=too_long)),
        best=best.arm,
        saved_share=saved,
        pays_from_turn=cost.pays_from_turn,
        paying_share=paying,
        exceeds_model=too_long,
    )


def cheapest(arm: ArmEconomics) -> float:
    """Return an arm's USD per 1,000 turns with the caching that is cheapest for it."""
    return min(cost.usd_per_1000_turns for cost in arm.costs)


def _reasons(
    about: Advice, best: ArmEconomics, *, saved: float, paying: float, too_long: bool
) -> list[str]:
    share = f"{abs(saved):.0%}"
    outcome = f"costs {share} more than" if saved < 0 else f"costs {share} less than"
    if share == "0%":
        outcome = "costs as much as"
    reasons = [
        f"The cheapest compacting strategy, {best.arm}, {outcome} the whole history, each with the "
        f"caching that is cheapest for it, and ends cheaper in {paying:.0%} of the sessions."
    ]
    if about.within_window_share:
        reasons.append(
            f"{about.within_window_share:.0%} of the sessions fit the recent window of "
            f"{WINDOW_TOKENS:,} tokens and would never be compacted."
        )
    if too_long:
        reasons.append("The longest history does not fit the reader's model at all.")
    reasons.append("Money says nothing about what is forgotten: measure that with probes.")
    return reasons


def _prepared(
    sessions: Sequence[Session], workspace: Path, *, counter: str, payers: Payers
) -> Prepared:
    experiment = ExperimentFile(
        name="advice",
        sessions=["-"],
        probes=["-"],
        reference_arm="episodes_memory",
        controls=(),
        models=ModelsTable(reader="none", judge="none", embedder="hashing", counter=counter),
        economics=EconomicsTable(
            reader=payers.reader, summariser=payers.summariser, distiller=payers.distiller
        ),
        arms={name: ArmTable(strategy=name) for name in (CUTTING, *COMPACTING)},
    )
    return Prepared(
        path=workspace,
        workspace=workspace,
        experiment=experiment,
        arms=resolve_arms(experiment),
        inputs=Inputs(sessions=tuple(sessions), probes={s.session_id: () for s in sessions}),
    )


def _spread(values: Sequence[int]) -> tuple[int, int, int, int]:
    low, middle, high, top = np.percentile(values, [10, 50, 90, 100])
    return int(low), int(middle), int(high), int(top)
