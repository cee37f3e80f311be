"""The presence test: values in texts, all groups, any value, no negation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.presence import groups_present, values_present
from tests.generators import WORDS, texts

expectations = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), min_size=1, max_size=3
)


@pytest.mark.parametrize(
    ("expect", "found_in", "present"),
    [
        ([["$500"]], ["The budget is $500."], True),
        ([["$500"]], ["The budget is $5000."], False),
        ([["$500"]], ["It is not $500 any more."], True),
        ([["PX-2291"]], ["PX-2291は却下されました"], True),
        ([["三千円", "¥3,000"]], ["予算は3,000円"], True),
        ([["red"], ["gold"]], ["red curtains", "gold frames"], True),
        ([["red"], ["gold"]], ["red curtains", "red frames"], False),
        ([["red", "gold"]], ["gold frames"], True),
        ([["예산"]], ["", "새 예산안"], True),
        ([["maxRetryCount"]], ["max_retry_count = 3"], True),
        ([], ["anything"], False),
        ([["red"]], [], False),
        ([["red"]], [""], False),
        ([[]], ["red"], False),
        ([["</memory>"]], ["a </memory> b"], True),
        ([["a\x00"]], ["a\x00"], True),
    ],
)
def test_every_group_must_be_met_somewhere(
    expect: list[list[str]], found_in: list[str], present: bool
) -> None:
    """Groups may be met in different texts; denial and supersession play no part."""
    assert values_present(expect, found_in) is present


def test_one_text_tells_which_groups_it_meets() -> None:
    """The groups of a list are followed one by one."""
    assert groups_present([["red"], ["青", "blue"], ["gold"]], "a blue and a gold one") == {1, 2}


@settings(max_examples=50, deadline=None)
@given(expectations, st.lists(texts, max_size=4), texts)
def test_more_text_never_takes_a_value_away(
    expect: list[list[str]], shown: list[str], more: str
) -> None:
    """What a prompt holds, a longer prompt holds too: a full history cannot score lower."""
    assert values_present(expect, [*shown, more]) or not values_present(expect, shown)


@settings(max_examples=50, deadline=None)
@given(expectations, texts)
def test_all_groups_present_is_the_value_present(expect: list[list[str]], text: str) -> None:
    """The two forms of the test agree on one text."""
    assert values_present(expect, [text]) == (len(groups_present(expect, text)) == len(expect))
