"""Money along a session, by hand at 3 and 15 dollars a million (reader), 1 and 5 (summariser)."""

from __future__ import annotations

import numpy as np
import pytest

from ctxeng.core.errors import SettingsError
from ctxeng.harness.economics.arms import arm_economics
from ctxeng.harness.economics.latency import ttft_ms
from ctxeng.harness.economics.money import CACHINGS, NO_CACHE, Caching, Payers, pays_from, spending
from tests.harness.economics.made import PAYERS, call, request, sitting

MOVING = Caching(placement="moving")


def test_a_turn_costs_its_request_its_answer_and_the_compaction_after_it() -> None:
    """1,000 in and 100 out at turn 1; an episode of 150 in and 20 out at turn 3."""
    played = sitting(request(1000, seq=1, answer_tokens=100), calls=(call(at=3),), messages=5)
    spent = spending(played, NO_CACHE, PAYERS)
    reader, episode = 1000 * 3e-6 + 100 * 15e-6, 150 * 1e-6 + 20 * 5e-6
    assert spent == pytest.approx([0, reader, reader, reader + episode, reader + episode])


def test_a_cached_prompt_pays_for_writing_and_then_for_reading() -> None:
    """2,000 tokens written at 3.75 dollars a million, read at 0.30; an hour's writing costs 6."""
    asked = [request(2000, seq=0, at=0), request(2000, seq=1, at=60)]
    for ttl, price in (("5m", 3.75e-6), ("1h", 6e-6)):
        spent = spending(sitting(*asked), Caching(placement="moving", ttl=ttl), PAYERS)  # type: ignore[arg-type]
        assert spent[0] == pytest.approx(2000 * price)
        assert spent[1] - spent[0] == pytest.approx(2000 * 0.3e-6)


@pytest.mark.parametrize(
    ("arm", "full", "turn"),
    [
        ([2, 3, 4], [1, 3, 6], 2),
        ([1, 2, 3], [2, 3, 4], 0),
        ([2, 2, 5], [1, 3, 4], None),
        ([1, 2], [1, 2], None),
        ([], [], None),
        ([1, 5, 6, 7], [2, 4, 7, 9], 2),
    ],
)
def test_an_arm_pays_from_the_turn_it_stays_cheaper(arm: list[float], full: list[float], turn: int | None) -> None:  # fmt: skip
    """Being cheaper for a while does not count, nor does costing the same."""
    assert pays_from(np.array(arm, dtype=float), np.array(full, dtype=float)) == turn


def test_a_model_without_a_price_cannot_pay() -> None:
    """The message says whose price is wanted."""
    with pytest.raises(SettingsError, match=r"economics\.reader must be .*, got 'gpt-x'"):
        Payers(reader="gpt-x", summariser="claude-haiku-4-5", distiller="offline").price("reader")


def test_an_arm_is_compared_with_the_whole_history_of_the_same_sessions() -> None:
    """Half the reader's tokens, and an episode of 0.25 millidollars: saved 1.25 of 3."""
    full = sitting(request(1000, seq=4), arm="full")
    mine = sitting(request(500, seq=4), calls=(call(at=2),))
    found = arm_economics([mine], {"s": full}, PAYERS)
    cost = found.cost()
    assert cost.usd_per_1000_turns == pytest.approx((500 * 3e-6 + 250e-6) * 100)
    assert cost.saved_share == pytest.approx(1.25 / 3)
    assert (cost.pays_from_turn, cost.paying_sessions) == (4, 1)
    assert found.compaction["episode"].usd == pytest.approx(250e-6)
    assert (found.turns, found.requests, found.input_tokens) == (10, 1, 500)
    assert found.along[4] == 500
    assert found.along[0] is None
    assert [c.caching for c in found.costs] == list(CACHINGS)


def test_an_arm_that_is_never_cheaper_pays_from_nowhere() -> None:
    """And its saving is negative, not zero."""
    full = sitting(request(1000, seq=4), arm="full")
    mine = sitting(request(1000, seq=4), calls=(call(at=2),))
    cost = arm_economics([mine], {"s": full}, PAYERS).cost()
    assert (cost.pays_from_turn, cost.paying_sessions) == (None, 0)
    assert cost.saved_share is not None
    assert cost.saved_share < 0


def test_a_session_without_a_request_costs_nothing_and_saves_nothing() -> None:
    """A chat nobody answered: undefined, not zero."""
    cost = arm_economics([sitting()], {"s": sitting(arm="full")}, PAYERS).cost()
    assert (cost.usd_per_1000_turns, cost.saved_share, cost.read_share) == (0, None, None)


@pytest.mark.parametrize(
    ("tokens", "milliseconds"),
    [(0, 1500), (3_000, 1500), (4_500, 1950), (6_000, 2400), (43_000, 3200), (500_000, 4000)],
)
def test_the_first_token_follows_the_articles_figures(tokens: int, milliseconds: float) -> None:
    """Straight lines between 3,000, 6,000 and 80,000 tokens, flat outside."""
    assert ttft_ms(tokens) == pytest.approx(milliseconds)
