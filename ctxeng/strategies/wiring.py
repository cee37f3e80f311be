"""Wire one strategy: the builder, the compactor and the indexer that belong together."""

from __future__ import annotations

from dataclasses import dataclass

from ctxeng.compaction import Compactor
from ctxeng.context import ContextBuilder
from ctxeng.context.builder import MIN_CACHEABLE_TOKENS
from ctxeng.core.protocols import Cutter, Distiller, Embedder, Summariser, TokenCounter
from ctxeng.core.settings import StrategySettings
from ctxeng.retrieval import Indexer, Retriever, SharedMemories
from ctxeng.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One wired strategy."""

    settings: StrategySettings
    counter: TokenCounter
    builder: ContextBuilder
    compactor: Compactor
    indexer: Indexer
    retriever: Retriever | None
    memories: SharedMemories


def wire(
    settings: StrategySettings,
    *,
    store: Store,
    summariser: Summariser,
    distiller: Distiller,
    embedder: Embedder | None,
    counter: TokenCounter,
    cutter: Cutter | None = None,
    replicate: int = 0,
    min_cacheable_tokens: int = MIN_CACHEABLE_TOKENS,
) -> Parts:
    """Return the parts of a strategy over one store.

    Args:
        min_cacheable_tokens: the shortest prefix that the reader's provider caches.
    """
    retriever = (
        Retriever(store, embedder, settings.retrieval) if settings.retrieval.enabled else None
    )
    memories = SharedMemories(store, embedder)
    return Parts(
        settings=settings,
        counter=counter,
        builder=ContextBuilder(
            store,
            settings,
            counter=counter,
            retriever=retriever,
            min_cacheable_tokens=min_cacheable_tokens,
            memories=memories,
        ),
        compactor=Compactor(
            store,
            settings,
            summariser=summariser,
            distiller=distiller,
            counter=counter,
            embedder=embedder,
            cutter=cutter,
            replicate=replicate,
        ),
        indexer=Indexer(store, embedder),
        retriever=retriever,
        memories=memories,
    )
