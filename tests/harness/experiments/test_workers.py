"""Tasks in processes of their own."""

from __future__ import annotations

import multiprocessing
import threading
import time

import pytest

from ctxeng.harness.experiments.workers import run_ahead


def test_an_error_of_a_task_is_raised_and_nobody_waits_for_the_others() -> None:
    """The other worker would sleep for minutes, and keep the command from ending."""
    with pytest.raises(ValueError, match="invalid literal"):
        run_ahead(_either, [(0,), (1,)], processes=2, on_poll=list, stop=threading.Event())
    deadline = time.monotonic() + 100
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.05)  # no join: the pool's own thread waits for the same processes
    assert multiprocessing.active_children() == []


def _either(is_faulty: int) -> None:
    if is_faulty:
        int("x")
    time.sleep(300)
