"""How near does a run through the Messages API come to its lower bound?

    python benchmarks/concurrency.py [--sessions 64] [--latency 1.0] [--in-flight 32]

A local server answers after ``--latency`` seconds. The sessions are copies of one made-up
conversation with words of their own, so that no two calls are alike; each is compacted, asked and
judged. The lower bound is the work over the calls in flight, or the longest chain of calls that
wait for each other, whichever is larger; the chain is the longest session's compactions, a
reader's and a judge's call. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ctxeng.harness.experiments.launch import run_prepared
from ctxeng.harness.experiments.prepared import RunOptions, prepare
from ctxeng.harness.results.run_folder import RunFolder

MESSAGES = 40
EXPERIMENT = """
name = "concurrency"
sessions = ["datasets/made"]
probes = ["probes/made.jsonl"]
reference_arm = "episodes"
controls = ["none"]
audit_share = 1.0
[models]
reader = "claude-haiku-5-5"
summariser = "claude-sonnet-5-5"
judge = "claude-haiku-5-5"
embedder = "hashing"
concurrency = {in_flight}
[arms.episodes]
strategy = "episodes_memory"
window = {{ tokens = 120, min_messages = 2 }}
episodes = {{ target_tokens = 80 }}
budget = {{ total_tokens = 1500, reserve_tokens = 200 }}
"""


def write_workspace(home: Path, *, sessions: int, in_flight: int) -> None:
    """Write the sessions, their probes and the experiment."""
    folder = home / "datasets" / "made" / "sessions"
    folder.mkdir(parents=True)
    probes: list[dict[str, Any]] = []
    for number in range(sessions):
        name = f"made-{number:03}"
        lines: list[dict[str, Any]] = [
            {"schema": "ctxeng.session/1", "session_id": name, "language": "en"}
        ]
        for seq in range(MESSAGES):
            said = f"For house {number} lot {seq} we agreed on {1000 + 50 * number + seq} euros."
            role = "user" if seq % 2 == 0 else "assistant"
            lines.append({"seq": seq, "role": role, "content": said})
        text = "\n".join(json.dumps(line) for line in lines) + "\n"
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
        probes += [_probe(name, number, seq) for seq in (3, 9, 15, 21)]
    (home / "probes").mkdir()
    text = "\n".join(json.dumps(probe) for probe in probes) + "\n"
    (home / "probes" / "made.jsonl").write_text(text, "utf-8")
    (home / "experiments").mkdir()
    experiment = EXPERIMENT.format(in_flight=in_flight)
    (home / "experiments" / "made.toml").write_text(experiment, "utf-8")


def _probe(name: str, number: int, seq: int) -> dict[str, Any]:
    return {
        "id": f"{name}-{seq}", "session_id": name, "kind": "number", "language": "en",
        "question": f"What sum stands for lot {seq}?", "evidence": [[seq, seq]],
        "expect": [[str(1000 + 50 * number + seq)]],
    }  # fmt: skip


@contextmanager
def server(latency_seconds: float) -> Iterator[str]:
    """Run the local API in a process of its own, and yield its address."""
    command = [sys.executable, "-u", "-m", "ctxeng", "fake-api", "--port", "0"]
    with subprocess.Popen(
        [*command, "--latency", str(latency_seconds)], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        yield running.stdout.readline().split()[-1]
        running.terminate()


def measure(*, sessions: int, latency_seconds: float, in_flight: int) -> dict[str, Any]:
    """Run once and return what came out, in seconds."""
    with tempfile.TemporaryDirectory() as name, server(latency_seconds) as address:
        home = Path(name)
        write_workspace(home, sessions=sessions, in_flight=in_flight)
        os.environ |= {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "any-key"}
        options = RunOptions(out=home / "reports", jobs=sessions)
        prepared = prepare(home / "experiments" / "made.toml", workspace=home, options=options)
        started, cpu = time.perf_counter(), time.process_time()
        run = asyncio.run(run_prepared(prepared, options))
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        calls = run.manifest()["counts"]["calls_made"]
        chain = _longest_chain(run)
    bound = max(calls / in_flight, chain) * latency_seconds
    return {
        "sessions": sessions, "latency_seconds": latency_seconds, "in_flight": in_flight,
        "calls": calls, "longest_chain": chain, "wall_seconds": round(wall, 2),
        "cpu_seconds": round(cpu, 2), "bound_seconds": round(bound, 2),
        "ratio": round(wall / bound, 3),
    }  # fmt: skip


def _longest_chain(run: RunFolder) -> int:
    """Return the most compactions of one session, and two for its reader and judge."""
    import pyarrow.parquet as pq

    rows = pq.read_table(run.path / "calls.parquet").to_pylist()
    written = [row["session_id"] for row in rows if row["role"] in ("summariser", "distiller")]
    return max(written.count(name) for name in set(written)) + 2


def main() -> None:
    """Parse, measure, print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sessions", type=int, default=64)
    options.add_argument("--latency", type=float, default=1.0)
    options.add_argument("--in-flight", type=int, default=32)
    given = options.parse_args()
    found = measure(
        sessions=given.sessions, latency_seconds=given.latency, in_flight=given.in_flight
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
