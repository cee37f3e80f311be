"""Run a coroutine to its end so that Ctrl-C always ends it.

``asyncio.run`` cancels once, and a cancellation can be lost: Python 3.11's ``asyncio.wait_for``,
on which the database driver waits, returns its result when both arrive in the same moment.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN_SECONDS = 1.0


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in an event loop of its own and return what it returns.

    The first Ctrl-C cancels every task, again each second until all have ended; the second one
    stops at once. Only the main thread can be interrupted, and not where the signal is ignored,
    as it is in a shell's background job.

    Raises:
        KeyboardInterrupt: Ctrl-C came, whatever the work made of it.
    """
    with asyncio.Runner() as runner, _Interrupts(runner.get_loop()) as interrupts:
        try:
            return runner.run(work)
        finally:
            if interrupts.presses:
                raise KeyboardInterrupt


class _Interrupts:
    """Listen for Ctrl-C while a loop runs, and cancel its tasks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.presses = 0
        self._loop = loop
        self._listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def __enter__(self) -> _Interrupts:
        if self._listens:
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._listens = False

    def _press(self, _signal: int, _frame: FrameType | None) -> None:
        self.presses += 1
        if self.presses > 1:
            raise KeyboardInterrupt
        self._loop.call_soon_threadsafe(self._cancel_all)

    def _cancel_all(self) -> None:
        if self._listens:
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.call_later(AGAIN_SECONDS, self._cancel_all)
