"""Ctrl-C ends a command, also where the work swallows the cancellation."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from ctxeng.cli import running
from ctxeng.cli.running import run_async


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "AGAIN_SECONDS", 0.01)


def _press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_work_that_is_let_be_gives_its_result_and_the_handler_back() -> None:
    before = signal.getsignal(signal.SIGINT)

    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert run_async(work()) == 7
    assert signal.getsignal(signal.SIGINT) is before


def test_a_swallowed_cancellation_comes_again() -> None:
    """The database driver's wait may lose the first one, in the main task or below it."""
    swallowed: list[str] = []

    async def deaf(name: str) -> None:
        for _ in range(2):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed.append(name)
        await asyncio.Event().wait()

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(deaf("child"))
            asyncio.get_running_loop().call_soon(_press)
            await deaf("main")

    with pytest.raises(KeyboardInterrupt):
        run_async(work())
    assert sorted(swallowed) == ["child", "child", "main", "main"]


@pytest.mark.parametrize("error", [None, RuntimeError("the connection is closed")])
def test_work_that_ends_in_another_way_after_ctrl_c_was_interrupted_all_the_same(
    error: Exception | None,
) -> None:
    async def work() -> None:
        _press()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if error:
                raise error from None

    with pytest.raises(KeyboardInterrupt):
        run_async(work())


def test_a_second_ctrl_c_stops_at_once() -> None:
    async def work() -> None:
        _press()
        _press()
        raise AssertionError("went on")  # pragma: no cover

    with pytest.raises(KeyboardInterrupt):
        run_async(work())


def test_the_work_s_own_error_is_raised() -> None:
    async def work() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        run_async(work())
