"""The parts of messages that lines of a Claude Code file carry, kept on disk until they are wanted.

A message of the API stands in several lines, one after the other as a rule: these are joined before
they are written; lines of one message with others between them are joined when they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import orjson

from ctxeng.harness.importers.claude_code_lines import Line
from ctxeng.harness.importers.claude_code_threads import Thread, key_of
from ctxeng.harness.sessions.records import encode


@dataclass(slots=True)
class Parts:
    """Parts in a temporary file; their places are columns of the thread."""

    spool: IO[bytes]
    written: int = 0
    _open: tuple[Thread, int] | None = None
    _records: list[dict[str, Any]] = field(default_factory=list)

    def add(self, thread: Thread, node: int, line: Line) -> None:
        """Keep the part that a line carries."""
        for call in line.calls:
            thread.calls_tool(node, key_of(call))
        if line.answers:
            thread.answers_tool(node, key_of(line.answers))
        if not (line.group and self._goes_on(thread, node)):
            self.close()
            self._open = (thread, node)
        if line.record is not None:
            self._records.append(line.record)

    def close(self) -> None:
        """Write the message that is being put together; nothing is written after the last one."""
        if self._open is None:
            return
        thread, node = self._open
        records = self._records
        data = encode(merge_records(records) if len(records) > 1 else records[0])
        thread.offset[node], thread.length[node] = self.written, len(data)
        self.spool.write(data)
        self.written += len(data)
        self._open = None
        self._records.clear()

    def message(self, thread: Thread, nodes: Sequence[int]) -> bytes:
        """Return the message made of the parts of some lines."""
        parts = []
        for node in nodes:
            if length := thread.length[node]:
                self.spool.seek(thread.offset[node])
                parts.append(self.spool.read(length))
        if len(parts) == 1:
            return parts[0]
        return encode(merge_records([orjson.loads(part) for part in parts]))

    def _goes_on(self, thread: Thread, node: int) -> bool:
        """Return whether a line carries on with the message that is open, and not back in time."""
        if self._open is None:
            return False
        begun, first = self._open
        return (
            begun is thread
            and thread.group[node] == thread.group[first] != -1
            and thread.time[node] >= thread.time[first]
        )


def merge_records(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the lines of one API message as one: words and blocks joined, usage of the last."""
    merged = parts[0]
    texts = [part["content"] for part in parts if part["content"]]
    merged["content"] = "\n\n".join(texts)
    blocks = [block for part in parts for block in part.get("blocks", ())]
    if blocks:
        merged["blocks"] = blocks
    meta: dict[str, Any] = {}
    for part in parts:
        meta |= part.get("meta", {})
    if meta:
        merged["meta"] = meta
    return merged
