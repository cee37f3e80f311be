"""Fixtures of the model tests: one server on loopback for the module, a canary for a key."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.messages_server import FakeApi, serving

CANARY = "sk-ant-canary-0451-Z"


@pytest.fixture(scope="module")
def running_server() -> Iterator[FakeApi]:
    """Keep one server for a module's tests."""
    with serving(FakeApi(keeps_requests=True)) as server:
        yield server


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch) -> str:
    """Set a recognisable key, and nothing else that would steer the SDK."""
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    return CANARY


@pytest.fixture
def server(running_server: FakeApi, canary: str) -> FakeApi:
    """Return the module's server with a clean slate, and a key in the environment."""
    running_server.play()
    return running_server
