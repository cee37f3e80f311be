"""Import a large Claude Code file: speed beside parsing alone, and peak memory.

    python benchmarks/import_stream.py --megabytes 1000
    python benchmarks/import_stream.py --megabytes 150 --lines SESSION.jsonl …

Writes a session of that size (invented: prose, tool calls, results of a few hundred bytes to
200 KB, thinking, compaction boundaries, side lines), or repeats the lines of recorded ones with
new ids and later days, parses its lines with orjson and nothing else, imports it, each in a process
of its own, and prints the times, their ratio by CPU seconds (the median of the rounds: both halves
of a round meet the same machine), and the peak memory of the import. Exit code 1 where the ratio
or the memory misses its bound.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import count
from pathlib import Path

import orjson

PROGRESS_LINES = 13
"""For every tool call, as in recorded sessions, where seven of ten lines report progress."""
SHARE_BOUND = 0.30
MEMORY_BOUND_MB = 300
WORDS = (
    *("schedule", "invoice", "kettle", "harbour", "lantern", "review", "margin", "cache"),
    *("query", "window", "port", "signal", "draft", "budget", "Dienstag", "予算", "예산"),
    *("naïve", "ledger", "socket", "garden", "retry", "ticket", "amber", "violet"),
    *("release"),
)


def prose(rng: random.Random, words: int) -> str:
    """Return that many words, with a quote and a line break now and then."""
    return " ".join(rng.choices(WORDS, k=words)).replace("retry", 'retry "soon"\n')


def records(rng: random.Random) -> Iterator[dict[str, object]]:
    """Yield the records of an endless session, in the proportions of real ones."""
    parent: str | None = None
    for turn in range(1 << 40):
        base = {"isSidechain": False, "userType": "external", "cwd": "/w/app", "sessionId": "s",
                "version": "2.1.0", "gitBranch": "main"}  # fmt: skip
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_760_000_000 + turn * 30))

        def line(
            kind: str, base: dict[str, object] = base, at: str = at, **more: object
        ) -> dict[str, object]:
            nonlocal parent
            identity = f"{rng.getrandbits(128):032x}"
            dashed = "-".join(
                (identity[:8], identity[8:12], identity[12:16], identity[16:20], identity[20:])
            )
            made = {"parentUuid": parent, **base, "type": kind, **more}
            parent = dashed
            return made | {"uuid": dashed, "timestamp": at}

        if turn % 2000 == 1999:
            last, parent = parent, None
            yield line("system", subtype="compact_boundary", content="Conversation compacted",
                       logicalParentUuid=last,
                       compactMetadata={"trigger": "auto", "preTokens": 155_000})  # fmt: skip
            yield line("user", isCompactSummary=True,
                       message={"role": "user", "content": prose(rng, 1500)})  # fmt: skip
        yield line("user", message={"role": "user", "content": prose(rng, rng.randint(5, 80))})
        call = f"toolu_{turn:020d}"
        message = {"id": f"msg_{turn:020d}", "role": "assistant", "model": "claude-sonnet-4-5",
                   "usage": {"input_tokens": 4, "output_tokens": 300}}  # fmt: skip
        for block in (
            {"type": "thinking", "thinking": prose(rng, 60), "signature": "x" * 300},
            {"type": "text", "text": prose(rng, rng.randint(10, 200))},
            {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": prose(rng, 12)}},
        ):
            yield line("assistant", message={**message, "content": [block]})
        for _ in range(PROGRESS_LINES):
            yield line("progress",
                       data={"type": "hook_progress", "hookEvent": "PostToolUse",
                             "hookName": "PostToolUse:Bash", "command": prose(rng, 20)},
                       toolUseID=call, parentToolUseID=call)  # fmt: skip
        size = min(30_000, int(rng.paretovariate(1.1) * 200))
        result = prose(rng, size)
        yield line("user", message={"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call, "content": result}]},
            toolUseResult={"stdout": result[:4000], "interrupted": False})  # fmt: skip


def invented(seed: int) -> Iterator[bytes]:
    """Yield the lines of an endless session."""
    for record in records(random.Random(seed)):
        yield orjson.dumps(record) + b"\n"


def repeated(paths: Sequence[Path]) -> Iterator[bytes]:
    """Yield the lines of recorded sessions over and over, each time with other ids, a week later.

    Raises:
        SystemExit: they have no lines.
    """
    ids = re.compile(rb'"((?:\w*U?uid|id|tool_use_id)":"[^"]+)"')
    days = re.compile(rb'"timestamp":"(\d{4}-\d\d-\d\d)')
    lines = [line for path in paths for line in path.read_bytes().splitlines(keepends=True)]
    if not lines:
        raise SystemExit("--lines must name files with lines. Give recorded sessions.")
    for turn in count():

        def later(found: re.Match[bytes], weeks: int = turn) -> bytes:
            day = date.fromisoformat(found[1].decode()) + timedelta(weeks=weeks)
            return b'"timestamp":"' + day.isoformat().encode()

        for line in lines:
            yield days.sub(later, ids.sub(rb'"\1-%d"' % turn, line))


def write(path: Path, megabytes: int, lines: Iterator[bytes]) -> None:
    """Write the session."""
    left = megabytes * 1_000_000
    with path.open("wb") as stream:
        for line in lines:
            stream.write(line)
            left -= len(line)
            if left <= 0:
                return


PARSE = """
import orjson
with open(sys.argv[1], "rb") as stream:
    for line in stream:
        orjson.loads(line)
"""
IMPORT = """
report = import_paths("claude-code", [Path(sys.argv[1])], Path(sys.argv[2]))
found = {"read": report.read, "messages": report.messages}
"""
AROUND = """
import json, resource, sys, time
from pathlib import Path
from ctxeng.harness.importers.run import import_paths
found, wall, cpu = {{}}, time.perf_counter(), time.process_time()
{code}
found["wall"], found["cpu"] = time.perf_counter() - wall, time.process_time() - cpu
found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps(found))
"""


def measured(code: str, *arguments: Path) -> dict[str, float]:
    """Run code in a process of its own; return its seconds, its peak memory and what it found."""
    command = [sys.executable, "-c", AROUND.format(code=code), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    found["peak_mb"] = found.pop("peak") / (1e6 if sys.platform == "darwin" else 1024)
    return found


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5, help="their median counts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="where the files are written")
    parser.add_argument("--lines", type=Path, nargs="+", metavar="FILE", help="recorded sessions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "session.jsonl"
        lines = repeated(options.lines) if options.lines else invented(options.seed)
        write(path, options.megabytes, lines)
        rounds = [
            (measured(PARSE, path), measured(IMPORT, path, Path(folder) / f"out-{number}"))
            for number in range(options.rounds)
        ]
    alone = min((parsed for parsed, _ in rounds), key=lambda one: one["cpu"])
    found = min((imported for _, imported in rounds), key=lambda one: one["cpu"])
    shares = sorted(parsed["cpu"] / imported["cpu"] for parsed, imported in rounds)
    share = statistics.median(shares)
    print(f"{options.megabytes} MB, {found['read']:,} lines, {found['messages']:,} messages")
    for name, one in (("orjson alone", alone), ("import", found)):
        print(f"{name}: {one['cpu']:.1f} s of CPU, {one['wall']:.1f} s by the clock")
    print(
        f"import at {share:.0%} of the speed of orjson alone ({shares[0]:.0%} to {shares[-1]:.0%} "
        f"in {len(shares)} rounds; bound {SHARE_BOUND:.0%})"
    )
    print(f"peak memory {found['peak_mb']:.0f} MB (bound {MEMORY_BOUND_MB} MB)")
    return int(share < SHARE_BOUND or found["peak_mb"] > MEMORY_BOUND_MB)


if __name__ == "__main__":
    sys.exit(main())
