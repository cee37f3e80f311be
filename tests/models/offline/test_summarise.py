"""Extractive summaries: the most telling sentences, in order, within their target."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.models.offline.prompt import Tagged
from ctxeng.models.offline.summarise import CUT, SECTIONS, salience, section_of, summarise
from ctxeng.models.offline.words import estimated_tokens
from tests.generators import spoken


def said(text: str, speaker: str = "", **attributes: str) -> Tagged:
    """Return a message of a transcript."""
    named = {"speaker": speaker, **attributes} if speaker else attributes
    return Tagged(tag="message", attributes=named, text=text)


TALK = [
    said("Good morning. How are you?", "Mira"),
    said("We decided to use the blue rack for Kestrel. Nice day.", "佐伯"),
    said("予算は三千円までです。いい天気ですね。", "佐伯"),
    said("마감은 3월 17일까지입니다. 네.", "민수"),
    said("ok", "Mira"),
]


@pytest.mark.parametrize(
    ("telling", "small_talk"),
    [
        ("We decided to use PX-2291.", "That sounds very nice to me."),
        ("The limit is 40 calls.", "The weather is nice."),
        ("予算は三千円までです", "いい天気ですね"),
        ("마감은 17일까지입니다", "날씨가 좋네요"),
        ("I prefer the blue one over there.", "Yes."),
        ("The rack is 40 cm wide today.", "Is the rack wide today?"),
    ],
)
def test_facts_tell_more_than_small_talk(telling: str, small_talk: str) -> None:
    """Cues, numbers, identifiers and names, in three languages."""
    assert salience(telling) > salience(small_talk)


@pytest.mark.parametrize(
    ("sentence", "section"),
    [
        ("We agreed on the blue rack.", "Decisions"),
        ("赤にします。", "Decisions"),
        ("It must be ready by the end.", "Constraints"),
        ("예산은 삼천 원입니다.", "Constraints"),
        ("The deploy failed again.", "Failed attempts"),
        ("Who pays for it?", "Open questions"),
        ("I will send it tomorrow.", "Next steps"),
        ("I would rather have tea.", "Goal"),
        ("The rack stands in the hall.", "Confirmed facts"),
    ],
)
def test_a_sentence_goes_under_the_heading_of_its_first_cue(sentence: str, section: str) -> None:
    """What has no cue is a fact."""
    assert section_of(sentence) == section


def test_the_most_telling_sentences_are_kept_in_their_order_with_their_speakers() -> None:
    """A paragraph for an episode, by hand: 14 + 14 + 15 tokens; greetings leave first."""
    assert summarise(TALK, kind="episode", target=43) == (
        "佐伯: We decided to use the blue rack for Kestrel. 佐伯: 予算は三千円までです。 "
        "민수: 마감은 3월 17일까지입니다."
    )


def test_a_rolling_state_has_headings_with_a_line_for_each_fact() -> None:
    """Headings with nothing under them are left out, the others keep their order."""
    text = summarise(TALK, kind="rolling", target=43)
    assert text == (
        "Decisions:\n- 佐伯: We decided to use the blue rack for Kestrel.\n"
        "Constraints:\n- 佐伯: 予算は三千円までです。\n- 민수: 마감은 3월 17일까지입니다."
    )
    headings = [line[:-1] for line in text.splitlines() if line.endswith(":")]
    assert headings == [name for name in SECTIONS if name in headings]


def test_a_state_that_is_rewritten_keeps_its_speakers_and_grows_no_second_dash() -> None:
    """The old state is read without its headings and marks."""
    old = "Decisions:\n- Mira: We chose PX-2291.\nConstraints:\n- 佐伯: 予算は三千円までです。"
    again = summarise([Tagged(tag="previous", attributes={}, text=old)], kind="rolling", target=200)
    assert again == old
    longer = summarise(
        [Tagged(tag="previous", attributes={}, text=old), said("It must be blue.", "민수")],
        kind="rolling",
        target=200,
    )
    assert longer == f"{old}\n- 민수: It must be blue."


def test_overlap_and_the_target_itself_are_not_summarised_again() -> None:
    """They are there for understanding only."""
    pieces = [
        said("We decided on green.", "Mira", overlap="yes"),
        said("We decided on blue.", "Mira"),
        Tagged(tag="section", attributes={"name": "target_tokens"}, text="200"),
    ]
    assert summarise(pieces, kind="episode", target=100) == "Mira: We decided on blue."


def test_a_sentence_that_was_said_twice_is_kept_once() -> None:
    """Repetition is the first thing a summary leaves out."""
    pieces = [said("The budget is 40.", "Mira"), said("The budget is 40.", "佐伯")]
    assert summarise(pieces, kind="episode", target=100) == "Mira: The budget is 40."


@pytest.mark.parametrize("kind", ["episode", "node", "rolling"])
@pytest.mark.parametrize("pieces", [[], [said("")], [said("x", overlap="yes")]])
def test_without_anything_to_summarise_the_summary_is_empty(
    kind: str, pieces: list[Tagged]
) -> None:
    """Whoever asks must call that a failure."""
    assert summarise(pieces, kind=kind, target=100) == ""


def test_when_nothing_fits_the_shortest_sentence_stands_alone() -> None:
    """A summary is never empty for being too small."""
    pieces = [said("We decided to use the blue rack."), said("It is 40 cm.")]
    assert summarise(pieces, kind="episode", target=0) == "It is 40 cm."


def test_every_sentence_of_a_paragraph_is_finished() -> None:
    """So that the next summary can take it apart again."""
    pieces = [said("the budget is 40"), said("予算は三千円"), said("done!")]
    text = summarise(pieces, kind="episode", target=100)
    assert text == "the budget is 40. 予算は三千円. done!"


@given(st.lists(spoken, max_size=8), st.integers(0, 120), st.sampled_from(["episode", "rolling"]))
@settings(max_examples=50, deadline=None)
def test_a_summary_keeps_to_its_target_and_says_only_what_was_said(
    talk: list[str], target: int, kind: str
) -> None:
    """Headings aside; the one exception is a single sentence when none fits."""
    text = summarise([said(line, "Mira") for line in talk], kind=kind, target=target)
    lines = [line for line in text.splitlines() if line.rstrip(":") not in SECTIONS]
    kept = [line.removeprefix("- ") for line in lines] if kind == "rolling" else [text][: len(text)]
    everything = " ".join(f"Mira: {line}" for line in talk)
    for line in kept:
        for part in line.split("Mira: "):
            assert part.strip().rstrip(".") in everything
    if kind == "rolling" and len(kept) > 1:
        assert sum(estimated_tokens(line) for line in kept) <= target


@pytest.mark.parametrize("kind", ["rolling", "episode"])
@pytest.mark.parametrize(
    ("endless", "telling"),
    [
        ("and then we went on about this and that " * 1000, "we decided on PX-2291 for 40 euros"),
        ("それからあれこれと話が続いていて" * 2500, "予算は1,850円に決定"),
        ("x" * 40_000, "the deadline is 2027-03-17"),
    ],
)
def test_a_text_without_a_full_stop_is_kept_in_parts(endless: str, telling: str, kind: str) -> None:
    """What tells most of 40,000 characters is kept, seen to be cut; the rest is left."""
    half = len(endless) // 2
    summary = summarise(
        [said(f"{endless[:half]} {telling} {endless[half:]}", "Mira"), said("ok.", "Bo")],
        kind=kind, target=200,
    )  # fmt: skip
    assert telling in summary
    assert CUT in summary
    assert estimated_tokens(summary) <= 250


def test_a_long_sentence_is_still_one() -> None:
    """By hand: 198 of 200 tokens; the one candidate is kept, longer than its target as it is."""
    sentence = " ".join(["word"] * 158)
    assert estimated_tokens(sentence) == 198
    assert summarise([said(sentence)], kind="episode", target=60) == f"{sentence}."
