"""One sentence of 40,000 characters holds nothing up: what comes after it is compacted as well."""

from __future__ import annotations

import pytest

from ctxeng.compaction import Compactor, ModelDistiller, ModelSummariser
from ctxeng.models.offline import OfflineModel
from ctxeng.store import Store
from tests.compaction.fakes import COUNTER, say, settings_with

EVERYTHING = settings_with(
    rolling={"enabled": True, "threshold_tokens": 40},
    hierarchy={"enabled": True, "chunk_messages": 2, "fan_in": 2},
    episodes={"enabled": True, "size": 2},
    memory={"enabled": True, "every_episodes": 2},
)
ENDLESS = {
    "en": ("and then we went on about this and that " * 1000).strip(),
    "ja": "それからあれこれと話が続いていて" * 2500,
    "ko": ("그리고 나서 우리는 계속 이야기를 했고 " * 2000).strip(),
    "no space": "x" * 40_000,
}


@pytest.mark.parametrize("endless", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "answered"])
async def test_an_endless_sentence_holds_nothing_up(
    store: Store, endless: str, alone: bool
) -> None:
    """Every kind of artifact is written of all that is old, and is shorter by far."""
    assert len(endless) >= 39_999
    said = [say(i, endless if alone or i % 2 == 0 else "ok.") for i in range(4)]
    await store.create_conversation("c", language="und")
    await store.append_many("c", said)
    client = OfflineModel()
    compactor = Compactor(
        store, EVERYTHING, summariser=ModelSummariser(client, "offline"),
        distiller=ModelDistiller(client, "offline"), counter=COUNTER,
    )  # fmt: skip
    report = await compactor.run_due("c")
    assert report.failures == ()
    written = [(a.kind, a.level, a.from_seq, a.to_seq) for a in report.written]
    rolling = [a for a in written if a[0] == "rolling"]  # several, where one call cannot take all
    assert rolling[-1] == ("rolling", 0, 0, 3)
    assert written[len(rolling) :] == [
        ("node", 0, 0, 1), ("node", 0, 2, 3), ("node", 1, 0, 3),
        ("episode", 0, 0, 1), ("episode", 0, 2, 3),
        ("memory", 0, 0, 3),
    ]  # fmt: skip
    assert all(a.tokens < 1300 for a in report.written)
