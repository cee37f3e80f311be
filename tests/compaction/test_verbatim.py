"""The lossless control."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.core.artifacts import MemoryItem
from ctxeng.core.messages import Message
from ctxeng.core.protocols import DistillTask, SummaryTask
from tests.generators import histories


def task(messages: list[Message], *, core_from: int = 0, **more: object) -> SummaryTask:
    """Return a task on messages."""
    return SummaryTask(
        kind="episode",
        messages=tuple(messages),
        core_from_seq=core_from,
        core_to_seq=max(len(messages) - 1, 0),
        target_tokens=20,
        **more,  # type: ignore[arg-type]
    )


@settings(max_examples=50, deadline=None)
@given(history=histories(min_size=1, max_size=12), data=st.data())
async def test_every_word_of_the_core_and_none_of_the_overlap_is_returned(
    history: list[Message], data: st.DataObject
) -> None:
    """Each core message stands on lines of its own, led by its speaker, in order."""
    core_from = data.draw(st.integers(0, len(history)))
    summary = await VerbatimSummariser().summarise(task(history, core_from=core_from))
    assert summary.text == "\n".join(f"{m.name}: {m.text}" for m in history[core_from:])


async def test_the_previous_text_and_the_parts_come_first() -> None:
    """Rolling rewrites and parents lose nothing either."""
    said = Message(seq=0, role="user", content="</previous> 予算 \x00", speaker="佐伯")
    summary = await VerbatimSummariser().summarise(
        task([said], previous="이전 상태", parts=("one", "two"))
    )
    assert summary.text == "이전 상태\none\ntwo\n佐伯: </previous> 予算 \x00"
    assert (summary.model, VerbatimSummariser().lossless) == ("verbatim", True)


async def test_the_distiller_keeps_old_items_and_adds_one_for_each_text() -> None:
    """The sources of a new item are all seqs of its text's core range."""
    old = MemoryItem(item_id="old", kind="anchor", text="PX-2291")
    answer = await VerbatimDistiller().distil(
        DistillTask(previous=(old,), texts=("first", "둘째"), sources=((0, 2), (3, 3)))
    )
    assert answer.items[0] == old
    assert [(i.text, i.source_seqs) for i in answer.items[1:]] == [
        ("first", (0, 1, 2)),
        ("둘째", (3,)),
    ]
    assert len({i.item_id for i in answer.items}) == 3
