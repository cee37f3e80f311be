"""OpenAI chat completions: training records, request logs, and bare lists of role and content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ctxeng.core.messages import Message
from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.openai_shape import read_all, read_message
from ctxeng.harness.importers.request_logs import Exchange, sessions_of
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import first_text, listed, mapped
from ctxeng.harness.probes.model import Probe

_LISTS = ("messages", "trajectory")
_FOREIGN = ("parentUuid", "chat_messages", "mapping", "sessionId", "utterances")


class OpenAiChatImporter(Importer):
    """Reads OpenAI chat records and logs, and what agents write in the same shape."""

    name: ClassVar[str] = "openai-chat"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl")

    def detect(self, sample: Sample) -> float:
        """Return the confidence: high for a log with choices, low for bare messages."""
        first = sample.first or next(iter(sample.objects), {})
        response = mapped(first.get("response"))
        if any(key in first for key in _FOREIGN) or response.get("type") == "message":
            return 0.0
        if "choices" in response:
            return 0.95
        asked = _messages_of(first)
        if asked and role_of(mapped(asked[0]).get("role")):
            return 0.6
        is_message = role_of(first.get("role")) is not None and "content" in first
        return 0.5 if is_message else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield one session for bare messages, else one for every longest request."""
        exchanges: list[Exchange] = []
        bare = Turns(account)
        for place, record in json_records(source, account):
            if role_of(record.get("role")) and not _messages_of(record):
                _take_bare(record, bare)
                continue
            exchange = _exchange(record, f"{source.path.stem}-{place:05d}", account, place)
            if exchange is not None:
                exchanges.append(exchange)
        if bare.messages:
            yield bare.draft(source.path.stem, origin="chat messages")
        yield from sessions_of(exchanges, account, origin="OpenAI chat log")


def _take_bare(record: Mapping[str, Any], turns: Turns) -> None:
    message = read_message(record)
    if message is None:
        turns.account.skip("empty message")
        return
    turns.keep(message)


def _exchange(
    record: Mapping[str, Any], name: str, account: Account, place: int
) -> Exchange | None:
    asked = read_all(_messages_of(record))
    if not asked:
        account.skip("no messages")
        account.note("a record without messages", line=place)
        return None
    request = mapped(record.get("request")) or record
    model = first_text(request, "model")
    return Exchange(
        name=name,
        asked=tuple(asked),
        answer=_answer(record),
        meta={"model": model} if model else {},
    )


def _messages_of(record: Mapping[str, Any]) -> list[Any]:
    request = mapped(record.get("request")) or record
    for key in _LISTS:
        if isinstance(request.get(key), list):
            return listed(request[key])
    return []


def _answer(record: Mapping[str, Any]) -> Message | None:
    response = mapped(record.get("response"))
    choices = listed(response.get("choices"))
    return read_message(mapped(choices[0]).get("message")) if choices else None
