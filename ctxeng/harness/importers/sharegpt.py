"""ShareGPT: conversations as lists of ``from`` and ``value``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import first_text, listed, mapped
from ctxeng.harness.probes.model import Probe


class ShareGptImporter(Importer):
    """Reads ShareGPT files, JSON or JSON Lines."""

    name: ClassVar[str] = "sharegpt"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl")

    def detect(self, sample: Sample) -> float:
        """Return 0.9 for conversations whose turns have ``from`` and ``value``."""
        first = sample.first or next(iter(sample.objects), {})
        turns = listed(first.get("conversations"))
        return 0.9 if turns and {"from", "value"} <= mapped(turns[0]).keys() else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every conversation."""
        for place, record in json_records(source, account):
            turns = Turns(account)
            for raw in listed(record.get("conversations")):
                _take(mapped(raw), turns)
            name = first_text(record, "id") or f"{place:05d}"
            yield turns.draft(f"{source.path.stem}-{name}", origin="ShareGPT")


def _take(turn: dict[str, Any], turns: Turns) -> None:
    role = role_of(turn.get("from") or turn.get("role"))
    if role is None:
        turns.account.skip("unknown speaker")
        return
    turns.add(role, first_text(turn, "value", "content", "text"))
