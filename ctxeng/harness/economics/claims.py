"""The source articles' figures on cost, caching and speed, and the same quantities here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ctxeng.core.text import numbered
from ctxeng.harness.economics.caching import (
    TTL_SECONDS,
    Placement,
    PromptCache,
    breakpoints,
    minimum,
    splits,
)
from ctxeng.harness.economics.latency import ttft_ms
from ctxeng.harness.economics.money import NO_CACHE, Caching, Payers, call_usd, spending
from ctxeng.harness.economics.turns import CompactionCall, Request, Sitting
from ctxeng.models.prices import Ttl, price_of, price_table

SHORT_TOKENS, LONG_TOKENS = 3_000, 6_000
MOVING = Caching(placement="moving")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One figure of the articles beside ours, and what to think of it."""

    claim: str
    article: str
    here: str
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the claims are computed from.

    Args:
        arm: sessions of the three-tier arm. full: the same with the whole history.
        overlaps: sessions of arms that differ from it in overlap alone, by overlap; may be empty.
    """

    arm: Sequence[Sitting]
    full: Mapping[str, Sitting]
    overlaps: Mapping[int, Sequence[Sitting]]
    payers: Payers


def claims(evidence: Evidence) -> list[Claim]:
    """Return every claim that the evidence can speak to, in the articles' order."""
    makers: tuple[Callable[[Evidence], Claim | None], ...] = (
        _cost,
        lambda e: _overlap(e, 1, "+17 %"),
        lambda e: _overlap(e, 2, "+34 %"),
        _distillation,
        _memory_hits,
        _rewarm,
        _episode_list,
        _first_token,
    )
    return [claim for make in makers if (claim := make(evidence)) is not None]


def _cost(evidence: Evidence) -> Claim:
    plain, cached = _saved(evidence, NO_CACHE), _saved(evidence, MOVING)
    return Claim(
        claim="API cost against sending the whole history",
        article="-70 %",
        here=f"{signed(-plain)} without caching, {signed(-cached)} where both cache (5 min)",
        remark="Reader, summariser and distiller together. The saving grows with the length of the "
        f"sessions; these have {_mean_tokens(evidence):,.0f} tokens on average.",
    )


def _mean_tokens(evidence: Evidence) -> float:
    last = [s.requests[-1].tokens for s in evidence.full.values() if s.requests]
    return float(np.mean(last)) if last else 0.0


def _saved(evidence: Evidence, caching: Caching) -> float:
    mine = sum(_spent(sitting, caching, evidence.payers) for sitting in evidence.arm)
    whole = sum(_spent(evidence.full[s.session_id], caching, evidence.payers) for s in evidence.arm)
    return 1 - mine / whole if whole else 0.0


def _spent(sitting: Sitting, caching: Caching, payers: Payers) -> float:
    money = spending(sitting, caching, payers)
    return float(money[-1]) if len(money) else 0.0


def _overlap(evidence: Evidence, overlap: int, article: str) -> Claim | None:
    if 0 not in evidence.overlaps or overlap not in evidence.overlaps:
        return None
    base, wide = (_calls(evidence.overlaps[n], "episode") for n in (0, overlap))
    if not base or not wide:
        return None
    given = _grown([c.given_tokens for c in base], [c.given_tokens for c in wide])
    whole = _grown([c.input_tokens for c in base], [c.input_tokens for c in wide])
    return Claim(
        claim=f"Summariser input with {numbered(overlap, 'message')} of overlap",
        article=article,
        here=f"{signed(given)} of what is read, {signed(whole)} with the instructions",
        remark=f"Mean of {numbered(len(wide), 'call')} against {len(base)}; the first episode of "
        "a session has nothing to overlap.",
    )


def _grown(base: Sequence[int], wide: Sequence[int]) -> float:
    """Return by how much the mean has grown, as a share."""
    return float(np.mean(wide) / np.mean(base)) - 1 if sum(base) else 0.0


def _distillation(evidence: Evidence) -> Claim | None:
    calls = _calls(evidence.arm, "memory")
    if not calls:
        return None
    mean = float(np.mean([call_usd(call, evidence.payers) for call in calls]))
    gaps = [
        later.at_seq - earlier.at_seq
        for sitting in evidence.arm
        for earlier, later in pairwise([c for c in sitting.calls if c.kind == "memory"])
    ]
    every = f"every {np.mean(gaps):.0f} turns" if gaps else "once a session"
    return Claim(
        claim="A distillation",
        article="$0.012, every 30 turns",
        here=f"${mean:.4f}, {every}",
        remark=f"{numbered(len(calls), 'call')} at the prices of {evidence.payers.distiller}.",
    )


def _memory_hits(evidence: Evidence) -> Claim | None:
    asked = [r for s in evidence.arm for r in s.requests if r.memory is not None]
    if not asked:
        return None
    price = evidence.payers.price("reader")
    rates = {ttl: _hit_rate(evidence.arm, ttl, min_tokens=0) for ttl in TTL_SECONDS}
    kept = _hit_rate(evidence.arm, "5m", min_tokens=minimum(price))
    longest = max(r.upto[r.memory] for r in asked if r.memory is not None)
    return Claim(
        claim="Cache hit rate on the memory block",
        article="71 %",
        here=f"{rates['5m']:.0%} (5 min), {rates['1h']:.0%} (1 h) if any length were cached; "
        f"{kept:.0%} with {evidence.payers.reader}",
        remark=f"Memory and all before it have at most {longest:,} tokens here: "
        + _too_short(longest),
    )


def _too_short(longest: int) -> str:
    short = [
        f"{name} ({least:,})"
        for name in price_table()["models"]
        if name != "offline"
        and (known := price_of(name)) is not None
        and (least := known.min_cacheable_tokens) is not None
        and least > longest
    ]
    return f"too short for {', '.join(short)}." if short else "long enough for every model."


def _hit_rate(sittings: Sequence[Sitting], ttl: Ttl, *, min_tokens: int) -> float:
    hits = asked = 0
    for sitting in sittings:
        found = splits(sitting.requests, placement="memory", ttl=ttl, min_tokens=min_tokens)
        for request, split in zip(sitting.requests, found, strict=True):
            if request.memory is not None:
                asked += 1
                hits += split.read > 0
    return hits / asked if asked else 0.0


def _rewarm(evidence: Evidence) -> Claim | None:
    seen = changed = 0
    extra = 0.0
    price = evidence.payers.price("reader")
    for sitting in evidence.arm:
        snapshots: set[str] = set()
        cache = PromptCache(ttl_seconds=float("inf"), min_tokens=0)
        for request in sitting.requests:
            split = cache.send(request, breakpoints(request, "memory"))
            if request.memory is not None:
                snapshots.add(request.pieces[request.memory].text)
            if split.written:
                changed += 1
                extra += split.written * (price.cache_write - price.cache_read)
        seen += len(snapshots)
    if not seen:
        return None
    return Claim(
        claim="Turns that pay to warm the cache again after a distillation",
        article="one",
        here=f"{changed / seen:.2f} ({changed} requests for {seen} snapshots), "
        f"${extra / changed:.5f} each",
        remark="Without expiry and minimum length: what distilling alone costs.",
    )


def _episode_list(evidence: Evidence) -> Claim | None:
    if not any(r.summaries is not None for s in evidence.arm for r in s.requests):
        return None
    free, bound = (_episode_change(evidence, least) for least in (0, None))
    return Claim(
        claim="A breakpoint after the list of episodes",
        article="not worth it",
        here=f"{signed(free)} reader input cost if any length were cached, {signed(bound)} with "
        f"{evidence.payers.reader} (5 min)",
        remark="Against a breakpoint after the memory block alone, with the recorded pauses. Above "
        "zero it costs more than it saves.",
    )


def _episode_change(evidence: Evidence, least: int | None) -> float:
    price = evidence.payers.price("reader")
    min_tokens = minimum(price) if least is None else least
    placements: tuple[Placement, Placement] = ("memory", "summaries")
    costs = []
    for placement in placements:
        cost = 0.0
        for sitting in evidence.arm:
            for split in splits(
                sitting.requests, placement=placement, ttl="5m", min_tokens=min_tokens
            ):
                cost += split.uncached * price.input + split.read * price.cache_read
                cost += split.written * price.cache_write
        costs.append(cost)
    return costs[1] / costs[0] - 1 if costs[0] else 0.0


def _first_token(evidence: Evidence) -> Claim:
    mine = [r for s in evidence.arm for r in s.requests]
    whole = [r for s in evidence.arm for r in evidence.full[s.session_id].requests]
    return Claim(
        claim=f"First token under {SHORT_TOKENS:,} and above {LONG_TOKENS:,} input tokens",
        article="1,500 ms and 2,400 ms",
        here=f"modelled from those figures, not measured: {_late(mine)}; "
        f"whole history {_late(whole)}",
        remark="Share of requests under the first and above the second length, and the modelled "
        "mean.",
    )


def _late(requests: Sequence[Request]) -> str:
    sizes = np.array([request.tokens for request in requests] or [0])
    mean = float(np.mean([ttft_ms(size) for size in sizes]))
    short, long = np.mean(sizes < SHORT_TOKENS), np.mean(sizes > LONG_TOKENS)
    return f"{short:.0%} under, {long:.0%} above, {mean:,.0f} ms"


def _calls(sittings: Sequence[Sitting], kind: str) -> list[CompactionCall]:
    return [call for sitting in sittings for call in sitting.calls if call.kind == kind]


def signed(share: float) -> str:
    """Return a share as a signed whole per cent: ``-7 %``."""
    return f"{share:+.0%}".replace("%", " %")
