"""The lossless control: a summariser and a distiller that return their input."""

from __future__ import annotations

from ctxeng.core.artifacts import MemoryItem
from ctxeng.core.messages import Message
from ctxeng.core.protocols import Distillation, DistillTask, Summary, SummaryTask


class VerbatimSummariser:
    """Returns every word it is given; exempt from the length and repetition guards."""

    lossless = True
    prompt_hash = "verbatim"

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the previous text, the parts and the core messages, in order."""
        lines = [task.previous] if task.previous else []
        lines += task.parts
        lines += [_line(m) for m in task.messages if m.seq >= task.core_from_seq]
        return Summary(text="\n".join(lines), model="verbatim", prompt_hash=self.prompt_hash)


class VerbatimDistiller:
    """Keeps every text it is given as one memory item."""

    lossless = True
    prompt_hash = "verbatim"

    async def distil(self, task: DistillTask) -> Distillation:
        """Return the previous items and one item for each new text."""
        fresh = tuple(
            MemoryItem(
                item_id=f"verbatim-{low}-{high}",
                kind="stable_fact",
                text=text,
                source_seqs=tuple(range(low, high + 1)),
            )
            for text, (low, high) in zip(task.texts, task.sources, strict=True)
        )
        return Distillation(
            items=(*task.previous, *fresh), model="verbatim", prompt_hash=self.prompt_hash
        )


def _line(message: Message) -> str:
    return f"{message.name}: {message.text}"
