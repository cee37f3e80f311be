"""A conversation lives through anything a product may do to it, and after every step all holds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.core.context import Context
from ctxeng.core.messages import Message
from ctxeng.core.pairs import call_ids, result_ids
from ctxeng.embedding import open_embedder
from ctxeng.store import EmbeddingSpec, Store
from ctxeng.strategies import jobs, settings_for, wire
from ctxeng.tokens import HeuristicCounter
from tests.generators import spoken

HASHING = EmbeddingSpec(embedder_id="hashing-384", dimensions=384)
STRATEGY: dict[str, dict[str, Any]] = {
    "window": {"tokens": 30, "min_messages": 1},
    "rolling": {"threshold_tokens": 30},
    "episodes": {"size": 3, "overlap": 1},
    "hierarchy": {"chunk_messages": 2, "fan_in": 2, "levels": 3},
    "memory": {"every_episodes": 2},
    "budget": {"total_tokens": None},
}


class Life(RuleBasedStateMachine):
    """Append, compact, distil, edit, redact, reprocess, build and look back, in any order."""

    where: dict[str, Any]

    @initialize()
    def begin(self) -> None:
        """Open the store and begin a conversation."""
        self.name = f"life-{uuid4()}"  # a killed run may have left others
        self.runner = asyncio.Runner()
        self.store = self.runner.run(
            Store.open(**self.where, disposable=True, enqueue=True, embedding=HASHING)
        )
        self.parts = wire(
            settings_for("hybrid", STRATEGY),
            store=self.store,
            summariser=VerbatimSummariser(),
            distiller=VerbatimDistiller(),
            embedder=open_embedder("hashing"),
            counter=HeuristicCounter(),
        )
        self.said: list[str] = []
        self.gone: set[str] = set()
        self.replaced: set[str] = set()
        self.past: dict[int, Context] = {}
        self.runner.run(self.store.create_conversation(self.name, user_id=self.name))

    def teardown(self) -> None:
        """Remove the conversation and leave."""
        if hasattr(self, "runner"):
            self.runner.run(self.store.delete_user(self.name))
            self.runner.run(self.store.forget_deletions())
            self.runner.run(self.store.close())
            self.runner.close()

    def _marked(self, text: str) -> str:
        self.said.append(f"mark{len(self.said)}x")
        return f"{self.said[-1]} {text}"

    @rule(text=spoken, role=st.sampled_from(["user", "assistant"]))
    def append(self, text: str, role: Any) -> None:
        """Say something."""
        self.runner.run(self.store.append(self.name, role, self._marked(text)))

    @rule(text=spoken)
    def append_tool_pair(self, text: str) -> None:
        """Call a tool and get its result."""
        call = f"t{len(self.said)}"
        blocks = ({"type": "tool_use", "id": call, "name": "read", "input": {"p": "a"}},)
        result = ({"type": "tool_result", "tool_use_id": call, "content": "found"},)
        pair = [
            Message(seq=0, role="assistant", content=self._marked(text), blocks=blocks),
            Message(seq=0, role="tool", content=self._marked(""), blocks=result),
        ]
        self.runner.run(self.store.append_many(self.name, pair))

    @rule()
    def compact(self) -> None:
        """Write the summaries that are due; nothing fails, and nothing is due afterwards.

        They can be seen from this seq on, so a prompt built at it before may differ from now on.
        """
        report = self.runner.run(jobs.compact(self.parts, self.name))
        assert report.failures == ()
        if report.written:
            self._forget_prompts(since=len(self.said) - 1)
        assert self.runner.run(jobs.compact(self.parts, self.name)).written == ()

    @rule()
    def distil(self) -> None:
        """Fold the episodes that are due into memory, to be seen from this seq on."""
        report = self.runner.run(jobs.remember(self.parts, self.name))
        assert report.failures == ()
        if report.written:
            self._forget_prompts(since=len(self.said) - 1)

    @rule(kind=st.sampled_from(["episode", "node", "rolling", "memory"]))
    def reprocess(self, kind: str) -> None:
        """Rebuild a kind; past prompts stay, those from now on may differ."""
        report = self.runner.run(
            self.parts.compactor.reprocess(self.name, lambda a: a.kind == kind)
        )
        assert report.failures == ()
        if report.written:
            self._forget_prompts(since=len(self.said) - 1)

    @rule()
    def index(self) -> None:
        """Index what is not indexed; a past prompt may find from now on what it did not then."""
        if self.runner.run(jobs.index(self.parts, self.name)):
            self._forget_prompts(since=-1)

    @precondition(lambda self: self.said)
    @rule(data=st.data(), text=spoken)
    def edit(self, data: st.DataObject, text: str) -> None:
        """Change a message; prompts as of earlier seqs keep the words they had."""
        seq = data.draw(st.integers(0, len(self.said) - 1))
        if self.said[seq] in self.gone:
            return
        self.replaced.add(self.said[seq])
        self.said[seq] = f"mark{seq}edit{len(self.replaced)}x"
        self.runner.run(self.store.edit_message(self.name, seq, f"{self.said[seq]} {text}"))
        self._forget_prompts(since=len(self.said) - 1)

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def redact(self, data: st.DataObject) -> None:
        """Destroy a message's words."""
        seq = data.draw(st.integers(0, len(self.said) - 1))
        self.runner.run(self.store.redact_message(self.name, seq))
        self.gone.add(self.said[seq])
        self._forget_prompts(since=-1)

    @rule()
    def build(self) -> None:
        """Build a prompt: every message is in it, raw or in an artifact, unless it was redacted."""
        context = self._built(None)
        text = "\n".join(b.text for b in context.history)
        missing = [m for m in self.said if f"{m} " not in f"{text} ".replace("\n", " ")]
        assert set(missing) == self.gone & set(missing)
        assert not self.replaced & set(text.split())
        assert context.gap_seqs == ()
        if self.said:
            self.past[len(self.said) - 1] = self._built(len(self.said) - 1)

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        """A past prompt is built again block for block."""
        as_of = data.draw(st.sampled_from(sorted(self.past)))
        if as_of < len(self.said) - 1:
            assert _told(self._built(as_of)) == _told(self.past[as_of])

    @invariant()
    def the_database_is_sound(self) -> None:
        """Seqs, ranges, versions, cursors, parents, index and jobs are as they must be."""
        if not hasattr(self, "store"):
            return
        found = self.runner.run(self.store.verify())  # other tests may have left conversations
        assert [f for f in found if f.conversation_id == self.name] == []
        messages = self.runner.run(self.store.messages(self.name))
        assert [m.content.split()[0] for m in messages] == [
            "[redacted]" if mark in self.gone else mark for mark in self.said
        ]

    @invariant()
    def redacted_words_are_nowhere(self) -> None:
        """No artifact of any version holds the words of a redacted message."""
        if not hasattr(self, "store") or not self.gone:
            return
        for artifact in self.runner.run(self.store.all_artifacts(self.name)):
            words = {*artifact.text.split(), *(w for i in artifact.items for w in i.text.split())}
            assert not words & self.gone

    @invariant()
    def tool_pairs_stand_together(self) -> None:
        """No core range ends between a call and its result, unless the call was redacted."""
        if not hasattr(self, "store"):
            return
        messages = self.runner.run(self.store.messages(self.name))
        known = {c for m in messages for c in call_ids(m)}
        for artifact in self.runner.run(self.store.artifacts(self.name, as_of=len(messages))):
            inside = messages[artifact.from_seq : artifact.to_seq + 1]
            calls = {c for m in inside for c in call_ids(m)}
            assert {r for m in inside for r in result_ids(m)} & known <= calls

    def _built(self, as_of: int | None) -> Context:
        builder = self.parts.builder
        return self.runner.run(builder.build(self.name, "Which budget, PX-2291?", as_of=as_of))

    def _forget_prompts(self, *, since: int) -> None:
        self.past = {as_of: c for as_of, c in self.past.items() if as_of < since}


def _told(context: Context) -> list[tuple[Any, ...]]:
    """Return what a prompt says and where it has it from."""
    return [(b.kind, b.text, b.message_seqs, b.artifact_ids) for b in context.blocks]


@pytest.mark.parametrize(
    ("kind", "lives"), [("embedded", 12), pytest.param("plain", 5, marks=pytest.mark.server)]
)
def test_everything_holds_after_every_step(
    kind: str, lives: int, request: pytest.FixtureRequest, server: Path, worker: str
) -> None:
    """The invariants of store, compaction and builder, on both databases."""
    if kind == "plain":
        where = {"dsn": request.getfixturevalue("plain_url")}
    else:
        where = {"workspace": server, "database": f"life_{worker}"}
    machine = type("Machine", (Life,), {"where": where})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=lives,
            phases=[Phase.generate],  # told as found: shrinking a life outlasts the time limit
            stateful_step_count=30,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
