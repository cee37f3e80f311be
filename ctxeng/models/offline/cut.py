"""Where an episode ends: between the two neighbours that share the fewest words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ctxeng.models.offline.prompt import Tagged
from ctxeng.models.offline.words import words


def end_of_episode(pieces: Sequence[Tagged]) -> int:
    """Return the seq of the last message before the words change most; the earliest of equals.

    Whoever asks moves it into the limits it knows.
    """
    said = [piece for piece in pieces if piece.tag == "message"]
    shares = [
        (_shared(before.text, after.text), int(before.attributes.get("seq", 0)))
        for before, after in pairwise(said)
    ]
    return min(shares)[1] if shares else int(said[-1].attributes.get("seq", 0)) if said else 0


def _shared(one: str, other: str) -> float:
    a, b = set(words(one)), set(words(other))
    return len(a & b) / len(a | b) if a | b else 1.0
