"""A Messages API on loopback: try the product, and prove the Claude path, without a key.

A real HTTP server for the ordinary ``anthropic`` client. It refuses what the API refuses, keeps a
prompt cache, counts what it bills, fails as often as it is told to, and answers with the offline
model, which really reads the prompt: an experiment through it ends in a table.

A room of its own beside ``harness``, below ``cli`` alone: neither knows the other, so that no
measurement can behave differently because its server is a fake, and nothing that production
imports can reach a web server. It is no part of ``models`` because it needs starlette and uvicorn,
and no test helper because users start it too (``ctxeng fake-api``). It reads the request types of
the ``anthropic`` package, and calls nothing of it.
"""

from ctxeng.fakeapi.faults import FAULTS, FaultPlan
from ctxeng.fakeapi.replies import Reply
from ctxeng.fakeapi.server import FakeApi, Received
from ctxeng.fakeapi.serving import serve, serving

__all__ = ["FAULTS", "FakeApi", "FaultPlan", "Received", "Reply", "serve", "serving"]
