"""Prices: by model and kind of token, from a dated table; unknown is None."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.calls import Usage
from ctxeng.models.prices import cost_usd, price_of, price_table

MODELS = sorted(price_table()["models"])
LINEAR = [model for model, entry in price_table()["models"].items() if "long_prompt" not in entry]
TOKENS = st.integers(0, 1_000_000)


def test_the_table_says_where_and_when_its_prices_are_from() -> None:
    """Reports print both."""
    table = price_table()
    assert table["source"].startswith("Anthropic")
    assert datetime.date.fromisoformat(table["date"])


@pytest.mark.parametrize("model", MODELS)
def test_every_entry_of_the_table_can_be_read(model: str) -> None:
    """Reading from the cache is cheaper than plain input, writing dearer, a batch half of it."""
    price = price_of(model)
    assert price is not None
    assert price.cache_read <= price.input <= price.cache_write <= price.cache_write_1h
    assert price.output >= price.input >= 0
    assert price.batch_input == pytest.approx(price.input / 2)
    assert price.batch_output == pytest.approx(price.output / 2)
    assert price.min_cacheable_tokens in (512, 1024, 2048, 4096, None)
    assert price.window_tokens in (200_000, 1_000_000)


def test_a_prefix_kept_for_an_hour_costs_twice_its_input() -> None:
    """By hand for Sonnet 4.6: 3.75 dollars a million for five minutes, 6 for an hour."""
    written = Usage(cache_write_tokens=1_000_000)
    assert cost_usd("claude-sonnet-4-6", written) == pytest.approx(3.75)
    assert cost_usd("claude-sonnet-4-6", written, ttl="1h") == pytest.approx(6)


def test_reading_from_the_cache_is_priced_by_model() -> None:
    """Not a tenth of the input everywhere: Sonnet 5.5 takes a twentieth of its 2 dollars."""
    read = Usage(cached_tokens=1_000_000)
    assert cost_usd("claude-sonnet-5-5", read) == pytest.approx(0.10)
    assert cost_usd("claude-sonnet-5", read) == pytest.approx(0.20)


@pytest.mark.parametrize(("cached", "expected"), [(60_000, 0.0051), (60_001, 0.0255)])
def test_a_long_prompt_pays_its_own_price_for_every_token(cached: int, expected: float) -> None:
    """Haiku 5.5 counts cached tokens too: up to 100,000 in all 0.10 and 0.50, above five times."""
    usage = Usage(input_tokens=40_000, cached_tokens=cached, output_tokens=1_000)
    assert cost_usd("claude-haiku-5-5", usage) == pytest.approx(expected, rel=1e-3)


def test_each_kind_of_token_has_its_own_price() -> None:
    """By hand for Haiku 4.5 at 1 and 5 dollars a million: 1 + 0.1 + 1.25 + 5."""
    usage = Usage(
        input_tokens=1_000_000,
        cached_tokens=1_000_000,
        cache_write_tokens=1_000_000,
        output_tokens=1_000_000,
    )
    assert cost_usd("claude-haiku-4-5", usage) == pytest.approx(7.35)
    assert cost_usd("claude-haiku-4-5", usage, batch=True) == pytest.approx(7.35 / 2)


@pytest.mark.parametrize("model", ["claude-haiku-4-5-20251001", "claude-haiku-4-5-20990101"])
def test_a_dated_model_has_the_price_of_its_name(model: str) -> None:
    """Providers answer with dated ids."""
    assert price_of(model) == price_of("claude-haiku-4-5")


@pytest.mark.parametrize(
    "model", ["", "gpt-5", "claude-haiku", "claude-haiku-4-5-2025", "claude-haiku-4-5-latest"]
)
def test_an_unknown_model_has_no_price_and_costs_none(model: str) -> None:
    """None, not zero: a report says that it does not know."""
    assert price_of(model) is None
    assert cost_usd(model, Usage(input_tokens=5)) is None


def test_the_offline_model_is_known_and_free() -> None:
    """Zero is a price."""
    assert cost_usd("offline", Usage(input_tokens=10**6, output_tokens=10**6)) == 0


@given(st.sampled_from(LINEAR), TOKENS, TOKENS, TOKENS, TOKENS)
@settings(max_examples=50, deadline=None)
def test_the_cost_of_two_calls_is_the_sum_of_their_costs(
    model: str, given_: int, cached: int, written: int, output: int
) -> None:
    """Prices are linear, so ledgers can be added up."""
    one = Usage(input_tokens=given_, cached_tokens=cached)
    two = Usage(cache_write_tokens=written, output_tokens=output)
    first, second, both = (cost_usd(model, usage) for usage in (one, two, one + two))
    assert first is not None
    assert second is not None
    assert both == pytest.approx(first + second)
