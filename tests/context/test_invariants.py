"""What holds for every history and every table of settings, on the whole production path.

A history is appended message by message, compacted and asked about after each, as a product does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, pairwise

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from ctxeng.compaction import (
    CompactionReport,
    ModelDistiller,
    ModelSummariser,
    VerbatimDistiller,
    VerbatimSummariser,
)
from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.core.errors import BudgetTooSmall
from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts, call_ids, result_ids, snap_back
from ctxeng.core.protocols import Embedder
from ctxeng.core.settings import StrategySettings
from ctxeng.models.offline import OfflineModel
from ctxeng.store import Store
from ctxeng.strategies import Parts, wire
from ctxeng.tokens import HeuristicCounter
from tests.generators import histories, settings_tables

QUESTION = "Which budget was agreed earlier, PX-2291 or 会議室?"
SYSTEM = "You help with planning."
COUNTER = HeuristicCounter()
_NAMES = count()

invariant = settings(
    max_examples=10,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A conversation that has been replayed, and the prompt after each message."""

    name: str
    parts: Parts
    messages: tuple[Message, ...]
    artifacts: tuple[Artifact, ...]
    contexts: tuple[Context | BudgetTooSmall, ...]
    reports: tuple[CompactionReport, ...]

    @property
    def built(self) -> list[Context]:
        """Return the prompts that could be built."""
        return [c for c in self.contexts if isinstance(c, Context)]


def wired(table: StrategySettings, store: Store, embedder: Embedder, *, verbatim: bool) -> Parts:
    """Return a strategy with the lossless or the offline summariser and distiller."""
    client = OfflineModel()
    return wire(
        table,
        store=store,
        summariser=VerbatimSummariser() if verbatim else ModelSummariser(client, "offline"),
        distiller=VerbatimDistiller() if verbatim else ModelDistiller(client, "offline"),
        embedder=embedder,
        counter=COUNTER,
    )


async def asked(parts: Parts, name: str, as_of: int | None) -> Context | BudgetTooSmall:
    """Return the prompt, or the refusal to build one."""
    try:
        return await parts.builder.build(name, QUESTION, as_of=as_of, system=SYSTEM)
    except BudgetTooSmall as error:
        return error


async def replay(
    store: Store, parts: Parts, history: list[Message], *, name: str | None = None
) -> Replayed:
    """Append a history message by message; index, compact and build after each.

    Args:
        name: a conversation to go on with; None: a new one.
    """
    name = name or f"c{next(_NAMES)}"
    await store.create_conversation(name)
    contexts, reports = [], []
    for message in history:
        await store.append_many(name, [message])
        await parts.indexer.index_due(name)
        reports.append(await parts.compactor.run_due(name))
        contexts.append(await asked(parts, name, None))
    return Replayed(
        name=name,
        parts=parts,
        messages=tuple(await store.messages(name)),
        artifacts=tuple(await store.all_artifacts(name)),
        contexts=tuple(contexts),
        reports=tuple(reports),
    )


def without_limit(table: StrategySettings) -> StrategySettings:
    """Return settings that lose nothing: no token limit, and late messages are kept raw."""
    return table.model_copy(
        update={
            "budget": table.budget.model_copy(update={"total_tokens": None}),
            "compaction": table.compaction.model_copy(update={"when_late": "keep_raw"}),
        }
    )


def sent_text(context: Context) -> Iterator[str]:
    """Yield every text of the provider's request."""
    request = context.to_anthropic()
    for block in request["system"]:
        yield block["text"]
    for message in request["messages"]:
        for block in message["content"]:
            yield block["text"]


@invariant
@given(history=histories(max_size=24), table=settings_tables(), verbatim=st.booleans())
async def test_every_message_is_accounted_for(
    store: Store,
    embedder: Embedder,
    history: list[Message],
    table: StrategySettings,
    verbatim: bool,
) -> None:
    """Each message is raw in the prompt, stood for by an artifact, or listed as missing."""
    played = await replay(store, wired(table, store, embedder, verbatim=verbatim), history)
    for context in played.built:
        told = set(context.gap_seqs)
        for part in (*context.blocks, *context.left_out):
            told |= set(part.message_seqs)
        assert set(range(context.as_of + 1)) <= told


@invariant
@given(history=histories(max_size=24), table=settings_tables(), verbatim=st.booleans())
async def test_a_prompt_keeps_within_its_budget(
    store: Store,
    embedder: Embedder,
    history: list[Message],
    table: StrategySettings,
    verbatim: bool,
) -> None:
    """Blocks and reserve never exceed the budget, nor does the text that is really sent."""
    played = await replay(store, wired(table, store, embedder, verbatim=verbatim), history)
    total = table.budget.total_tokens
    fixed = COUNTER.count(SYSTEM) + 2 + COUNTER.count(QUESTION) + 2 + table.budget.reserve_tokens
    for context in played.contexts:
        if isinstance(context, BudgetTooSmall):
            assert total is not None
            assert context.needed_tokens == fixed > total
            continue
        assert total is None or context.tokens + context.reserve_tokens <= total
        sent = sum(COUNTER.count(text) for text in sent_text(context))
        assert sent <= context.tokens


def tilings(artifacts: tuple[Artifact, ...]) -> Iterator[list[Artifact]]:
    """Yield the artifacts of each kind and level that tile the history, in order."""
    tiles = [a for a in artifacts if a.kind in ("episode", "node")]
    for key in sorted({(a.kind, a.level) for a in tiles}):
        yield sorted(
            (a for a in tiles if (a.kind, a.level) == key), key=lambda a: (a.from_seq, a.version)
        )


@invariant
@given(history=histories(max_size=40), table=settings_tables(), verbatim=st.booleans())
async def test_core_ranges_tile_and_read_ranges_add_the_overlap(
    store: Store,
    embedder: Embedder,
    history: list[Message],
    table: StrategySettings,
    verbatim: bool,
) -> None:
    """Ranges of one kind and level follow each other from seq 0; only the overlap is read twice."""
    played = await replay(store, wired(table, store, embedder, verbatim=verbatim), history)
    starts = atomic_starts(played.messages)
    for tiles in tilings(played.artifacts):
        assert tiles[0].from_seq == 0
        assert all(b.from_seq == a.to_seq + 1 for a, b in pairwise(tiles))
        for tile in tiles:
            overlap = table.episodes.overlap if tile.kind == "episode" else 0
            wanted = (
                snap_back(starts, max(0, tile.from_seq - overlap)) if overlap else tile.from_seq
            )
            assert (tile.read_from_seq, tile.read_to_seq) == (wanted, tile.to_seq)
    for kind in ("rolling", "memory"):
        versions = sorted((a for a in played.artifacts if a.kind == kind), key=lambda a: a.version)
        assert [a.version for a in versions] == list(range(1, len(versions) + 1))
        assert all(a.from_seq == 0 for a in versions)
        assert all(a.to_seq < b.to_seq for a, b in pairwise(versions))


@invariant
@given(history=histories(max_size=24), table=settings_tables(), verbatim=st.booleans())
async def test_a_past_prompt_is_built_again_block_for_block(
    store: Store,
    embedder: Embedder,
    history: list[Message],
    table: StrategySettings,
    verbatim: bool,
) -> None:
    """Asked as of an earlier seq, the builder returns what it returned at that time."""
    played = await replay(store, wired(table, store, embedder, verbatim=verbatim), history)
    fresh = wired(table, store, embedder, verbatim=verbatim)
    for seq, then in enumerate(played.contexts):
        again = await asked(fresh, played.name, seq)
        if isinstance(then, Context):
            assert again == then
        else:
            assert isinstance(again, BudgetTooSmall)


@invariant
@given(
    history=histories(min_size=2, max_size=24),
    table=settings_tables(),
    verbatim=st.booleans(),
    data=st.data(),
)
async def test_a_past_prompt_survives_later_edits(
    store: Store,
    embedder: Embedder,
    history: list[Message],
    table: StrategySettings,
    verbatim: bool,
    data: st.DataObject,
) -> None:
    """An edit changes prompts from its own moment on and none before, artifacts included."""
    moment = data.draw(st.integers(1, len(history) - 1))
    parts = wired(table, store, embedder, verbatim=verbatim)
    played = await replay(store, parts, history[:moment])
    await store.edit_message(played.name, data.draw(st.integers(0, moment - 1)), "edited 予算")
    await replay(store, parts, history[moment:], name=played.name)
    for seq, then in enumerate(played.contexts[:-1]):
        again = await asked(parts, played.name, seq)
        assert isinstance(then, BudgetTooSmall) or again == then


def tool_pairs(messages: tuple[Message, ...]) -> list[tuple[int, int]]:
    """Return the seqs of every tool call and its result."""
    made = {call: m.seq for m in messages for call in call_ids(m)}
    return [(made[c], m.seq) for m in messages for c in result_ids(m) if c in made]


@invariant
@given(history=histories(max_size=30), table=settings_tables(), verbatim=st.booleans())
async def test_no_border_separates_a_tool_call_from_its_result(
    store: Store,
    embedder: Embedder,
    history: list[Message],
    table: StrategySettings,
    verbatim: bool,
) -> None:
    """A call and its result lie in the same core ranges, and both in the window or neither."""
    played = await replay(store, wired(table, store, embedder, verbatim=verbatim), history)
    for call, result in tool_pairs(played.messages):
        for artifact in played.artifacts:
            assert artifact.covers(call) == artifact.covers(result), artifact.artifact_id
        for context in played.built:
            if context.as_of < result:
                continue
            for kind in ("recent", "tail"):
                shown = {seq for block in context.of_kind(kind) for seq in block.message_seqs}
                assert (call in shown) == (result in shown)


@invariant
@given(history=histories(max_size=40), table=settings_tables(), verbatim=st.booleans())
async def test_compacting_twice_writes_nothing_the_second_time(
    store: Store,
    embedder: Embedder,
    history: list[Message],
    table: StrategySettings,
    verbatim: bool,
) -> None:
    """After a run everything due is done, also for a compactor that knows nothing yet."""
    played = await replay(store, wired(table, store, embedder, verbatim=verbatim), history)
    other = wired(table, store, embedder, verbatim=verbatim)
    for parts in (played.parts, other):
        assert (await parts.compactor.run_due(played.name)).written == ()
    assert tuple(await store.all_artifacts(played.name)) == played.artifacts


@invariant
@given(history=histories(max_size=30), table=settings_tables())
async def test_the_lossless_control_loses_no_word(
    store: Store, embedder: Embedder, history: list[Message], table: StrategySettings
) -> None:
    """With the verbatim summariser and no token limit every message's words are in the prompt."""
    assume(table.compacts)
    parts = wired(without_limit(table), store, embedder, verbatim=True)
    played = await replay(store, parts, history)
    assert not [failure for report in played.reports for failure in report.failures]
    for context in played.built:
        texts = [block.text for block in context.history]
        for message in played.messages[: context.as_of + 1]:
            assert any(message.text in text for text in texts), message.seq
