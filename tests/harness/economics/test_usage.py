"""The prompt cache of a finished run: foretold by the rules, and as it was billed."""

from __future__ import annotations

import json

from ctxeng.harness.economics.caching import Split
from ctxeng.harness.economics.usage import CacheUse, cache_uses


def context(probe: str, *, session: str = "s", memory: str = "m/v1", system: str = "Be brief.", time: str = "9:30") -> dict[str, object]:  # fmt: skip
    """System text and memory with a breakpoint after it, the time and a message, the question."""
    blocks = [
        {"kind": "system", "tokens": 100, "artifacts": [], "seqs": [], "text": system},
        {"kind": "memory", "tokens": 1000, "artifacts": [memory], "seqs": [[0, 5]], "cache_breakpoint": True},
        {"kind": "now", "tokens": 20, "artifacts": [], "seqs": [], "text": time},
        {"kind": "recent", "tokens": 30, "artifacts": [], "seqs": [[9, 9]]},
        {"kind": "question", "tokens": 10, "artifacts": [], "seqs": []},
    ]  # fmt: skip
    return {"arm": "a", "session_id": session, "probe_id": probe, "as_of": 9, "blocks": json.dumps(blocks)}  # fmt: skip


def usage(role: str = "reader", given: int | None = 60, read: int = 0, written: int = 0) -> dict[str, object]:  # fmt: skip
    return {"arm": "a", "role": role, "input_tokens": given, "cached_tokens": read, "cache_write_tokens": written}  # fmt: skip


def test_probes_of_one_session_share_the_head_of_their_prompts() -> None:
    """Three probes: one writes 1,100 tokens, two read them; another session writes its own."""
    rows = [context("p1"), context("p2"), context("p3"), context("p4", session="t")]
    calls = [usage(written=1100), usage(read=1100), usage(role="judge"), usage(given=None)]
    assert cache_uses(rows, calls, min_tokens=1024) == [
        CacheUse(
            arm="a",
            requests=4,
            foretold=Split(read=2200, written=2200, uncached=240),
            billed=Split(read=1100, written=1100, uncached=120),
        )
    ]


def test_another_time_of_asking_is_the_same_prefix() -> None:
    """It stands behind the breakpoint."""
    (found,) = cache_uses([context("p1"), context("p2", time="9:31")], [], min_tokens=1024)
    assert found.foretold == Split(read=1100, written=1100, uncached=120)


def test_another_snapshot_or_system_text_is_another_prefix() -> None:
    """A time inside the system text, as a product may have it, is another text."""
    for changed in (context("p2", memory="m/v2"), context("p2", system="It is 9:31.")):
        (found,) = cache_uses([context("p1"), changed], [], min_tokens=1024)
        assert found.foretold.read == 0
        assert found.billed == Split()


def test_a_head_below_the_minimum_is_foretold_uncached() -> None:
    """As the provider does: without an error, at the full price."""
    (found,) = cache_uses([context("p1"), context("p2")], [], min_tokens=2048)
    assert found.foretold == Split(uncached=2320)
