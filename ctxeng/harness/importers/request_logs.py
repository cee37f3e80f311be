"""Request logs: each request repeats the whole history, a session is the longest of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxeng.core.messages import Message
from ctxeng.harness.importers.model import Account, SessionDraft, draft
from ctxeng.harness.sessions.records import encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request with its answer, as messages; ``name`` tells it from others of the file."""

    name: str
    asked: tuple[Message, ...]
    answer: Message | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


def sessions_of(
    exchanges: Sequence[Exchange], account: Account, *, origin: str, title: str = ""
) -> list[SessionDraft]:
    """Return a session for every request that no longer one goes on from.

    Each exchange is one record: kept, merged into a longer one, or skipped because the same
    request was answered otherwise there.
    """
    chains = [_chain(exchange) for exchange in exchanges]
    requests = {key for asked, _ in chains for key in asked[:-1]}
    histories = {key for asked, _ in chains for key in asked}
    kept: dict[str, Exchange] = {}
    for exchange, (asked, whole) in zip(exchanges, chains, strict=True):
        key = asked[-1]
        if key in requests:
            if whole == key or whole in histories:
                account.merge()
            else:
                account.skip("answered otherwise in a longer request")
        elif key in kept:
            account.skip("same request twice")
            if kept[key].answer is None:
                kept[key] = exchange
        else:
            account.take()
            kept[key] = exchange
    return [_draft(exchange, origin, title) for exchange in kept.values()]


def _chain(exchange: Exchange) -> tuple[list[str], str]:
    """Return the running hash after each message asked, and after the answer."""
    digest, keys = hashlib.sha256(), []
    for message in exchange.asked:
        digest.update(said(message))
        keys.append(digest.hexdigest())
    if exchange.answer is not None:
        digest.update(said(exchange.answer))
    return keys, digest.hexdigest()


def said(message: Message) -> bytes:
    """Return what a message says; clients send thinking back or not as they like."""
    blocks = [block for block in message.blocks if block.get("type") != "thinking"]
    return encode({"role": message.role, "content": message.content.strip(), "blocks": blocks})


def _draft(exchange: Exchange, origin: str, title: str) -> SessionDraft:
    answer = (exchange.answer,) if exchange.answer is not None else ()
    return draft(
        exchange.name,
        (*exchange.asked, *answer),
        origin=origin,
        title=title,
        meta=exchange.meta,
        taken=1,
    )
