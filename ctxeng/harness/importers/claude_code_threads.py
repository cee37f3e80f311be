"""Order the lines of a Claude Code file: one thread of messages out of a tree of lines.

Lines name their parent. A person who rewinds makes a second child, parallel tool results hang off
to the side, lost lines leave a gap, a compaction starts a new root. What is kept is the way from
the newest line back to the first, with everything that belongs to the messages on it.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

_NONE = -1
_DISORDER_SHARE = 0.1


@dataclass(slots=True)
class Thread:
    """The lines of one agent, as compact columns: node i is the i-th line with an id.

    ``message`` is 1 where the line carries part of a message. ``group`` numbers API messages
    (several lines can be one), ``call`` is the node whose tool call a result answers; ``offset``
    and ``length`` place its part in the spool, 0 long where an earlier line's part holds it.
    ``said`` leads from the hash of what a line says, and when, to its node.
    """

    nodes: dict[str, int] = field(default_factory=dict)
    parent: array[int] = field(default_factory=lambda: array("q"))
    message: bytearray = field(default_factory=bytearray)
    time: array[float] = field(default_factory=lambda: array("d"))
    group: array[int] = field(default_factory=lambda: array("q"))
    call: array[int] = field(default_factory=lambda: array("q"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    length: array[int] = field(default_factory=lambda: array("q"))
    groups: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    waiting_parents: dict[int, str] = field(default_factory=dict)
    waiting_results: dict[int, str] = field(default_factory=dict)
    said: dict[int, int] = field(default_factory=dict)

    def add(
        self,
        key: str,
        parent: str,
        is_message: bool,
        time: float,
        group: str = "",
    ) -> int:
        """Add a line and return its node; the parent of a root is empty."""
        node = len(self.parent)
        self.nodes[key] = node
        if not parent:
            self.parent.append(_NONE)
        else:
            at = self.nodes.get(parent, _NONE)
            self.parent.append(at)
            if at == _NONE:
                self.waiting_parents[node] = parent
        self.message.append(is_message)
        self.time.append(time)
        self.group.append(self.groups.setdefault(group, len(self.groups)) if group else _NONE)
        self.offset.append(0)
        self.length.append(0)
        return node

    def has_said(self, key: str, told: int) -> bool:
        """Return whether a line repeats one there is, which it stands for from now on.

        A product that writes its history again may give the lines other ids.
        """
        node = self.said.setdefault(told, len(self.parent))
        if node == len(self.parent):
            return False
        self.nodes[key] = node
        return True

    def pass_over(self, key: str, parent: str) -> None:
        """Let a step between messages stand for the line it follows; without one it is a line."""
        before = self.nodes.get(parent)
        if before is None:
            self.add(key, parent, False, 0.0)
        else:
            self.nodes[key] = before

    def settle(self) -> int:
        """Resolve what pointed forward; return how many parents are not in the file."""
        for node, key in self.waiting_parents.items():
            self.parent[node] = self.nodes.get(key, _NONE)
        lost = sum(self.parent[node] == _NONE for node in self.waiting_parents)
        self.call = array("q", [_NONE]) * len(self.parent)
        for node, call in self.waiting_results.items():
            self.call[node] = self.calls.get(call, _NONE)
        return lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Messages of a thread in order, each as the nodes of its lines; and what was left out."""

    messages: tuple[tuple[int, ...], ...]
    other_branches: int
    joints: int
    by_time: bool


def order(thread: Thread, *, join_roots: bool = True, taken: bytearray | None = None) -> Ordered:
    """Return the thread's messages in order.

    Args:
        join_roots: continue before a line without a parent at the line before it in the file.
        taken: nodes that belong to another session already; those used here are marked in it.
    """
    seen = bytearray(taken) if taken is not None else bytearray(len(thread.parent))
    rank, by_time = _rank(thread)
    free = [node for node in range(len(seen)) if thread.message[node] and not seen[node]]
    if not free:
        return Ordered(messages=(), other_branches=0, joints=0, by_time=by_time)
    path, joints = _walk(thread, _leaf(thread, free, rank), seen, rank, join_roots)
    extras, results, others = _belonging(thread, path, seen)
    messages = _assemble(thread, path, extras, results, rank)
    if taken is not None:
        for nodes in messages:
            for node in nodes:
                taken[node] = 1
    return Ordered(messages=messages, other_branches=others, joints=joints, by_time=by_time)


def _leaf(thread: Thread, free: list[int], rank: Callable[[int], float]) -> int:
    """Return the newest message, or what goes on from it where a file is out of order."""
    newest = max(free, key=rank)
    child = array("q", [_NONE]) * len(thread.parent)
    for node in free:
        before = thread.parent[node]
        if before != _NONE and not thread.message[before]:
            before = _message_before(thread, before)
        if before != _NONE and (child[before] == _NONE or rank(node) > rank(child[before])):
            child[before] = node
    leaf, met = newest, {newest}
    while child[leaf] != _NONE:
        leaf = child[leaf]
        if leaf in met:
            return newest
        met.add(leaf)
    return leaf


def _message_before(thread: Thread, before: int) -> int:
    """Return the message that a line goes on from, past the lines between that are none."""
    passed: set[int] = set()
    while before != _NONE and not thread.message[before] and before not in passed:
        passed.add(before)
        before = thread.parent[before]
    return before


def _rank(thread: Thread) -> tuple[Callable[[int], float], bool]:
    """Return the order of lines: that of the file, or of time where the file is shuffled."""
    backwards, last, timed = 0, float("-inf"), 0
    for node, at in enumerate(thread.time):
        if thread.message[node] and at > 0:
            timed += 1
            backwards += at < last
            last = at
    if backwards >= 3 and backwards > _DISORDER_SHARE * timed:
        return lambda node: thread.time[node] + node * 1e-9, True
    return float, False


def _walk(
    thread: Thread, leaf: int, seen: bytearray, rank: Callable[[int], float], join_roots: bool
) -> tuple[list[int], int]:
    path: list[int] = []
    joints, node = 0, leaf
    while node != _NONE:
        seen[node] = 1
        path.append(node)
        before = thread.parent[node]
        if before != _NONE and seen[before] and before in path:
            node, before = _open_cycle(path, path.index(before), seen, rank), _NONE
        is_root = before == _NONE and node not in thread.waiting_parents
        if before == _NONE or seen[before]:
            before = _NONE if is_root and not join_roots else _before(thread, node, seen, rank)
            joints += before != _NONE
        node = before
    path.reverse()
    return path, joints


def _open_cycle(path: list[int], at: int, seen: bytearray, rank: Callable[[int], float]) -> int:
    """Leave the cycle that ends the path at its earliest line, and return that line."""
    first = min(path[at:], key=rank)
    while path[-1] != first:
        seen[path.pop()] = 0
    return first


def _before(thread: Thread, node: int, seen: bytearray, rank: Callable[[int], float]) -> int:
    """Return the nearest earlier message line that is not on the path yet."""
    if rank is float:
        for earlier in range(node - 1, -1, -1):
            if thread.message[earlier] and not seen[earlier]:
                return earlier
        return _NONE
    here = rank(node)
    earlier_ones = [
        other
        for other in range(len(thread.parent))
        if thread.message[other] and not seen[other] and rank(other) < here
    ]
    return max(earlier_ones, key=rank, default=_NONE)


def _belonging(
    thread: Thread, path: list[int], seen: bytearray
) -> tuple[dict[int, list[int]], dict[int, list[int]], int]:
    """Find lines off the path that are part of its messages, or answer their tool calls."""
    on_path = {thread.group[node] for node in path if thread.message[node]} - {_NONE}
    extras: dict[int, list[int]] = defaultdict(list)
    results: dict[int, list[int]] = defaultdict(list)
    others = 0
    for node in range(len(thread.parent)):
        if not thread.message[node] or seen[node]:
            continue
        call = thread.call[node]
        if thread.group[node] in on_path:
            extras[thread.group[node]].append(node)
        elif call != _NONE and thread.group[call] in on_path:
            results[thread.group[call]].append(node)
        else:
            others += 1
    return extras, results, others


def _assemble(
    thread: Thread,
    path: list[int],
    extras: dict[int, list[int]],
    results: dict[int, list[int]],
    rank: Callable[[int], float],
) -> tuple[tuple[int, ...], ...]:
    """Gather lines into messages; results that hang to the side follow their call in order."""
    messages: list[list[int]] = []
    place: dict[int, int] = {}
    pending: list[int] = []
    for node in path:
        if not thread.message[node]:
            continue
        call, group = thread.call[node], thread.group[node]
        answers = call != _NONE
        while pending and (not answers or rank(pending[0]) < rank(node)) and group not in place:
            messages.append([pending.pop(0)])
        if group == _NONE:
            messages.append([node])
        elif group in place:
            messages[place[group]].append(node)
        else:
            place[group] = len(messages)
            messages.append([node, *extras.get(group, ())])
            pending = sorted([*pending, *results.get(group, ())], key=rank)
    messages += [[node] for node in pending]
    return tuple(tuple(sorted(nodes, key=rank) if len(nodes) > 1 else nodes) for nodes in messages)
