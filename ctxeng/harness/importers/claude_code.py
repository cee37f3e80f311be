"""Claude Code session files: one JSON object a line, a tree of lines, agents beside the main one.

Two passes in constant memory: the first writes each line's part of a message to a temporary file
and keeps only compact columns about it; the second puts the messages in order.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ctxeng.core.text import numbered
from ctxeng.harness.importers.claude_code_lines import TALK, Line, read_line
from ctxeng.harness.importers.claude_code_parts import Parts
from ctxeng.harness.importers.claude_code_threads import (
    KEY_BITS,
    Ordered,
    Thread,
    key_of,
    order,
    order_apart,
)
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import mapped, text_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.language import guess_language
from ctxeng.harness.sessions.records import Header
from ctxeng.harness.sessions.text import parse_json_unclean

_MAIN, _SIDE = "", "sidechain"
_MARKS = ("parentUuid", "sessionId", "isSidechain", "uuid", "userType")
_BUFFER_BYTES = 1 << 18
_FACTS = ("cwd", "version", "gitBranch")
_SAMPLED, _SAMPLE_CHARACTERS = 60, 2000
"""Messages, and characters of each, by which the language of a thread is guessed."""
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}


class ClaudeCodeImporter(Importer):
    """Reads Claude Code session files: the main thread, sidechains and agents, each a session."""

    name: ClassVar[str] = "claude-code"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def detect(self, sample: Sample) -> float:
        """Return the confidence by the fields that lines of messages carry."""
        best = max((sum(mark in line for mark in _MARKS) for line in sample.objects), default=0)
        return best / len(_MARKS) if best >= 3 else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for the main thread and for every agent in the file."""
        with tempfile.TemporaryFile(prefix="ctxeng-import-", buffering=_BUFFER_BYTES) as spool:
            reading = _Reading(parts=Parts(spool), keep_summaries=options.view == "recorded")
            reading.all(source, account)
            names = _Names.of(source.path, reading)
            for key, thread in reading.threads.items():
                yield from _drafts(key, thread, reading, names, account)


@dataclass(slots=True, kw_only=True)
class _Reading:
    """The first pass over a file."""

    parts: Parts
    keep_summaries: bool
    threads: dict[str, Thread] = field(default_factory=dict)
    samples: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    silent: Counter[str] = field(default_factory=Counter)
    wanted: tuple[str, ...] = ("sessionId", *_FACTS)

    def all(self, source: Source, account: Account) -> None:
        """Read every line; what is kept of it is cleaned when it is encoded."""
        with source.stream() as stream:
            for number, data in enumerate(stream, start=1):
                try:
                    record = parse_json_unclean(data)
                except ValueError as error:
                    if not data.strip():
                        account.skip("blank line")
                        continue
                    account.damaged(data, error, line=number)
                    continue
                if not isinstance(record, dict):
                    account.skip("not an object")
                    account.note(f"a {type(record).__name__} is no record", line=number)
                    continue
                self.one(record, account)
        self.parts.close()
        for kind, count in self.silent.items():
            account.skip(f"no message: {kind[:40] or 'without a type'}", count)
        for kind, count in self.unknown.items():
            account.note(f"{numbered(count, 'block')} of unknown type {kind!r} kept as found")

    def one(self, record: dict[str, Any], account: Account) -> None:
        """Read one record. Most are steps between messages, so these take the short way."""
        identity, kind = record.get("uuid"), record.get("type")
        if not (isinstance(identity, str) and identity):
            self._aside(record, account)
            return
        name = self._thread_of(record) if record.get("isSidechain") else _MAIN
        thread = self.threads.get(name) or self._begun(name)
        key = hash(identity) & KEY_BITS
        if key in thread.nodes:
            account.skip("repeated line")
            return
        parent = record.get("parentUuid") or record.get("logicalParentUuid")
        before = hash(parent) & KEY_BITS if isinstance(parent, str) else key_of(text_of(parent))
        if isinstance(kind, str) and kind not in TALK:
            thread.pass_over(key, before)
            self.silent[kind] += 1
            return
        line = read_line(record)
        if line.is_summary and not self.keep_summaries:
            line = Line(reason="injected summary", at=line.at)
        time = line.at.timestamp() if line.at else 0.0
        if line.record is None:
            thread.add(key, before, False, time)
            account.skip(line.reason)
        elif time and thread.has_said(key, key_of((time, *line.told()))):
            account.skip("repeated line")
        else:
            node = thread.add(key, before, True, time, key_of(line.group))
            self.parts.add(thread, node, line)
            if line.unknown:
                self.unknown.update(line.unknown)
            if self.wanted:
                self._remember(record)
            if len(sample := self.samples[name]) < _SAMPLED:
                sample.append(line.record["content"][:_SAMPLE_CHARACTERS])

    def _begun(self, key: str) -> Thread:
        thread = self.threads[key] = Thread()
        self.samples[key] = []
        return thread

    def _thread_of(self, record: dict[str, Any]) -> str:
        agent = text_of(record.get("agentId"))
        return f"agent-{agent}" if agent else _SIDE

    def _aside(self, record: dict[str, Any], account: Account) -> None:
        """Take what a line without an id tells about the session."""
        kind = text_of(record.get("type"))
        if kind in _TITLES and (title := text_of(record.get(_TITLES[kind]))):
            leaf = text_of(record.get("leafUuid"))
            if not leaf or any(key_of(leaf) in thread.nodes for thread in self.threads.values()):
                self.titles[kind] = title
        self.silent[kind] += 1

    def _remember(self, record: dict[str, Any]) -> None:
        for name in self.wanted:
            if value := text_of(record.get(name)):
                self.facts[name] = value
                self.wanted = tuple(one for one in self.wanted if one != name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """How the sessions of a file are called."""

    main: str
    base: str
    about: dict[str, Any]

    @classmethod
    def of(cls, path: Path, reading: _Reading) -> _Names:
        """Return the names: the file's own, and that of the session an agent's file belongs to."""
        if not path.stem.startswith("agent-"):
            return cls(main=path.stem, base=path.stem, about={})
        nested = path.parent.name == "subagents"
        base = path.parent.parent.name if nested else text_of(reading.facts.get("sessionId"))
        meta = path.with_suffix(".meta.json")
        about = mapped(Source(meta).json) if meta.exists() else {}
        return cls(main=f"{base}.{path.stem}" if base else path.stem, base=base or path.stem,
                   about=about)  # fmt: skip

    def of_thread(self, key: str, number: int) -> str:
        """Return the session id of a thread."""
        if key == _MAIN:
            return self.main
        return f"{self.base}.{key}" + (f"-{number}" if key == _SIDE else "")


def _drafts(
    key: str, thread: Thread, reading: _Reading, names: _Names, account: Account
) -> Iterator[SessionDraft]:
    lost = thread.settle()
    what = names.of_thread(key, 1)
    if lost:
        account.note(f"{what}: parents of {numbered(lost, 'line')} not in the file")
    ways = order_apart(thread) if key == _SIDE else (order(thread),)
    for number, ordered in enumerate(ways, start=1):
        if ordered.messages:
            _account(ordered, account, names.of_thread(key, number))
            yield _draft(names.of_thread(key, number), key, thread, ordered, reading, names)


def _account(ordered: Ordered, account: Account, what: str) -> None:
    account.take(len(ordered.messages))
    account.merge(ordered.messages.n_lines - len(ordered.messages))
    account.skip("other branch", ordered.other_branches)
    if ordered.joints:
        account.note(
            f"{what}: joined at {numbered(ordered.joints, 'place')} where the thread was broken"
        )
    if ordered.by_time:
        account.note(f"{what}: lines are not in order of time, sorted by their timestamps")


def _draft(
    session_id: str, key: str, thread: Thread, ordered: Ordered, reading: _Reading, names: _Names
) -> SessionDraft:
    facts = reading.facts
    meta: dict[str, Any] = {name: facts[name] for name in _FACTS if name in facts}
    if key != _MAIN or names.main != names.base:
        meta["parent_session"] = names.base
    meta |= {name: value for name, value in names.about.items() if isinstance(value, str)}
    titles = [reading.titles[kind] for kind in _TITLES if kind in reading.titles]
    title = text_of(names.about.get("description")) or (titles[0] if titles else "")
    header = Header(
        session_id=session_id,
        title=title,
        language=guess_language(reading.samples[key]),
        origin="Claude Code",
        speakers=_speakers(thread, ordered, reading),
        meta=meta,
    )
    merged = ordered.messages.n_lines - len(ordered.messages)
    return SessionDraft(
        header=header,
        records=_records(thread, ordered, reading),
        source_records=lambda: (len(ordered.messages), merged),
    )


def _speakers(thread: Thread, ordered: Ordered, reading: _Reading) -> tuple[str, ...]:
    """Return the roles in order of appearance; every role shows within the first messages."""
    roles: dict[str, None] = {}
    for nodes in ordered.messages:
        start = reading.parts.message(thread, nodes[:1])[:24]
        roles[start.split(b'"')[3].decode("ascii")] = None
        if len(roles) == 3:
            break
    return tuple(roles)


def _records(thread: Thread, ordered: Ordered, reading: _Reading) -> Iterator[bytes]:
    for seq, nodes in enumerate(ordered.messages):
        yield b'{"seq":%d,%s' % (seq, reading.parts.message(thread, nodes)[1:])
