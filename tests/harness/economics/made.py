"""Made-up sessions for the economics tests: tokens are given, not counted."""

from __future__ import annotations

from ctxeng.harness.economics.money import Payers
from ctxeng.harness.economics.turns import CompactionCall, Piece, Request, Sitting

PAYERS = Payers(
    reader="claude-sonnet-4-6", summariser="claude-haiku-4-5", distiller="claude-sonnet-4-6"
)  # 3, 15 dollars a million; 1, 5; 3, 15


def request(
    *sizes: int | tuple[str, int], seq: int = 0, at: float = 0.0, **more: object
) -> Request:
    """Return a request of pieces: a size alone is a text that is the same everywhere."""
    named = [(f"p{i}", size) if isinstance(size, int) else size for i, size in enumerate(sizes)]
    pieces = tuple(Piece(role="user", text=name, tokens=size) for name, size in named)
    return Request(seq=seq, at_seconds=at, pieces=pieces, **more)  # type: ignore[arg-type]


def call(kind: str = "episode", *, at: int = 0, given: int = 100, fixed: int = 50, out: int = 20) -> CompactionCall:  # fmt: skip
    """Return a call of compaction."""
    return CompactionCall(
        at_seq=at,
        role="distiller" if kind == "memory" else "summariser",
        kind=kind,
        instruction_tokens=fixed,
        given_tokens=given,
        output_tokens=out,
    )


def sitting(*requests: Request, calls: tuple[CompactionCall, ...] = (), messages: int = 10, arm: str = "a", session: str = "s") -> Sitting:  # fmt: skip
    """Return a session under an arm."""
    return Sitting(arm=arm, session_id=session, messages=messages, requests=requests, calls=calls)
