"""One strategy wired: builder, compactor and indexer over one store."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng.compaction import (
    ModelDistiller,
    ModelSummariser,
    VerbatimDistiller,
    VerbatimSummariser,
)
from ctxeng.core.protocols import Embedder
from ctxeng.core.settings import StrategySettings
from ctxeng.models.offline import OfflineModel
from ctxeng.store import Store
from ctxeng.strategies import BUILTIN, Parts, settings_for, wire
from tests.compaction.fakes import COUNTER, say

SMALL: dict[str, dict[str, Any]] = {
    "window": {"tokens": 30, "min_messages": 2},
    "rolling": {"threshold_tokens": 60, "target_tokens": 60},
    "hierarchy": {"chunk_messages": 4, "chunk_tokens": 40},
    "memory": {"every_episodes": 1},
    "budget": {"total_tokens": 4000, "reserve_tokens": 100},
}
QUESTION = "Which invoice did we agree on earlier, PX-2291 or PX-3000?"
HISTORY = [
    say(0, "We decided that the invoice is PX-2291 and the budget ¥3,000.", "user"),
    *[
        say(seq, f"発言{seq}: 会議室は赤いほうがいい。마감은 {seq}월입니다.")
        for seq in range(1, 24)
    ],
]


def small(name: str) -> StrategySettings:
    """Return a built-in strategy with thresholds that a short session reaches."""
    overrides = dict(SMALL)
    if name == "full_history":
        del overrides["window"]
    return settings_for(name, overrides)


def wired(
    table: StrategySettings, store: Store, embedder: Embedder | None, *, verbatim: bool = False
) -> Parts:
    """Return the parts with the offline or the verbatim models."""
    client = OfflineModel()
    return wire(
        table,
        store=store,
        summariser=VerbatimSummariser() if verbatim else ModelSummariser(client, "offline"),
        distiller=VerbatimDistiller() if verbatim else ModelDistiller(client, "offline"),
        embedder=embedder,
        counter=COUNTER,
    )


async def played(parts: Parts, store: Store) -> None:
    """Append the history and bring everything up to date."""
    await store.create_conversation("c")
    await store.append_many("c", HISTORY)
    await parts.indexer.index_due("c")
    report = await parts.compactor.run_due("c")
    assert report.failures == ()


# what each strategy shows of a history that does not fit its window
SHOWN = {
    "full_history": {"recent"},
    "recent_window": {"recent"},
    "rolling": {"summary", "tail", "recent"},
    "hierarchical": {"node", "tail", "recent"},
    "episodes": {"episode", "tail", "recent"},
    "episodes_memory": {"memory", "episode", "tail", "recent"},
    "retrieval": {"retrieved", "recent"},
    "hybrid": {"summary", "node", "episode", "memory", "recent"},
}


@pytest.mark.parametrize("name", BUILTIN)
async def test_each_built_in_strategy_goes_the_whole_way(
    store: Store, embedder: Embedder, name: str
) -> None:
    """Append, index, compact, build: every strategy shows what it is named for, in its budget."""
    parts = wired(small(name), store, embedder)
    await played(parts, store)
    context = await parts.builder.build("c", QUESTION, system="Be brief.")
    assert {block.kind for block in context.history} <= SHOWN[name] | {"retrieved", "tail"}
    assert {block.kind for block in context.history} >= SHOWN[name] - {"tail"}
    assert context.tokens + 100 <= 4000
    assert context.to_anthropic()["messages"][-1]["content"][-1]["text"] == QUESTION


@pytest.mark.parametrize(
    "name", ["rolling", "hierarchical", "episodes", "episodes_memory", "hybrid"]
)
async def test_the_lossless_control_of_each_strategy_shows_every_word(
    store: Store, embedder: Embedder, name: str
) -> None:
    """With verbatim models and no limit nothing is lost on any path."""
    table = small(name)
    unlimited = table.budget.model_copy(update={"total_tokens": None})
    parts = wired(table.model_copy(update={"budget": unlimited}), store, embedder, verbatim=True)
    await played(parts, store)
    context = await parts.builder.build("c", QUESTION)
    shown = "\n".join(block.text for block in context.history)
    assert [m.content for m in HISTORY if m.content not in shown] == []


@pytest.mark.parametrize("name", BUILTIN)
def test_a_retriever_is_there_only_where_the_strategy_searches(
    store: Store, embedder: Embedder, name: str
) -> None:
    """Settings, counter and retriever are at hand for whoever looks at a strategy's parts."""
    parts = wired(BUILTIN[name], store, embedder)
    assert (parts.retriever is not None) == (name in ("retrieval", "hybrid"))
    assert parts.settings is BUILTIN[name]
    assert parts.counter is COUNTER


async def test_without_an_embedder_the_search_is_by_words_alone(store: Store) -> None:
    """The strategy works all the same, and no semantic score is claimed."""
    parts = wired(small("retrieval"), store, None)
    await played(parts, store)
    context = await parts.builder.build("c", QUESTION)
    assert 0 in [seq for block in context.of_kind("retrieved") for seq in block.message_seqs]
    assert all("semantic" not in ranked for ranked in context.retrieval["ranked"])


async def test_the_replicate_reaches_every_artifacts_call(store: Store, embedder: Embedder) -> None:
    """Two replicates of a strategy are different calls of the same model."""
    asked: list[int] = []

    class Noting(OfflineModel):
        async def complete(self, request: Any) -> Any:
            asked.append(request.replicate)
            return await super().complete(request)

    client = Noting()
    parts = wire(
        small("episodes_memory"),
        store=store,
        summariser=ModelSummariser(client, "offline"),
        distiller=ModelDistiller(client, "offline"),
        embedder=embedder,
        counter=COUNTER,
        replicate=3,
    )
    await played(parts, store)
    assert {replicate % 1000 for replicate in asked} == {3}
