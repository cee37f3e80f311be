"""Nothing is said twice: by message, by range, by words; and nothing is lost by that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ctxeng.context.budget import Section
from ctxeng.context.dedupe import fit_once
from ctxeng.context.sections import artifact_block, raw_block
from ctxeng.core.context import Block, BlockKind
from ctxeng.core.messages import Message
from tests.compaction.fakes import artifact

SAID = "pgvector was discussed at length."


def raw(seq: int, text: str, kind: BlockKind = "retrieved", speaker: str | None = None) -> Block:
    """Return a message as a block of ten tokens."""
    message = Message(seq=seq, role="user", content=text, speaker=speaker)
    return replace(raw_block(kind, message, len), tokens=10)


def note(kind: BlockKind, low: int, high: int, text: str, *, lossless: bool = False) -> Block:
    """Return an artifact as a block of ten tokens; a memory item of elsewhere has no range."""
    made = artifact("episode", low, high, text=text, lossless=lossless)
    block = replace(artifact_block(kind, made, len), tokens=10)
    return replace(block, message_seqs=()) if high < low else block


def kept(
    candidates: Sequence[Block], shown: Sequence[Block] = (), room: int | None = None
) -> tuple[list[int], list[int]]:
    """Return places of the candidates that are kept, and of those left out as duplicates."""
    sections = [
        Section(name=str(i), blocks=[block], share_tokens=0) for i, block in enumerate(candidates)
    ]
    fitted = fit_once(sections, shown, room)
    out = [o for o in fitted.left_out if o.reason == "duplicate"]
    places = [int(name) for name, blocks in fitted.kept.items() if blocks]
    repeated = [
        i
        for i, b in enumerate(candidates)
        if any((o.kind, o.message_seqs, o.artifact_ids) == (b.kind, b.message_seqs, b.artifact_ids)
               for o in out)
    ]  # fmt: skip
    return places, repeated


@pytest.mark.parametrize(
    ("candidates", "shown", "expected"),
    [
        # one statement in summary, memory, found and recent: once, where it is most important
        ([note("summary", 0, 5, f"Facts:\n- {SAID}"), note("memory", 1, 0, f"- [project] {SAID}"),
          raw(3, SAID)], [], [0]),
        ([note("memory", 1, 0, f"- [project] {SAID}"), raw(3, SAID)], [raw(9, SAID, "recent")], []),
        ([raw(3, "ＰＧvector  was\tdiscussed at LENGTH.")], [raw(9, SAID, "tail")], []),
        ([raw(3, f"1. {SAID}\n\n* {SAID}")], [raw(9, SAID, "recent")], []),
        ([raw(3, "予算は三千円までです。")], [raw(9, "予算は三千円までです。", "recent")], []),
        # words that differ, are more, or stand in two places
        ([raw(3, f"{SAID} Twice.")], [raw(9, SAID, "recent")], [0]),
        ([raw(3, "one two three\nfour five six")],
         [raw(8, "one two three", "recent"), raw(9, "four five six", "recent")], [0]),
        # a short answer belongs to its question, a statement to its speaker
        ([raw(3, "Yes.")], [raw(9, "Yes.", "recent")], [0]),
        ([raw(3, "はい")], [raw(9, "はい", "recent")], [0]),
        ([raw(3, "I am allergic to peanuts and kiwi.", speaker="Ana")],
         [raw(9, "I am allergic to peanuts and kiwi.", "recent", "Ben")], [0]),
        ([raw(3, "I am allergic to peanuts and kiwi.", speaker="Ana")],
         [raw(9, "I am allergic to peanuts and kiwi.", "recent", "Ana")], []),
        ([raw(3, ""), raw(4, " \n")], [raw(9, "", "recent")], [0, 1]),
    ],
)  # fmt: skip
def test_the_same_words_are_said_once(
    candidates: list[Block], shown: list[Block], expected: list[int]
) -> None:
    """Whatever their case, width, spaces and list marks."""
    places, repeated = kept(candidates, shown)
    assert places == expected
    assert repeated == [i for i in range(len(candidates)) if i not in expected]


WINDOW = [raw(seq, f"message {seq} of the talk", "recent") for seq in range(4, 8)]


@pytest.mark.parametrize(
    ("candidate", "shown", "is_kept"),
    [
        (note("episode", 4, 7, "They talk."), WINDOW, False),
        (note("node", 5, 6, "They talk."), WINDOW, False),
        (note("episode", 3, 7, "They talk."), WINDOW, True),  # message 3 is nowhere else
        (note("memory", 4, 7, "- [style] brief answers"), WINDOW, True),  # no retelling
        (note("episode", 4, 7, "They talk."), [replace(b, shortened=True) for b in WINDOW], True),
        (note("episode", 4, 7, "They talk."), [replace(b, kind="pinned") for b in WINDOW], True),
        (raw(2, "the port is 8443"), [note("episode", 0, 3, "0-3", lossless=True)], False),
        (raw(4, "the port is 8443"), [note("episode", 0, 3, "0-3", lossless=True)], True),
        (raw(2, "the port is 8443"), [note("episode", 0, 3, "0-3")], True),  # exact words
    ],
)
def test_a_range_is_told_once(candidate: Block, shown: list[Block], is_kept: bool) -> None:
    """A retelling of what stands there in full is left out; the full words never for a retelling."""
    assert kept([candidate], shown) == (([0], []) if is_kept else ([], [0]))


def test_a_repetition_comes_back_where_its_original_does_not_fit() -> None:
    """The long note does not fit, so the found message that it repeats is shown."""
    long = replace(note("summary", 0, 9, f"{SAID}\nand much more"), tokens=500)
    assert kept([long, raw(3, SAID)], room=600) == ([0], [1])
    assert kept([long, raw(3, SAID)], room=100) == ([1], [])
    chain = [long, replace(note("episode", 1, 2, SAID), tokens=200), raw(3, SAID)]
    assert kept(chain, room=100) == ([2], [])


def test_what_is_said_once_costs_once() -> None:
    """The room that a repetition would have taken is there for something else."""
    assert kept([raw(1, SAID), raw(2, SAID), raw(3, "quite another matter")], room=20) == (
        [0, 2],
        [1],
    )


def test_a_result_that_repeats_another_stays_with_its_call() -> None:
    """The same file read twice: the second call is not left without its result."""

    def tool(seq: int, kind: str, **body: str) -> Block:
        block = {"type": kind, **body}
        message = Message(seq=seq, role="assistant", content="", blocks=(block,))
        return replace(raw_block("retrieved", message, len), tokens=10)

    found = [
        tool(1, "tool_use", id="a", name="read", input="notes.md from March"),
        tool(2, "tool_result", tool_use_id="a", content=SAID),
        tool(5, "tool_use", id="b", name="read", input="copy.md from April"),
        tool(6, "tool_result", tool_use_id="b", content=SAID),
    ]
    section = Section(name="found", blocks=found, share_tokens=0)
    assert fit_once([section], [], 40).kept["found"] == found
    assert fit_once([section], [], 35).kept["found"] == found[:2]
    again = [
        tool(7, "tool_use", id="a", name="read", input="notes.md from March"),
        tool(8, "tool_result", tool_use_id="a", content=SAID),
    ]
    twice = Section(name="found", blocks=[*found[:2], *again], share_tokens=0)
    assert len(fit_once([twice], [], 40).left_out) == 2
