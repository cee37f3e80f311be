"""Run tasks in processes of their own that never outlive this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

POLL_SECONDS = 0.2


def run_ahead(
    task: Callable[..., None],
    arguments: Iterable[tuple[Any, ...]],
    *,
    processes: int,
    on_poll: Callable[[], None],
    stop: threading.Event,
) -> None:
    """Call ``task`` once for each argument tuple, in order, over some processes; wait for the end.

    A worker that dies ends the whole attempt without an error: the caller does what is missing.
    An error of the task ends the attempt too, and is raised; nobody waits for the other workers.

    Args:
        task: a module-level function; it must leave its result on disk.
        on_poll: called a few times a second, for progress.
        stop: once set, the workers are ended and the call returns.
    """
    pool = ProcessPoolExecutor(
        max_workers=processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_live_with_parent,
        initargs=(os.getpid(),),
    )
    pending = set()
    try:
        with _interrupts_held():
            pending = {pool.submit(task, *given) for given in arguments}
        while pending and not stop.is_set():
            done, pending = wait(pending, timeout=POLL_SECONDS)
            for future in done:
                future.result()
            on_poll()
    except BrokenProcessPool:
        return
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if pending or stop.is_set():
            for worker in multiprocessing.active_children():
                worker.terminate()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Start processes that never see an interrupt, not even while they start: it is ours."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _live_with_parent(parent: int) -> None:
    """End this process when its parent ends, and leave interrupts to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
