"""Guards: what counts as no summary, and in which script a text is written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ctxeng.compaction.guards import check_summary, drifted, script_of
from ctxeng.core.errors import CompactionFailed
from ctxeng.tokens import HeuristicCounter
from tests.generators import spoken

COUNTER = HeuristicCounter()
LONG = " ".join(f"word{i}" for i in range(200))


def checked(text: str, source: str, room_tokens: int = 20) -> str:
    """Return the reason for refusing a summary, empty when it passes."""
    try:
        check_summary(text, source, counter=COUNTER, room_tokens=room_tokens)
    except CompactionFailed as refused:
        return refused.reason
    return ""


@pytest.mark.parametrize(
    ("text", "source", "reason"),
    [
        ("", LONG, "empty"),
        (" \n\t", LONG, "empty"),
        ("", "", "empty"),
        ("the budget is 1,850", LONG, ""),
        (LONG, LONG, "repeats_input"),
        (LONG.upper(), LONG, "repeats_input"),
        (LONG.replace(" ", "\n"), LONG, "repeats_input"),
        (LONG + " and more", LONG, "longer_than_input"),
        (" ".join(LONG.split()[:179]), LONG, ""),  # 89.5 % of the words: under the share of 90
        (" ".join(LONG.split()[:182]), LONG, "repeats_input"),  # 90 % of its length
        (" ".join(LONG.split()[20:]), LONG, "repeats_input"),  # whichever is left out
        ("In short: " + " ".join(LONG.split()[:185]), LONG, "repeats_input"),  # and put before
        (" ".join(reversed(LONG.split())), LONG, "repeats_input"),
        (LONG[: len(LONG) // 2] * 2, LONG, ""),  # half of it twice says half of it
        ("予算" * 400, LONG, "longer_than_input"),
        ("!" * 100, "?" * 100, ""),  # no words at all to repeat
    ],
)
def test_a_summary_that_is_none_is_refused_with_its_reason(
    text: str, source: str, reason: str
) -> None:
    """Empty, longer than input and target, or the input again (200 words, 24 % over target)."""
    assert checked(text, source) == reason


@pytest.mark.parametrize(("room", "reason"), [(4, "longer_than_input"), (5, "")])
def test_a_note_on_a_tiny_input_may_be_a_whole_sentence(room: int, reason: str) -> None:
    """The note has 20 characters, five tokens, and its input two."""
    assert checked("Mira agrees at last.", "yes: ok", room) == reason


@settings(max_examples=50, deadline=None)
@given(source=spoken)
def test_a_short_input_may_be_returned_as_it_is(source: str) -> None:
    """Within the room nothing is too long and nothing a repetition."""
    assert checked(source, source, COUNTER.count(source)) == ""


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("the budget", "latin"),
        ("予算は三千円です", "kana"),
        ("会議室の件 deadline is Friday", "latin"),
        ("カタカナ", "kana"),
        ("预算三千", "han"),
        ("예산은 삼천 엔", "hangul"),
        ("бюджет", "cyrillic"),
        ("προϋπολογισμός", "other"),
        ("", "none"),
        ("1,850 / 17 😀 \x00", "none"),
        ("a予算は三千円までです", "kana"),
    ],
)
def test_the_script_is_that_of_most_letters(text: str, script: str) -> None:
    """Japanese counts as kana as soon as a tenth of its letters is."""
    assert script_of(text) == script


@pytest.mark.parametrize(
    ("summary", "sources", "expected"),
    [
        ("the budget", ["予算は三千円です"], True),
        ("予算は三千円", ["予算は三千円です"], False),
        ("예산", ["the budget"], True),
        ("1,850", ["予算は三千円です"], False),  # numbers only: no script to drift into
        ("the budget", ["1,850"], False),
        ("予算は", ["προϋπολογισμός"], False),
        ("the budget", ["予算は", "the budget was agreed long before"], False),
        ("the budget", [], False),
    ],
)
def test_a_summary_in_another_script_has_drifted(
    summary: str, sources: list[str], expected: bool
) -> None:
    """The script of all sources together decides; where there is none nothing can drift."""
    assert drifted(summary, sources) is expected
