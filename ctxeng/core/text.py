"""Text that every encoder and every terminal takes."""

from __future__ import annotations


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


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: control characters are shown as escapes."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
