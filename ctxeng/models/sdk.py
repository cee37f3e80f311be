"""The door to the ``anthropic`` package: a client with a key that never shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ctxeng.core.errors import InputError

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def open_sdk(
    *, base_url: str | None, retries: int, timeout_seconds: float, middleware: Sequence[Any] = ()
) -> AsyncAnthropic:
    """Return the SDK's client; ``secrets`` has said before that there is a key."""
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(
        base_url=base_url, max_retries=retries, timeout=timeout_seconds, middleware=middleware
    )


def secrets() -> tuple[str, ...]:
    """Return the keys that are set, for taking them out of messages.

    Raises:
        InputError: no key is set, or one that no header can carry. The message names the
            variable, never a value.
    """
    found = {name: key for name in KEY_VARIABLES if (key := os.environ.get(name))}
    if not found:
        raise InputError(
            f"{KEY_VARIABLES[0]} must be set to call a model over the Messages API. "
            "Set it, or use the model id `offline`."
        )
    for name, key in found.items():
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise InputError(
                f"{name} must be printable ASCII without spaces. "
                "Set it again; look for a line break or a quotation mark around it."
            )
    return tuple(found.values())


def reason(body: object, hidden: Sequence[str]) -> str:
    """Return the API's own message, shortened; no key, even where the server repeats it."""
    error = body.get("error") if isinstance(body, Mapping) else None
    told = str((error.get("message") if isinstance(error, Mapping) else None) or "no message")
    for secret in hidden:
        told = told.replace(secret, "[key]")
    return told[:300]
