"""Seconds that ``ctxeng probes lint`` takes for many probes.

    python benchmarks/lint_speed.py [--probes 10000]

Sessions of 100 messages in four languages, 50 probes each, of every type of value.
"""

from __future__ import annotations

import argparse
import time

from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.scoring.lint import lint

MESSAGES, PROBES_EACH = 100, 50
FRAMES = (
    ("The part for slot {n} is KX-{n:04}.", "Which part is in slot {n}?", "KX-{n:04}"),
    ("第{n}会議の予算は{n}千円で、場所は会議室{n}号です。", "第{n}会議の予算は?", "{n}千円"),
    ("{n}번 손님은 창가 자리를 {n}번 예약했습니다.", "{n}번 손님 자리는?", "창가 자리"),
    ("我们把方案{n}定在3月{d}日，由小李负责，其他人先等一等。", "方案{n}定在哪天?", "3月{d}日"),
    ("We agreed that team {n} prefers the quiet room with {n} desks.", "What does team {n} prefer?",
     "the quiet room"),
)  # fmt: skip


def made(count: int) -> tuple[list[Probe], list[Session]]:
    """Return that many probes, with their sessions."""
    probes: list[Probe] = []
    sessions: list[Session] = []
    while len(probes) < count:
        name, first = f"made-{len(sessions)}", len(probes)
        texts = [
            frame[0].format(n=first + seq, d=1 + seq % 28)
            for seq, frame in ((s, FRAMES[s % len(FRAMES)]) for s in range(MESSAGES))
        ]
        sessions.append(
            Session(
                session_id=name,
                messages=tuple(
                    Message(seq=seq, role="user", content=text) for seq, text in enumerate(texts)
                ),
            )
        )
        for seq in range(min(PROBES_EACH, count - len(probes))):
            _, question, value = FRAMES[seq % len(FRAMES)]
            probes.append(
                Probe(
                    probe_id=f"p{len(probes)}",
                    session_id=name,
                    question=question.format(n=first + seq),
                    kind="other",
                    evidence=(Span(from_seq=seq, to_seq=seq),),
                    expect=((value.format(n=first + seq, d=1 + seq % 28),),),
                )
            )
    return probes, sessions


def main() -> None:
    """Print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probes", type=int, default=10_000)
    probes, sessions = made(parser.parse_args().probes)
    begun = time.perf_counter()
    found = lint(probes, sessions)
    seconds = time.perf_counter() - begun
    print(f"{len(probes)} probes, {len(sessions)} sessions, {len(found)} findings: {seconds:.1f} s")


if __name__ == "__main__":
    main()
