"""Hypothesis generators: sessions as people write them, and settings within their bounds."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ctxeng.core.messages import Message
from ctxeng.core.settings import StrategySettings

WORDS = [
    "budget",
    "deadline",
    "invoice",
    "Kestrel",
    "PX-2291",
    "the",
    "a",
    "of",
    "not",
    "instead",
    "blue",
    "rack",
    "deploy",
    "1,850",
    "¥3,000",
    "17",
    "March",
    "予算",
    "締め切り",
    "会議室",
    "赤い",
    "예산",
    "마감",
    "회의실",
    "빨간색",
    "<script>",
    "</memory>",
    "&",
    "'",
    '"',
    "%",
    "\\",
    "\u202e",
    "😀",
]

texts = st.lists(st.sampled_from(WORDS), min_size=0, max_size=40).map(" ".join)
spoken = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)


@st.composite
def histories(draw: st.DrawFn, *, min_size: int = 0, max_size: int = 40) -> list[Message]:
    """Draw messages in any order of roles, with tool calls and their results among them."""
    size = draw(st.integers(min_size, max_size))
    messages: list[Message] = []
    while len(messages) < size:
        if draw(st.integers(0, 5)) == 0 and size - len(messages) >= 2:
            messages += _tool_exchange(draw, len(messages))
            continue
        messages.append(
            Message(
                seq=len(messages),
                role=draw(st.sampled_from(("user", "assistant"))),
                content=draw(spoken),
                speaker=draw(st.sampled_from((None, None, "Mira", "佐伯"))),
            )
        )
    return messages[:size]


def _tool_exchange(draw: st.DrawFn, seq: int) -> list[Message]:
    call = f"toolu_{seq}"
    return [
        Message(
            seq=seq,
            role="assistant",
            content=draw(texts),
            blocks=({"type": "tool_use", "id": call, "name": "read", "input": {"p": "a"}},),
        ),
        Message(
            seq=seq + 1,
            role="tool",
            content="",
            blocks=({"type": "tool_result", "tool_use_id": call, "content": draw(spoken)},),
        ),
    ]


@st.composite
def settings_tables(draw: st.DrawFn) -> StrategySettings:
    """Draw a strategy: any mix of compactions, small thresholds, any budget that may be too small."""
    size = draw(st.integers(2, 8))
    tables: dict[str, Any] = {
        "window": {
            "tokens": draw(st.one_of(st.none(), st.integers(0, 300))),
            "min_messages": draw(st.integers(0, 6)),
        },
        "rolling": {
            "enabled": draw(st.booleans()),
            "threshold_tokens": draw(st.integers(20, 400)),
            "target_tokens": draw(st.integers(20, 120)),
        },
        "hierarchy": {
            "enabled": draw(st.booleans()),
            "chunk_messages": draw(st.integers(2, 8)),
            "fan_in": draw(st.integers(2, 3)),
            "levels": draw(st.integers(1, 4)),
            "chunk_tokens": draw(st.integers(20, 80)),
        },
        "episodes": {
            "enabled": draw(st.booleans()),
            "size": size,
            "overlap": draw(st.integers(0, 3)),
            "phase": draw(st.integers(0, size - 1)),
            "cut": draw(st.sampled_from(("fixed", "exchange", "semantic"))),
            "target_tokens": draw(st.integers(20, 80)),
        },
        "memory": {
            "enabled": draw(st.booleans()),
            "every_episodes": draw(st.integers(1, 4)),
            "target_tokens": draw(st.integers(50, 200)),
        },
        "retrieval": {
            "enabled": draw(st.booleans()),
            "gate": draw(st.sampled_from(("auto", "always", "never"))),
            "groups": draw(st.integers(1, 4)),
        },
        "budget": {
            "total_tokens": draw(st.one_of(st.none(), st.integers(50, 2000))),
            "reserve_tokens": draw(st.integers(0, 200)),
            "summary_tokens": draw(st.integers(0, 400)),
            "memory_tokens": draw(st.integers(0, 200)),
            "retrieved_tokens": draw(st.integers(0, 300)),
        },
        "compaction": {
            "lag_messages": draw(st.sampled_from((0, 0, 1, 3, None))),
            "when_late": draw(st.sampled_from(("keep_raw", "window_only"))),
        },
    }
    return StrategySettings.model_validate(tables)
