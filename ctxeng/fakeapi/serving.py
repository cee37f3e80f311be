"""Run the server: in this thread until interrupted, or in another one for a while."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from ctxeng.core.errors import InputError
from ctxeng.fakeapi.server import FakeApi

READY_SECONDS = 30


def serve(api: FakeApi, *, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve on 127.0.0.1 until interrupted; port 0 takes any free one.

    Raises:
        InputError: the port is taken.
    """
    listener = bound(port)
    api.base_url = _address(listener)
    runner = _Runner(_config(api), on_ready=lambda: on_ready(api.base_url))
    runner.run([listener])


@contextmanager
def serving(api: FakeApi) -> Iterator[FakeApi]:
    """Serve on a free port of 127.0.0.1 in a thread, until the block ends."""
    listener = bound(0)
    api.base_url = _address(listener)
    ready = threading.Event()
    runner = _Runner(_config(api), on_ready=ready.set)
    thread = threading.Thread(target=runner.run, args=([listener],), daemon=True)
    thread.start()
    try:
        if not ready.wait(READY_SECONDS):
            raise RuntimeError("the server did not start")
        yield api
    finally:
        runner.should_exit = True
        thread.join(READY_SECONDS)
        listener.close()


def bound(port: int) -> socket.socket:
    """Return a socket bound to a port of 127.0.0.1; 0 takes any free one.

    Raises:
        InputError: the port is taken.
    """
    # asyncio sends small packets at once only over a socket that names its protocol
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(f"port must be free, got {port} ({error}). Name another.") from None
    return listener


def _address(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _config(api: FakeApi) -> uvicorn.Config:
    return uvicorn.Config(
        api.app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
    )


class _Runner(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._on_ready()
