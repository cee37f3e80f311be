"""What the production commands share: a strategy from its name and file, wired over a store."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxeng.core.errors import SettingsError

if TYPE_CHECKING:
    from ctxeng.store import Store
    from ctxeng.strategies.wiring import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Production:
    """Which strategy a product runs, and with which models."""

    strategy: str = "hybrid"
    settings: Path | None = None
    model: str = "offline"
    embedder: str = "minilm"
    counter: str = "heuristic"

    def check_key(self) -> None:
        """Refuse a model that cannot be asked: each job would fail for good.

        Raises:
            InputError: the model is the provider's, and no usable key is set.
        """
        from ctxeng.models import OFFLINE
        from ctxeng.models.sdk import secrets

        if self.model != OFFLINE:
            secrets()


@asynccontextmanager
async def opened(home: Path, wanted: Production) -> AsyncIterator[tuple[Store, Parts]]:
    """Open the store with its jobs and wire the strategy; calls go through the workspace's ledger.

    Raises:
        SettingsError: the strategy or the settings file is wrong.
    """
    from ctxeng.compaction import ModelCutter, ModelDistiller, ModelSummariser
    from ctxeng.embedding import open_embedder
    from ctxeng.models import Ledger, open_client
    from ctxeng.models.counting import open_any_counter
    from ctxeng.store import EmbeddingSpec, Store
    from ctxeng.strategies import settings_for, wire

    settings = settings_for(wanted.strategy, read_settings(wanted.settings))
    embedder = open_embedder(wanted.embedder)
    spec = EmbeddingSpec(embedder_id=embedder.embedder_id, dimensions=embedder.dimensions)
    ledger = Ledger.open(home / ".ctxeng" / "ledger.sqlite")
    client = open_client(ledger=ledger)
    async with await Store.open(
        workspace=home, embedding=spec, enqueue=True, calls=ledger
    ) as store:
        yield (
            store,
            wire(
                settings,
                store=store,
                summariser=ModelSummariser(client, wanted.model),
                distiller=ModelDistiller(client, wanted.model),
                cutter=ModelCutter(client, wanted.model),
                embedder=embedder,
                counter=open_any_counter(wanted.counter),
            ),
        )


def read_settings(file: Path | None) -> dict[str, Any]:
    """Return the tables of a settings file; none without a file.

    Raises:
        SettingsError: the file cannot be read, or is no TOML.
    """
    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(
            f"settings must be a readable TOML file, got {file} ({error})."
        ) from None
