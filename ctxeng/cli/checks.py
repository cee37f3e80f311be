"""What ``ctxeng doctor`` looks at. Each check runs the real thing and tells what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ctxeng.cli.running import run_async
from ctxeng.core.errors import CtxengError

LOW_DISK_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding; a failed check that is not required only limits what can be done."""

    name: str
    ok: bool
    detail: str
    required: bool = True


def run_checks(home: Path) -> list[Check]:
    """Return the findings, in the order a run needs the things."""
    looked = (_disk, _database, _embedder, _tokenizer, _samples, _key)
    return [_guarded(check, home) for check in looked]


def _guarded(check: Callable[[Path], Check], home: Path) -> Check:
    try:
        return check(home)
    except (CtxengError, OSError, ImportError) as error:
        return Check(name=check.__name__.strip("_"), ok=False, detail=str(error))


def _disk(home: Path) -> Check:
    free = shutil.disk_usage(home).free
    return Check(
        name="disk",
        ok=free > LOW_DISK_BYTES,
        detail=f"{free / (1 << 30):.1f} GiB free under {home}; a run wants 1 GiB",
    )


def _database(home: Path) -> Check:
    from ctxeng.store import Store

    async def look() -> str:
        async with await Store.open(workspace=home) as store:
            can = store.capabilities
            where = "CTXENG_DATABASE_URL" if os.environ.get("CTXENG_DATABASE_URL") else "embedded"
            return (
                f"{where}, PostgreSQL {can.server_version // 10000}; vector search "
                f"{'yes' if can.vector else 'no: lexical retrieval only'}; trigram search "
                f"{'yes' if can.trigram else 'no (a help with typing errors, not needed)'}"
            )

    return Check(name="database", ok=True, detail=run_async(look()))


def _embedder(home: Path) -> Check:
    from ctxeng.embedding import open_embedder

    embedder = open_embedder("minilm")
    vector = embedder.embed(["a short text"], kind="passage")
    return Check(
        name="embedder", ok=vector.shape == (1, embedder.dimensions), detail=embedder.embedder_id
    )


def _tokenizer(home: Path) -> Check:
    from ctxeng.tokens import open_counter

    counted = open_counter("cl100k").count("a short text")
    return Check(name="tokenizer", ok=counted > 0, detail="cl100k vocabulary found, offline")


def _samples(home: Path) -> Check:
    found = sorted((home / "experiments").glob("*.toml"))
    return Check(
        name="workspace",
        ok=bool(found),
        detail=f"{len(found)} experiments in {home}" if found else "none here; try `ctxeng init`",
        required=False,
    )


def _key(home: Path) -> Check:
    has_key = bool(os.environ.get("ANTHROPIC_API_KEY"))
    return Check(
        name="key",
        ok=has_key,
        detail="ANTHROPIC_API_KEY is set"
        if has_key
        else "ANTHROPIC_API_KEY is not set; the offline model needs none",
        required=False,
    )
