"""What a set of sessions and probes covers: sizes, roles, languages, kinds, where facts stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe

DECILES = 10
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n(.*?)(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Percentiles of counts, linear between neighbours, and the largest."""

    median: float
    p5: float
    p95: float
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a dataset holds.

    Args:
        tokens: of everything the messages say, by the counter that was given.
        roles: messages by role. languages: sessions by language.
        tool_messages_share: messages that carry a tool's result. tool_tokens_share: tokens of
            them. code_share: characters in fenced blocks among those of what people and the
            assistant say, 0..1; None where nothing is said.
        session_messages, session_tokens: a session; message_tokens: a message.
        lengths: (messages, language) of every session, in file order.
        depths: where each probe's first evidence stands, 0 the first message of its session and
            1 the last one the asker has seen; probes without evidence are left out.
    """

    name: str
    sessions: int
    messages: int
    tokens: int
    roles: dict[str, int]
    languages: dict[str, int]
    tool_messages_share: float
    tool_tokens_share: float
    code_share: float | None
    session_messages: Spread
    session_tokens: Spread
    message_tokens: Spread
    lengths: tuple[tuple[int, str], ...]
    probes: int
    unanswerable: int
    kinds: dict[str, int]
    probe_languages: dict[str, int]
    depths: tuple[float, ...]

    @property
    def depth_deciles(self) -> tuple[int, ...]:
        """Return how many facts stand in each tenth of their session."""
        counts, _ = np.histogram(self.depths, bins=DECILES, range=(0.0, 1.0))
        return tuple(int(count) for count in counts)

    def record(self) -> dict[str, Any]:
        """Return the coverage as plain JSON."""
        return asdict(self) | {"depth_deciles": self.depth_deciles}


def coverage_of(
    name: str, sessions: Sequence[Session], probes: Sequence[Probe], count: Callable[[str], int]
) -> Coverage:
    """Return what sessions, at least one, and their probes cover; drafts are not counted.

    Args:
        count: tokens of a text.
    """
    messages = [message for session in sessions for message in session.messages]
    sizes = [[count(message.text) for message in session.messages] for session in sessions]
    flat = [size for session in sizes for size in session]
    is_tool = [_is_tool(message) for message in messages]
    of_tools = [size for size, tool in zip(flat, is_tool, strict=True) if tool]
    asked = [probe for probe in probes if probe.status != "draft"]
    last = {session.session_id: len(session.messages) - 1 for session in sessions}
    depths = (depth(p, last[p.session_id] if p.ask_at_seq is None else p.ask_at_seq) for p in asked)
    return Coverage(
        name=name,
        sessions=len(sessions),
        messages=len(messages),
        tokens=sum(flat),
        roles=_counted(message.role for message in messages),
        languages=_counted(session.language for session in sessions),
        tool_messages_share=sum(is_tool) / len(messages),
        tool_tokens_share=_share(sum(of_tools), sum(flat)) or 0.0,
        code_share=_code_share(messages),
        session_messages=spread([len(session.messages) for session in sessions]),
        session_tokens=spread([sum(session) for session in sizes]),
        message_tokens=spread(flat),
        lengths=tuple((len(session.messages), session.language) for session in sessions),
        probes=len(asked),
        unanswerable=sum(not probe.answerable for probe in asked),
        kinds=_counted(probe.kind for probe in asked),
        probe_languages=_counted(probe.language for probe in asked),
        depths=tuple(found for found in depths if found is not None),
    )


def depth(probe: Probe, last_seq: int) -> float | None:
    """Return where in the session the statement begins, 0 (start) .. 1 (end)."""
    if not probe.evidence or last_seq <= 0:
        return None
    return min(1.0, probe.evidence[0].from_seq / last_seq)


def spread(counts: Sequence[int]) -> Spread:
    """Return the percentiles of counts, at least one."""
    p5, median, p95 = (float(value) for value in np.percentile(counts, (5, 50, 95)))
    return Spread(median=median, p5=p5, p95=p95, largest=max(counts))


def _is_tool(message: Message) -> bool:
    return message.role == "tool" or any(
        str(block.get("type")).endswith("tool_result") for block in message.blocks
    )


def _code_share(messages: Iterable[Message]) -> float | None:
    said = [message.content for message in messages if message.role != "tool"]
    code = sum(len(match[2]) for text in said for match in _FENCED.finditer(text))
    return _share(code, sum(map(len, said)))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])))
