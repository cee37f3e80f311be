"""The errors a request can be answered with."""

from __future__ import annotations

from collections.abc import Mapping

from ctxeng.fakeapi.replies import Reply, error_reply


class Refusal(Exception):
    """The API would answer this request with an error; holds its status, type and message."""

    def __init__(self, text: str, *, status: int = 400, kind: str = "invalid_request_error"):
        self.text = text
        self.status = status
        self.kind = kind
        super().__init__(text)

    def reply(self, headers: Mapping[str, str] | None = None) -> Reply:
        """Return the error as an HTTP response."""
        return error_reply(self.status, self.kind, self.text, headers=headers)
