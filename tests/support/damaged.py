"""Files as a failing disk or a broken copy leaves them."""

from __future__ import annotations

from pathlib import Path


def flip(file: Path, start: int, end: int) -> None:
    """Invert the bytes from ``start`` to ``end``, as a slice counts them."""
    content = bytearray(file.read_bytes())
    content[start:end] = bytes(byte ^ 0xFF for byte in content[start:end])
    file.write_bytes(content)
