"""What a session sends to models, turn by turn: requests to the reader, calls of compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One content block of a request: the unit that a cache breakpoint can follow."""

    role: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One prompt of a session, and the answer it got when it was recorded.

    Args:
        seq: the message that is answered.
        at_seconds: when it was asked, on the session's clock; never goes back.
        pieces: system blocks first, then the blocks of the messages, as they are sent.
        built: indices of the pieces that the builder put a breakpoint after.
        memory: index of the memory block. summaries: index of the block that holds summaries,
            episodes and retrieved messages. None where the prompt has none.
        answer_tokens: of the recorded answer.
    """

    seq: int
    at_seconds: float
    pieces: tuple[Piece, ...]
    built: tuple[int, ...] = ()
    memory: int | None = None
    summaries: int | None = None
    answer_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Return the tokens of the whole prompt."""
        return sum(piece.tokens for piece in self.pieces)

    @property
    def upto(self) -> list[int]:
        """Return the tokens up to and with each piece."""
        return list(accumulate(piece.tokens for piece in self.pieces))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCall:
    """One call of a summariser or distiller.

    Args:
        at_seq: the newest message when it was made.
        kind: ``episode``, ``rolling``, ``node`` or ``memory``.
        instruction_tokens: the fixed part: instructions and tool. given_tokens: what it reads.
    """

    at_seq: int
    role: str
    kind: str
    instruction_tokens: int
    given_tokens: int
    output_tokens: int

    @property
    def input_tokens(self) -> int:
        """Return the tokens of the whole prompt."""
        return self.instruction_tokens + self.given_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """One session under one arm.

    Args:
        messages: how many messages the session has.
        untimed: messages whose time had to be assumed.
    """

    arm: str
    session_id: str
    messages: int
    requests: tuple[Request, ...]
    calls: tuple[CompactionCall, ...] = ()
    untimed: int = 0


@dataclass(slots=True)
class Prefixes:
    """Gives every distinct prefix of pieces a number; equal prefixes have equal numbers."""

    _known: dict[tuple[int, str, str], int] = field(default_factory=dict)

    def of(self, pieces: Sequence[Piece]) -> list[int]:
        """Return the number of the prefix that ends with each piece."""
        found, before = [], 0
        for piece in pieces:
            key = (before, piece.role, piece.text)
            before = self._known.setdefault(key, len(self._known) + 1)
            found.append(before)
        return found
