"""Offline distillation: sentences with a cue become items; what was remembered stays."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.compaction.models import MemoryAnswer
from ctxeng.core.artifacts import MemoryKind
from ctxeng.models.offline.distil import KINDS, distil
from ctxeng.models.offline.prompt import Tagged
from tests.generators import spoken


def note(text: str, low: int = 0, high: int = 5) -> Tagged:
    """Return an episode's note."""
    return Tagged(tag="episode", attributes={"from": str(low), "to": str(high)}, text=text)


def item(item_id: str, text: str, **attributes: str) -> Tagged:
    """Return an item of the memory so far."""
    return Tagged(
        tag="item", attributes={"id": item_id, "kind": "preference", **attributes}, text=text
    )


def items(*pieces: Tagged, target: int = 500) -> list[dict[str, Any]]:
    """Return the distilled items."""
    found: list[dict[str, Any]] = distil(list(pieces), target=target)["items"]
    return found


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Mira: I prefer blue racks.", "preference"),
        ("佐伯: 赤が好きです。", "preference"),
        ("민수: 나는 빨간색을 선호합니다.", "preference"),
        ("Mira: I don't want gold.", "rejection"),
        ("佐伯: 金はなしで。", "rejection"),
        ("Mira: We use blue instead of red.", "rejection"),
        ("Mira: It must not cost more.", "constraint"),
        ("민수: 예산은 삼천 원이다.", "constraint"),
        ("Mira: We agreed on Kestrel.", "repeated_decision"),
        ("佐伯: 会議室に決めた。", "repeated_decision"),
        ("Mira: I plan to travel.", "intent"),
        ("Mira: The id is PX-2291.", "anchor"),
    ],
)
def test_a_sentence_with_a_cue_becomes_an_item_of_its_kind(sentence: str, kind: str) -> None:
    """In three languages, with the speaker told apart from the words."""
    (found,) = items(note(sentence))
    speaker, _, text = sentence.partition(": ")
    assert (found["kind"], found["speaker"], found["text"]) == (kind, speaker, text)


@pytest.mark.parametrize(
    "sentence", ["Nice day.", "いい天気ですね。", "네.", "Do you prefer blue?", ""]
)
def test_small_talk_and_questions_are_not_remembered(sentence: str) -> None:
    """A question states nothing."""
    assert items(note(sentence)) == []


def test_an_item_names_the_messages_it_may_come_from() -> None:
    """The whole core range of its note, both ends included."""
    (found,) = items(note("Mira: I prefer blue.", 6, 9))
    assert found["sources"] == [6, 7, 8, 9]
    (unplaced,) = items(Tagged(tag="episode", attributes={}, text="Mira: I prefer blue."))
    assert unplaced["sources"] == []


def test_what_was_remembered_is_kept_by_its_id_whatever_the_target() -> None:
    """Old items are never given up for new ones."""
    old = [item("a1", "blue racks", speaker="Mira", scope="user"), item("b2", "赤が好き")]
    found = items(*old, note("Mira: I prefer tea."), target=0)
    assert [(entry["keeps"], entry["text"]) for entry in found] == [
        ("a1", "blue racks"),
        ("b2", "赤が好き"),
    ]
    assert (found[0]["speaker"], found[0]["scope"], found[0]["kind"]) == (
        "Mira",
        "user",
        "preference",
    )


WISH, DECISION = "I like it.", "We decided to use PX-2291 for Kestrel now."


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (2, []),
        (3, [WISH]),
        (10, [WISH]),
        (11, [DECISION]),
        (13, [DECISION]),
        (14, [DECISION, WISH]),
    ],
)
def test_within_its_target_the_most_telling_sentences_are_remembered_first(
    target: int, expected: list[str]
) -> None:
    """By hand: the decision costs 11 tokens, the wish 3; what does not fit lets the next in."""
    found = items(note(f"Mira: {WISH} Mira: {DECISION}"), target=target)
    assert [entry["text"] for entry in found] == expected


def test_a_change_replaces_the_item_that_shares_its_words() -> None:
    """Named by the old id; an unrelated item is left alone."""
    old = [item("a1", "the rack is blue"), item("b2", "lunch at noon")]
    found = items(*old, note("Mira: The rack is red instead, not blue, 17 cm."))
    assert found[-1]["replaces"] == "a1"


@pytest.mark.parametrize(
    "sentence",
    [
        "Mira: I prefer the rack blue.",
        "Mira: Lunch instead of dinner, I prefer it.",
        "Mira: The rack has 17 slots now.",
    ],
)
def test_without_a_word_of_change_or_enough_shared_words_nothing_is_replaced(
    sentence: str,
) -> None:
    """Two facts may live side by side; one shared word of two is not enough."""
    found = items(item("a1", "the rack is blue"), note(sentence))
    assert found[-1]["replaces"] is None


def test_every_kind_that_is_written_exists() -> None:
    """The cue table and the memory's kinds do not drift apart."""
    assert {kind for kind, _ in KINDS} <= set(get_args(MemoryKind))


@given(
    st.lists(st.tuples(spoken, st.integers(0, 50)), max_size=5),
    st.lists(spoken, max_size=3),
    st.integers(0, 300),
)
@settings(max_examples=50, deadline=None)
def test_the_answer_always_keeps_to_the_tools_schema(
    notes: list[tuple[str, int]], remembered: list[str], target: int
) -> None:
    """Whatever stood in the notes, the distiller can read it; old items come first and whole."""
    old = [item(f"id{i}", text) for i, text in enumerate(remembered)]
    found = distil([*old, *(note(text, low, low + 3) for text, low in notes)], target=target)
    answer = MemoryAnswer.model_validate(found)
    assert [entry.text for entry in answer.items[: len(old)]] == remembered
