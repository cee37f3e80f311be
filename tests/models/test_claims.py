"""Claims hold between processes and end with them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from ctxeng.models import Ledger, LedgerClient, Limits
from ctxeng.models.claims import claimed
from ctxeng.models.keys import call_key
from tests.support.calls import ScriptedClient, request

HOLDER = """
import asyncio, sys
from pathlib import Path
from ctxeng.models import Ledger, LedgerClient, Limits
from tests.support.calls import ScriptedClient, request
async def hold():
    inner = ScriptedClient("from the other").held()
    asking = asyncio.ensure_future(
        LedgerClient(inner, Ledger.open(Path(sys.argv[1])), limits=Limits()).complete(request()))
    await inner.arrived.wait()
    print("held", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    inner.release()
    await asking
asyncio.run(hold())
"""


def holder(path: Path) -> subprocess.Popen[str]:
    """Start a process that is making the call, and goes on when it is told to."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


async def test_of_two_processes_one_makes_the_call(tmp_path: Path) -> None:
    """The other waits for its answer and pays for nothing."""
    path = tmp_path / "ledger.sqlite"
    child, inner = holder(path), ScriptedClient("mine")
    asking = asyncio.ensure_future(
        LedgerClient(inner, Ledger.open(path), limits=Limits()).complete(request())
    )
    await asyncio.sleep(0.3)
    assert not asking.done()
    assert child.stdin is not None
    child.stdin.write("go on\n")
    child.stdin.flush()
    found = await asking
    assert (found.text, found.from_ledger, inner.requests) == ("from the other", True, [])
    assert child.wait() == 0


async def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    """Who waited for it makes the call."""
    path = tmp_path / "ledger.sqlite"
    child, inner = holder(path), ScriptedClient("mine")
    asking = asyncio.ensure_future(
        LedgerClient(inner, Ledger.open(path), limits=Limits()).complete(request())
    )
    await asyncio.sleep(0.2)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert (await asking).text == "mine"
    assert len(inner.requests) == 1


async def test_a_file_that_was_removed_is_made_again(tmp_path: Path) -> None:
    """Whoever clears a workspace does not undo the claims of the next run."""
    key = call_key(request())
    async with claimed(tmp_path / "l", key):
        (tmp_path / "l-claims").unlink()
    async with claimed(tmp_path / "l", key):
        assert (tmp_path / "l-claims").exists()
