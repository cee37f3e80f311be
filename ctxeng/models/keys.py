"""The content address of a call."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from ctxeng.core.calls import ModelRequest
from ctxeng.core.errors import ModelRejected
from ctxeng.models.catalogue import request_defaults
from ctxeng.models.offline import OFFLINE, VERSION


def request_body(request: ModelRequest) -> dict[str, Any]:
    """Return everything that decides the answer, as plain JSON; the role is not part of it.

    The offline model stands here with its version: it changes with this package.
    """
    defaults = request_defaults(request.model, request.extra)
    return {
        **({"defaults": defaults} if defaults else {}),
        "model": VERSION if request.model == OFFLINE else request.model,
        "system": [dict(block) for block in request.system],
        "messages": [dict(message) for message in request.messages],
        "tool": dict(request.tool) if request.tool is not None else None,
        "tools": [dict(tool) for tool in request.tools],
        "max_tokens": request.max_tokens,
        "extra": dict(request.extra),
        "prompt_id": request.prompt_id,
        "replicate": request.replicate,
    }


def call_key(request: ModelRequest) -> str:
    """Return the sha256 (hex) over the canonical JSON of the request body.

    Raises:
        ModelRejected: the request is no JSON (half a surrogate pair, a number beyond 64 bits).
    """
    try:
        body = orjson.dumps(request_body(request), option=orjson.OPT_SORT_KEYS, default=str)
    except orjson.JSONEncodeError as error:
        raise ModelRejected(
            f"request must be JSON, got {error} ({request.role}, {request.prompt_id})."
        ) from None
    return hashlib.sha256(body).hexdigest()
