"""Text that every encoder and every terminal takes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def well_formed(text: str) -> str:
    """Return text without lone surrogates: halves that belong together are joined, others U+FFFD.

    An emoji cut in half by a program that counts UTF-16 units leaves such a half.

    Example:
        ``well_formed("a\\ud83d")`` → ``"a\\ufffd"``
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def numbered(n: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: ``1 session``, ``2,000 sessions``.

    Args:
        plural: where it is not the noun with an s.
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def points(share: float) -> str:
    """Return a difference of shares in points: ``points(0.05)`` → ``5 points``."""
    told = f"{100 * share:g}"
    return f"{told} point{'' if told == '1' else 's'}"


def nearest(given: str, known: Sequence[str]) -> str:
    """Return a sentence with the names most like the given one, else with the first there are.

    Example:
        ``nearest("roling", ["rolling", "full"])`` → ``"Nearest: rolling."``
    """
    holding = [name for name in known if given and given in name]
    near = list(dict.fromkeys([*difflib.get_close_matches(given, known), *holding]))[:3]
    if near:
        return f"Nearest: {', '.join(near)}."
    return f"One of: {', '.join(known[:3])}{' and others' if len(known) > 3 else ''}."


def words(name: str) -> str:
    """Return an identifier as people read it: ``lost_in_summary`` → ``lost in summary``."""
    return name.replace("_", " ")


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: control characters are shown as escapes."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
