"""Tool-pair rules: a tool call and its result are never separated by any cut."""

from __future__ import annotations

from collections.abc import Sequence

from ctxeng.core.messages import JsonBlock, Message


def call_ids(message: Message) -> set[str]:
    """Return the ids of the tool calls this message makes."""
    return {
        str(block["id"])
        for block in message.blocks
        if str(block.get("type", "")).endswith("tool_use") and block.get("id")
    }


def result_ids(message: Message) -> set[str]:
    """Return the ids of the tool calls this message answers, for every ``*tool_result`` type."""
    return {str(block["tool_use_id"]) for block in message.blocks if _is_result(block)}


def atomic_starts(messages: Sequence[Message]) -> list[int]:
    """Return the indices at which a cut may be made, 0 first.

    A cut before index ``i`` is allowed when no tool call made before ``i`` is answered at or
    after ``i``. Calls without a result and results without a call bind nothing.

    Example:
        user, assistant(call a), tool(result a), assistant → ``[0, 1, 3]``
    """
    made_at: dict[str, int] = {}
    bound_until: dict[int, int] = {}
    for i, message in enumerate(messages):
        if not message.blocks:
            continue
        made_at.update(dict.fromkeys(call_ids(message), i))
        for start in (made_at[call] for call in result_ids(message) if call in made_at):
            bound_until[start] = i
    if not bound_until:
        return list(range(len(messages)))
    starts, reach = [], -1
    for i in range(len(messages)):
        if i > reach:
            starts.append(i)
        reach = max(reach, bound_until.get(i, i))
    return starts


def bound(messages: Sequence[Message | None]) -> list[list[int]]:
    """Return the indices of messages that are shown together or not at all, by their first one.

    A tool call and its results are bound, whatever stands between them; every other message
    stands alone. The messages may come in any order; None is bound to nothing.
    """
    first = list(range(len(messages)))
    made_at: dict[str, int] = {}
    said = [(m.seq, i, m) for i, m in enumerate(messages) if m is not None and m.blocks]
    for _, i, message in sorted(said, key=lambda found: found[:2]):
        ends = [made_at[call] for call in result_ids(message) if call in made_at]
        joined = {first[end] for end in (i, *ends)}
        first = [min(joined) if unit in joined else unit for unit in first]
        made_at.update(dict.fromkeys(call_ids(message), i))
    together: dict[int, list[int]] = {}
    for i, unit in enumerate(first):
        together.setdefault(unit, []).append(i)
    return list(together.values())


def snap_back(starts: Sequence[int], index: int) -> int:
    """Return the last allowed cut at or before ``index`` (0 where there is none)."""
    return max((start for start in starts if start <= index), default=0)


def snap_forward(starts: Sequence[int], index: int, *, end: int) -> int:
    """Return the first allowed cut at or after ``index``; ``end`` where there is none."""
    return min((start for start in starts if start >= index), default=end)


def _is_result(block: JsonBlock) -> bool:
    return str(block.get("type", "")).endswith("tool_result") and bool(block.get("tool_use_id"))
