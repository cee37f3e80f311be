"""A session replayed turn by turn: where requests stand, what they hold, what compaction called."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from ctxeng.compaction import ModelDistiller, ModelSummariser
from ctxeng.core.messages import Message, Role, Session
from ctxeng.harness.economics.turns import Prefixes, Sitting
from ctxeng.harness.replay.plan import Arm
from ctxeng.harness.replay.turns import asked_seqs, message_times, sit
from ctxeng.store import Store
from ctxeng.strategies.builtin import settings_for
from tests.support.planted import plan

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def message(seq: int, role: Role, text: str = "", *, minute: float | None = None) -> Message:
    when = None if minute is None else START + timedelta(minutes=minute)
    return Message(seq=seq, role=role, content=text or f"{role} {seq}", timestamp=when)


def spoken(roles: str, *, text: str = "We ship crate {seq} to dock B-{seq} on Monday.") -> Session:
    """Return a session by letters: u(ser), a(ssistant), t(ool)."""
    named: dict[str, Role] = {"u": "user", "a": "assistant", "t": "tool"}
    messages = [
        message(seq, named[letter], text.format(seq=seq), minute=seq)
        for seq, letter in enumerate(roles)
    ]
    return Session(session_id="s", messages=tuple(messages), language="en")


@pytest.mark.parametrize(
    ("roles", "asked"),
    [("uaua", [0, 2]), ("uuaau", [1]), ("uatata", [0, 2, 4]), ("uuu", []), ("aua", [1]), ("", [])],
)
def test_a_request_stands_wherever_the_assistant_answers(roles: str, asked: list[int]) -> None:
    """Also after a tool's result; several answers in a row are one."""
    assert asked_seqs(spoken(roles).messages) == asked


def test_a_message_without_a_time_comes_a_minute_later_and_no_time_goes_back() -> None:
    """10:00, unknown, 9:00, 10:05."""
    minutes = [60, None, 0, 65]
    messages = [message(i, "user", minute=m) for i, m in enumerate(minutes)]
    first = messages[0].timestamp
    assert first is not None
    times = [time - first.timestamp() for time in message_times(messages)]
    assert times == [0, 60, 60, 300]
    assert message_times([message(0, "user"), message(1, "user")]) == [0, 60]


async def played(store: Store, tmp_path: Path, strategy: str, session: Session, **sections: dict[str, object]) -> Sitting:  # fmt: skip
    """Play a session with the offline model behind summariser and distiller."""
    arm = Arm(name="a", settings=settings_for(strategy, sections))
    planned = replace(
        plan(tmp_path, sessions=(session,)),
        summariser=lambda arm, client: ModelSummariser(client, "offline"),
        distiller=lambda arm, client: ModelDistiller(client, "offline"),
    )
    return await sit(planned, arm, session, store=store, system="Be brief.")


async def test_the_whole_history_grows_by_what_was_said_since(store: Store, tmp_path: Path) -> None:
    """Every prompt begins as the last one did, up to the question, which stands there once."""
    found = await played(store, tmp_path, "full_history", spoken("uauaua"))
    assert [r.seq for r in found.requests] == [0, 2, 4]
    assert [len(r.pieces) for r in found.requests] == [2, 4, 6]
    texts = [[p.text for p in r.pieces] for r in found.requests]
    assert all(later[: len(early)] == early for early, later in pairwise(texts))
    assert texts[0][0] == "Be brief."
    prefixes = Prefixes()
    numbers = [prefixes.of(r.pieces) for r in found.requests]
    assert numbers[2][:4] == numbers[1]
    assert found.requests[1].at_seconds - found.requests[0].at_seconds == 120
    assert all(r.answer_tokens > 0 for r in found.requests)
    assert (found.calls, found.messages, found.untimed) == ((), 6, 0)


async def test_a_prompt_knows_no_summary_made_after_its_question(store: Store, tmp_path: Path) -> None:  # fmt: skip
    """Episodes of four with a window of two: the first is written at message 5, used from 6 on."""
    found = await played(
        store, tmp_path, "episodes", spoken("ua" * 6),
        window={"tokens": 0, "min_messages": 2}, episodes={"size": 4, "overlap": 0},
    )  # fmt: skip
    assert [(c.kind, c.at_seq) for c in found.calls] == [("episode", 5), ("episode", 9)]
    assert [r.seq for r in found.requests if r.summaries is not None] == [6, 8, 10]
    (index,) = {r.summaries for r in found.requests if r.summaries is not None}
    assert index is not None
    assert all("<episodes>" in r.pieces[index].text for r in found.requests if r.summaries)
    assert all(c.instruction_tokens > 50 and c.given_tokens > 20 and c.output_tokens > 0 for c in found.calls)  # fmt: skip


async def test_a_message_beyond_the_budget_is_sent_shortened(store: Store, tmp_path: Path) -> None:
    """A pasted log as a question, and as a tool's result: 250 tokens are all there is room for."""
    for roles in ("uaua", "uata"):
        long = spoken(roles, text="log line {seq} " * 800)
        found = await played(
            store, tmp_path, "full_history", long,
            budget={"total_tokens": 300, "reserve_tokens": 50},
        )  # fmt: skip
        assert [r.seq for r in found.requests] == [0, 2]
        assert all(0 < r.tokens <= 250 for r in found.requests)
        assert all(piece.text for r in found.requests for piece in r.pieces)


async def test_memory_is_the_last_block_of_the_system_text(store: Store, tmp_path: Path) -> None:
    """A distillation's tool and answer are counted, though the offline model reports no output."""
    found = await played(
        store, tmp_path, "episodes_memory", spoken("ua" * 8),
        window={"tokens": 0, "min_messages": 2}, episodes={"size": 4, "overlap": 0},
        memory={"every_episodes": 2},
    )  # fmt: skip
    (call,) = [c for c in found.calls if c.kind == "memory"]
    assert (call.role, call.at_seq) == ("distiller", 9)
    assert call.output_tokens > 20
    remembering = [r for r in found.requests if r.memory is not None]
    assert [r.seq for r in remembering] == [10, 12, 14]
    assert all("<memory>" in r.pieces[r.memory or 0].text for r in remembering)
    assert {r.memory for r in remembering} == {1}
