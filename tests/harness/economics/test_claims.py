"""The article's figures beside ours: each from a session whose answer is known by hand."""

from __future__ import annotations

from ctxeng.harness.economics.claims import Claim, Evidence, claims
from ctxeng.harness.economics.turns import Request, Sitting
from tests.harness.economics.made import PAYERS, call, request, sitting


def evidence(*arm: Sitting, full: Sitting | None = None, **overlaps: Sitting) -> Evidence:
    whole = full or sitting(request(10_000, seq=5), arm="full")
    return Evidence(
        arm=arm,
        full={"s": whole},
        overlaps={int(name[1:]): [played] for name, played in overlaps.items()},
        payers=PAYERS,
    )


def found(given: Evidence, beginning: str) -> Claim:
    return next(claim for claim in claims(given) if claim.claim.startswith(beginning))


def remembering(at: float, memory: str, episodes: str = "e", seq: int = 0) -> Request:
    """System text, memory, the list of episodes, the question."""
    return request(
        ("system", 100), (memory, 1000), (episodes, 500), (f"q{at}", 20),
        seq=seq, at=at, memory=1, summaries=2,
    )  # fmt: skip


def test_the_saving_is_told_without_and_with_caching() -> None:
    """One request of 3,000 instead of 10,000 tokens: 70 % less, cached or not (nothing is read)."""
    claim = found(evidence(sitting(request(3_000, seq=5))), "API cost")
    assert claim.here == "-70 % without caching, -70 % where both cache (5 min)"
    assert "10,000 tokens on average" in claim.remark


def test_overlap_is_told_by_what_is_read_and_with_the_instructions() -> None:
    """100 to 117 tokens read is 17 %; with 50 tokens of instructions, 150 to 167, 11 %."""
    base, one = (sitting(calls=(call(given=n),) * 3) for n in (100, 117))
    claim = found(evidence(base, o0=base, o1=one), "Summariser input with 1 message")
    assert claim.here == "+17 % of what is read, +11 % with the instructions"


def test_overlap_is_not_told_where_no_arm_shows_it() -> None:
    """No claim without evidence."""
    told = [claim.claim for claim in claims(evidence(sitting(calls=(call(),))))]
    assert not [name for name in told if "overlap" in name]


def test_a_distillation_has_a_price_and_a_distance() -> None:
    """2,000 in and 400 out: 0.006 + 0.006 dollars; 18 turns apart."""
    calls = tuple(call("memory", at=at, given=1_950, out=400) for at in (20, 38, 56))
    claim = found(evidence(sitting(calls=calls, messages=60)), "A distillation")
    assert claim.here == "$0.0120, every 18 turns"


def test_memory_hits_are_told_by_lifetime_and_by_minimum() -> None:
    """Written at 0 s and, for five minutes, anew at 400 s; 1,100 tokens pass Sonnet's minimum."""
    asked = [remembering(at, "m1") for at in (0, 60, 400, 460)]
    claim = found(evidence(sitting(*asked)), "Cache hit rate")
    assert (
        claim.here == "50% (5 min), 75% (1 h) if any length were cached; 50% with claude-sonnet-4-6"
    )
    assert "at most 1,100 tokens" in claim.remark
    assert "claude-haiku-4-5 (4,096)" in claim.remark
    assert "claude-sonnet-4-6" not in claim.remark


def test_each_snapshot_is_warmed_once() -> None:
    """Two snapshots, five requests, however long the pauses are."""
    asked = [remembering(at, name) for at, name in ((0, "m1"), (9e9, "m1"), (9.1e9, "m2"), (9.2e9, "m2"), (9.3e9, "m2"))]  # fmt: skip
    claim = found(evidence(sitting(*asked)), "Turns that pay to warm")
    assert claim.here.startswith("1.00 (2 requests for 2 snapshots)")


def test_a_list_of_episodes_that_changes_each_time_is_not_worth_a_breakpoint() -> None:
    """Written every time and read never, it costs a quarter more than uncached."""
    asked = [remembering(at, "m", f"e{at}") for at in (0, 10, 20)]
    claim = found(evidence(sitting(*asked)), "A breakpoint after")
    assert claim.here.startswith("+")


def test_a_list_of_episodes_that_stays_is_worth_one() -> None:
    """By hand, in millionths of a dollar: 1,100 or 1,600 tokens written once and read twice."""
    asked = [remembering(at, "m", "e") for at in (0, 10, 20)]
    claim = found(evidence(sitting(*asked)), "A breakpoint after")
    before = 1100 * 3.75 + 2 * 1100 * 0.3 + 3 * 520 * 3
    after = 1600 * 3.75 + 2 * 1600 * 0.3 + 3 * 20 * 3
    assert claim.here.startswith(f"{after / before - 1:+.0%}".replace("%", " %"))


def test_the_first_token_is_said_to_be_modelled() -> None:
    """Nothing here measures a provider."""
    claim = found(evidence(sitting(request(2_000), request(7_000))), "First token")
    assert claim.here.startswith("modelled from those figures, not measured: 50% under, 50% above")
