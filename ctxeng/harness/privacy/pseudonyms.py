"""Pseudonyms: the same value always gets the same one, and nobody gets back without the key."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from pathlib import Path

from ctxeng.core.errors import DatasetError
from ctxeng.harness.privacy.found import KINDS, Found, Kind

KEY_NAME = "redaction.key"
_KEY_BYTES = 32
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_LENGTH = 10
"""Letters only: a pseudonym must not hold digits that a numeric probe could find in it."""
_STEMS: Mapping[Kind, str] = {kind: kind.upper() for kind in KINDS}
PSEUDONYM = re.compile(rf"(?:{'|'.join(_STEMS.values())})-[{_LETTERS}]{{{_LENGTH}}}")


def pseudonym(found: Found, key: bytes) -> str:
    """Return what stands for a value, for example ``EMAIL-KQXVBTRMZD``.

    Source: HMAC-SHA256 (RFC 2104) over kind and identity, written in base 20.
    """
    message = f"{found.kind}\0{found.identity}".encode("utf-8", "surrogatepass")
    number = int.from_bytes(hmac.new(key, message, hashlib.sha256).digest(), "big")
    letters = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return f"{_STEMS[found.kind]}-{''.join(letters)}"


def workspace_key(folder: Path) -> bytes:
    """Return the workspace's own key, made at random on first use and readable by its owner only.

    With it, importing again gives the same pseudonyms; without it, a value cannot be guessed by
    trying all telephone numbers.

    Raises:
        DatasetError: the file cannot be read or written, or is no key.
    """
    path = folder / KEY_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            key = bytes.fromhex(path.read_text("ascii"))
        else:
            key = os.urandom(_KEY_BYTES)
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                stream.write(key.hex())
    except (OSError, ValueError) as error:
        raise DatasetError(f"the redaction key must be usable, got {error} ({path}).") from None
    if len(key) != _KEY_BYTES:
        raise DatasetError(
            f"the redaction key must be {_KEY_BYTES} bytes in hex, got {len(key)} ({path}). "
            "Remove the file to have another one made; pseudonyms then change."
        )
    return key
