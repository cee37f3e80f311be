"""The prompt cache of the local API against the provider's rules. Token counts are by hand."""

from __future__ import annotations

from typing import Any

from ctxeng.fakeapi.prompt_cache import InputUsage, PromptCache
from tests.fakeapi.conftest import body

LONG = "a" * 4 * 4093  # 4,093 tokens and 3 around the block: 4,096, Haiku 4.5's minimum
SHORT = "b" * 4 * 97  # 100 tokens with its border
QUESTION = "c" * 4 * 17  # 20 tokens with its border


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def block(text: str, ttl: str | None = None) -> dict[str, Any]:
    mark = {"cache_control": {"type": "ephemeral", **({} if ttl == "5m" else {"ttl": ttl})}}
    return {"type": "text", "text": text, **(mark if ttl else {})}


def asked(*system: dict[str, Any], question: str = QUESTION, **more: Any) -> dict[str, Any]:
    return body(system=list(system), messages=[{"role": "user", "content": question}], **more)


def usage(uncached: int, read: int = 0, written_5m: int = 0, written_1h: int = 0) -> InputUsage:
    return InputUsage(uncached=uncached, read=read, written_5m=written_5m, written_1h=written_1h)


def test_a_marked_prefix_is_written_once_and_then_read() -> None:
    """The question behind it is never cached."""
    cache = PromptCache(Clock())
    assert cache.charge(asked(block(LONG, "5m"))) == usage(20, written_5m=4096)
    assert cache.charge(asked(block(LONG, "5m"))) == usage(20, read=4096)
    assert cache.charge(asked(block(LONG, "5m"), question="d" * 4 * 7)) == usage(10, read=4096)


def test_a_prefix_under_the_models_minimum_is_not_cached() -> None:
    """4,095 tokens are one too few on Haiku 4.5; nothing is said, and everything costs in full."""
    cache = PromptCache(Clock())
    for _ in range(2):
        assert cache.charge(asked(block(LONG[4:], "5m"))) == usage(4115)


def test_without_a_mark_nothing_is_cached() -> None:
    """Caching is asked for."""
    cache = PromptCache(Clock())
    for _ in range(2):
        assert cache.charge(asked(block(LONG))) == usage(4116)


def test_an_entry_lives_five_minutes_from_its_last_use() -> None:
    """A read renews it; after 300 s without one it is gone."""
    clock = Clock()
    cache = PromptCache(clock)
    cache.charge(asked(block(LONG, "5m")))
    for clock.now in (299.0, 598.0):
        assert cache.charge(asked(block(LONG, "5m"))).read == 4096
    clock.now = 898.0
    assert cache.charge(asked(block(LONG, "5m"))) == usage(20, written_5m=4096)


def test_an_hour_long_entry_outlives_a_five_minute_one() -> None:
    """Each prefix is billed under its own time to live."""
    clock = Clock()
    cache = PromptCache(clock)
    both = asked(block(LONG, "1h"), block(SHORT, "5m"))
    assert cache.charge(both) == usage(20, written_1h=4096, written_5m=100)
    clock.now = 301.0
    assert cache.charge(both) == usage(20, read=4096, written_5m=100)


def test_a_change_in_front_makes_the_whole_prefix_new() -> None:
    """A prefix is everything before the mark, tools and model included."""
    cache = PromptCache(Clock())
    cache.charge(asked(block(SHORT), block(LONG, "5m")))
    changed = cache.charge(asked(block("x" + SHORT[1:]), block(LONG, "5m")))
    other_model = cache.charge(asked(block(SHORT), block(LONG, "5m"), model="claude-opus-4-6"))
    assert (changed.read, other_model.read) == (0, 0)


def test_a_growing_conversation_reads_what_its_last_turn_wrote() -> None:
    """An entry is found from a mark up to 20 blocks behind it, and no further."""
    cache = PromptCache(Clock())
    cache.charge(asked(block(LONG, "5m")))
    near = cache.charge(asked(block(LONG), *[block(SHORT)] * 18, block(SHORT, "5m")))
    assert near == usage(20, read=4096, written_5m=1900)
    far = PromptCache(Clock())
    far.charge(asked(block(LONG, "5m")))
    assert far.charge(asked(block(LONG), *[block(SHORT)] * 19, block(SHORT, "5m"))).read == 0


def test_one_mark_for_the_whole_request_stands_at_its_end() -> None:
    """Automatic caching puts the breakpoint on the last block."""
    cache = PromptCache(Clock())
    whole = asked(block(LONG), cache_control={"type": "ephemeral"})
    assert cache.charge(whole) == usage(0, written_5m=4116)
    assert cache.charge(whole) == usage(0, read=4116)
