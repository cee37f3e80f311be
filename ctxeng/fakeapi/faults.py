"""How the server fails: each kind at a seeded rate, whatever the order requests arrive in."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar, get_args

from ctxeng.fakeapi.replies import Reply, error_reply

TransportFault = Literal["rate_limit", "overloaded", "server_error", "timeout", "dropped"]
AnswerFault = Literal["thinking_only", "refusal", "max_tokens", "malformed_tool"]
ItemFault = Literal["expired", "errored"]
Fault = TransportFault | AnswerFault | ItemFault
Kind = TypeVar("Kind", bound=str)

TRANSPORT_FAULTS: tuple[TransportFault, ...] = get_args(TransportFault)
ANSWER_FAULTS: tuple[AnswerFault, ...] = get_args(AnswerFault)
ITEM_FAULTS: tuple[ItemFault, ...] = get_args(ItemFault)
FAULTS: tuple[Fault, ...] = (*TRANSPORT_FAULTS, *ANSWER_FAULTS, *ITEM_FAULTS)


@dataclass(slots=True, kw_only=True)
class FaultPlan:
    """Decides from seed, request and how often that request has come: order does not matter.

    Args:
        rate: share of the requests that fail, 0..1; every kind is as likely as any other.
        kinds: the kinds that occur, each where it can: items of batches expire, requests time out.
            For messages one that is named twice is twice as likely.
        retry_after_seconds: what 429 and 529 ask the client to wait.
        hang_seconds: how long a request that times out is left waiting; the API gives up after ten
            minutes.
        most_in_a_row: after that many faults the same request is answered, None for no limit.
        made: how often each kind has occurred.
    """

    rate: float = 0.0
    seed: int = 0
    kinds: tuple[Fault, ...] = FAULTS
    retry_after_seconds: float = 1.0
    hang_seconds: float = 600.0
    most_in_a_row: int | None = None
    made: Counter[str] = field(default_factory=Counter)
    _seen: Counter[str] = field(default_factory=Counter)
    _row: Counter[str] = field(default_factory=Counter)

    def for_message(self, digest: str) -> TransportFault | AnswerFault | None:
        """Return what happens to a request for a message, None for nothing."""
        kinds = [*TRANSPORT_FAULTS, *ANSWER_FAULTS]
        return self._draw(digest, [kind for kind in kinds for _ in range(self.kinds.count(kind))])

    def for_endpoint(self, digest: str) -> TransportFault | None:
        """Return what happens to any other request."""
        kinds = [kind for kind in TRANSPORT_FAULTS if kind in self.kinds]
        return self._draw(digest, kinds)

    def for_item(self, digest: str) -> AnswerFault | ItemFault | None:
        """Return what happens to one item of a batch."""
        answers = [kind for kind in ANSWER_FAULTS if kind in self.kinds]
        items = [kind for kind in ITEM_FAULTS if kind in self.kinds]
        return self._draw(digest, [*answers, *items])

    def transport_reply(self, fault: TransportFault, otherwise: Reply) -> Reply:
        """Return the response of a fault; ``otherwise`` is what it spoils."""
        wait = {"retry-after": f"{self.retry_after_seconds:g}"}
        match fault:
            case "rate_limit":
                text = "This request would exceed your organization's rate limit."
                return error_reply(429, "rate_limit_error", text, headers=wait)
            case "overloaded":
                return error_reply(529, "overloaded_error", "Overloaded", headers=wait)
            case "server_error":
                return error_reply(500, "api_error", "Internal server error", headers=wait)
            case "timeout":
                late = error_reply(504, "timeout_error", "Request timed out", headers=wait)
                return replace(late, hang_seconds=self.hang_seconds)
            case "dropped":
                return otherwise.dropped()

    def _draw(self, digest: str, kinds: Sequence[Kind]) -> Kind | None:
        self._seen[digest] += 1
        text = f"{self.seed}/{digest}/{self._seen[digest]}"
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:12], "big")
        spared = self.most_in_a_row is not None and self._row[digest] >= self.most_in_a_row
        if spared or not kinds or (number % 10**9) / 10**9 >= self.rate:
            self._row.pop(digest, None)
            return None
        kind = kinds[number // 10**9 % len(kinds)]
        self.made[kind] += 1
        self._row[digest] += 1
        return kind
