"""OpenAssistant message trees: of every tree the path of best ranked replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import listed, mapped, moment, text_of
from ctxeng.harness.probes.model import Probe


class OasstImporter(Importer):
    """Reads OpenAssistant trees, one a line."""

    name: ClassVar[str] = "oasst"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".json")

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for records with a tree id and a prompt."""
        first = next(iter(sample.objects), {}) or sample.first
        return 0.95 if "message_tree_id" in first and "prompt" in first else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every tree."""
        for place, record in json_records(source, account):
            root = mapped(record.get("prompt"))
            turns = Turns(account)
            path = _best_path(root)
            for message in path:
                _take(message, turns)
            account.skip("other reply", _size(root) - len(path))
            yield turns.draft(
                text_of(record.get("message_tree_id")) or f"{source.path.stem}-{place:05d}",
                origin="OpenAssistant",
                language=text_of(root.get("lang"))[:2] or None,
            )


def _take(message: Mapping[str, Any], turns: Turns) -> None:
    role = role_of(message.get("role"))
    if role is None or message.get("deleted"):
        turns.account.skip("deleted message" if message.get("deleted") else "unknown role")
        return
    turns.add(
        role,
        text_of(message.get("text")),
        timestamp=moment(message.get("created_date")),
        message_id=text_of(message.get("message_id")),
    )


def _best_path(root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    path, node = [], root
    while node:
        path.append(node)
        replies = [mapped(reply) for reply in listed(node.get("replies"))]
        alive = [reply for reply in replies if reply and not reply.get("deleted")]
        node = min(alive, key=_rank, default={})
    return path


def _rank(reply: Mapping[str, Any]) -> float:
    rank = reply.get("rank")
    return float(rank) if isinstance(rank, int | float) else float("inf")


def _size(root: Mapping[str, Any]) -> int:
    count, pending = 0, [root]
    while pending:
        node = pending.pop()
        if node:
            count += 1
            pending += [mapped(reply) for reply in listed(node.get("replies"))]
    return count
