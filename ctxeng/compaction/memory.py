"""Memory: every k new episodes are distilled into a snapshot of facts, by an explicit cursor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ctxeng.compaction.state import State, run_from
from ctxeng.compaction.writing import Tools
from ctxeng.core.artifacts import Artifact, MemoryItem
from ctxeng.core.errors import CompactionFailed
from ctxeng.core.markup import TAGS
from ctxeng.core.protocols import Distillation, Distiller, DistillTask
from ctxeng.store import Store

# Passing task state does not belong in long-term memory: how often something failed just now, what
# is being tried at this moment, what this very answer contains.
_TEMPORARY = re.compile(
    r"\b(?:failed|crashed|broke|errored|timed out)\b.*\b(?:times?|twice|again)\b.*\b(?:today|now|"
    r"this (?:morning|afternoon|evening|session))\b"
    r"|\bthis (?:answer|reply|response|message|draft)\b"
    r"|\b(?:currently|right now|at the moment) (?:running|trying|waiting|debugging|testing)\b"
    r"|今日.*回.*(?:失敗|落ち)|今(?:、)?(?:試し|実行し|待っ)て|오늘.*번.*실패|지금 (?:시도|실행|대기)",
    re.IGNORECASE,
)
# Words that tell a model what to do with its prompt are no fact about anybody. A lasting wish ("answer
# in French") is one, and stays.
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|above|prior|earlier|all|these|"
    r"your)\b.{0,30}\b(?:instructions?|rules?|prompts?|messages?)\b"
    r"|^\W*(?:system|assistant|developer)\s*[:>]|(?-i:\b(?:SYSTEM|ASSISTANT|DEVELOPER)\s*:)"
    r"|(?:^|[.:;!,]\s+|\bplease\s+)(?:reply|respond|answer|say|output|print)\s+(?:only\s+)?"
    r"(?:with\s+)?[\"'“]?(?:yes|no)\b[\"'”]?(?:\W*$|\s+to\b|[.;!,])"
    rf"|(?:<|&lt;)\s*/?\s*(?:{'|'.join(TAGS)})\b"
    r"|<\|\s*\w+\s*\|>|\[/?(?:INST|SYS)\]"
    r"|(?:以前|これまで|上記|すべて)の?(?:指示|命令|ルール).{0,12}(?:無視|忘れ)"
    r"|(?:이전|위의|모든)\s*(?:지시|명령|규칙).{0,12}(?:무시|잊)",
    re.IGNORECASE,
)


def due(state: State, tools: Tools) -> tuple[Artifact | None, list[Artifact]] | None:
    """Return the previous snapshot and the episodes to fold in, None when too few are new.

    The cursor is the last snapshot's ``to_seq``: episodes after it are new, however many have
    been folded before.
    """
    previous = state.newest("memory")
    start = previous.to_seq + 1 if previous is not None else 0
    every = tools.settings.memory.every_episodes
    fresh = run_from(state.of_kind("episode"), start, limit=every)
    return (previous, fresh) if len(fresh) == every else None


async def step(store: Store, state: State, tools: Tools, distiller: Distiller) -> Artifact | None:
    """Write the next snapshot if one is due and return it.

    Raises:
        Conflict: somebody else wrote it first, or edited what it was made from.
    """
    planned = due(state, tools)
    if planned is None:
        return None
    snapshot = await write(state, tools, distiller, *planned)
    await store.insert_memory(
        snapshot, expected_version=snapshot.version - 1, read_at_stamp=state.conversation.stamp
    )
    return snapshot


async def write(
    state: State,
    tools: Tools,
    distiller: Distiller,
    previous: Artifact | None,
    episodes: Sequence[Artifact],
) -> Artifact:
    """Return the next snapshot: the previous one with episodes folded in; nothing is stored."""
    await tools.check(state)
    answer = await distiller.distil(
        DistillTask(
            previous=previous.items if previous is not None else (),
            texts=tuple(e.text for e in episodes),
            sources=tuple((e.from_seq, e.to_seq) for e in episodes),
            speakers=state.speakers,
            language=state.conversation.language,
            replicate=tools.replicate,
            conversation_id=state.conversation_id,
        )
    )
    return _snapshot(state, tools, distiller, answer, previous, episodes)


def is_temporary(text: str) -> bool:
    """Return whether a text is passing task state that memory refuses."""
    return bool(_TEMPORARY.search(text))


def is_instruction(text: str) -> bool:
    """Return whether a text is meant for the model that reads it, not a fact: memory refuses it."""
    return bool(_INSTRUCTION.search(text))


def render(items: Sequence[MemoryItem]) -> str:
    """Return the snapshot as the prompt shows it: active items, a line each."""
    return "\n".join(
        f"- [{item.kind}] {f'{item.speaker}: ' if item.speaker else ''}{item.text}"
        for item in items
        if item.status == "active"
    )


def _snapshot(
    state: State,
    tools: Tools,
    distiller: Distiller,
    answer: Distillation,
    previous: Artifact | None,
    episodes: Sequence[Artifact],
) -> Artifact:
    items, refused = _remembered(answer, previous, None if distiller.lossless else tools)
    version = state.next_version("memory")
    to_seq = episodes[-1].to_seq
    text = render(items)
    return Artifact(
        artifact_id=f"{state.conversation_id}/memory/0/0-{to_seq}/v{version}",
        conversation_id=state.conversation_id,
        kind="memory",
        from_seq=0,
        to_seq=to_seq,
        read_from_seq=episodes[0].read_from_seq,
        read_to_seq=to_seq,
        parents=(
            *([previous.artifact_id] if previous is not None else []),
            *(e.artifact_id for e in episodes),
        ),
        visible_from_seq=state.visible_from(tools.settings),
        version=version,
        text=text,
        items=items,
        tokens=tools.counter.count(text),
        model=answer.model,
        prompt_hash=answer.prompt_hash,
        lossless=distiller.lossless,
        meta={"refused": refused, "call": answer.call_key},
    )


def _remembered(
    answer: Distillation, previous: Artifact | None, tools: Tools | None
) -> tuple[tuple[MemoryItem, ...], int]:
    """Return the items that are remembered, and how many were refused.

    Args:
        tools: None: the distiller loses nothing, and nothing of it is refused or retracted here.

    Raises:
        CompactionFailed: an item of the previous snapshot is missing.
    """
    items, refused = tuple(answer.items), len(answer.refused)
    known = {i.item_id: i for i in previous.items} if previous is not None else {}
    if tools is not None:
        passing = {i.item_id for i in items if i.item_id not in known and _is_passing(i)}
        # what only a refused item had replaced holds as before
        kept = [known.get(i.item_id, i) if i.superseded_by in passing else i for i in items
                if i.item_id not in passing]  # fmt: skip
        refused += len(items) - len(kept)
        items = _within(kept, tools)
    lost = known.keys() - {i.item_id for i in items}
    if lost:
        raise CompactionFailed("memory_item_lost", f"{len(lost)} items of the old snapshot")
    return items, refused


def _is_passing(item: MemoryItem) -> bool:
    return item.status == "active" and (is_temporary(item.text) or is_instruction(item.text))


def _within(items: Sequence[MemoryItem], tools: Tools) -> tuple[MemoryItem, ...]:
    """Retract the oldest low-confidence items beyond the target; they stay in the record."""
    room = tools.settings.memory.target_tokens * 2
    kept, used = list(items), 0
    order = sorted(
        (i for i, item in enumerate(items) if item.status == "active"),
        key=lambda i: (-items[i].confidence_share, -i),
    )
    for i in order:
        used += tools.counter.count(items[i].text) + 6
        if used > room:
            kept[i] = replace(items[i], status="retracted")
    return tuple(kept)
