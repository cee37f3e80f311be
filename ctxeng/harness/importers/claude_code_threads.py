"""Order the lines of a Claude Code file: one thread of messages out of a tree of lines.

Lines name their parent. A person who rewinds makes a second child, parallel tool results hang off
to the side, lost lines leave a gap, a compaction starts a new root. What is kept is the way from
the newest line back to the first, with everything that belongs to the messages on it.
"""

from __future__ import annotations

import heapq
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_NONE = -1
_DISORDER_SHARE = 0.1
KEY_BITS = (1 << 60) - 1
"""Bits of an id's hash that stand for it, what two machine digits hold: a third of the id's memory.

Two of a million ids are alike once in two million files.
"""


def key_of(name: object) -> int:
    """Return the number that stands for a name in memory; 0 for none."""
    return hash(name) & KEY_BITS if name else 0


@dataclass(slots=True)
class Thread:
    """The lines of one agent, as compact columns: node i is the i-th line with an id.

    ``message`` is 1 where the line carries part of a message. ``group`` numbers API messages
    (several lines can be one), ``call`` is the node whose tool call a result answers; ``offset``
    and ``length`` place its part in the spool, 0 long where an earlier line's part holds it.
    ``said`` leads from the hash of what a line says, and when, to its node. Names stand in the
    tables by their keys, so that a file of a million lines is not in memory by its names.
    """

    nodes: dict[int, int] = field(default_factory=dict)
    parent: array[int] = field(default_factory=lambda: array("q"))
    message: bytearray = field(default_factory=bytearray)
    time: array[float] = field(default_factory=lambda: array("d"))
    group: array[int] = field(default_factory=lambda: array("q"))
    call: array[int] = field(default_factory=lambda: array("q"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    length: array[int] = field(default_factory=lambda: array("q"))
    groups: dict[int, int] = field(default_factory=dict)
    calls: dict[int, int] = field(default_factory=dict)
    waiting_parents: dict[int, int] = field(default_factory=dict)
    waiting_results: dict[int, int] = field(default_factory=dict)
    said: dict[int, int] = field(default_factory=dict)

    def add(
        self,
        key: int,
        parent: int,
        is_message: bool,
        time: float,
        group: int = 0,
    ) -> int:
        """Add a line and return its node; the parent of a root is 0."""
        node = len(self.parent)
        self.nodes[key] = node
        at = self.nodes.get(parent, _NONE) if parent else _NONE
        self.parent.append(at)
        if parent and at == _NONE:
            self.waiting_parents[node] = parent
        self.message.append(is_message)
        self.time.append(time)
        self.group.append(self.groups.setdefault(group, len(self.groups)) if group else _NONE)
        self.call.append(_NONE)
        self.offset.append(0)
        self.length.append(0)
        return node

    def calls_tool(self, node: int, call: int) -> None:
        """Keep that a line makes a tool call; the first to make it is the one."""
        self.calls.setdefault(call, node)

    def answers_tool(self, node: int, call: int) -> None:
        """Keep that a line answers a tool call, which may be in a later line of the file."""
        at = self.call[node] = self.calls.get(call, _NONE)
        if at == _NONE:
            self.waiting_results[node] = call

    def has_said(self, key: int, told: int) -> bool:
        """Return whether a line repeats one there is, which it stands for from now on.

        A product that writes its history again may give the lines other ids.
        """
        node = self.said.setdefault(told, len(self.parent))
        if node == len(self.parent):
            return False
        self.nodes[key] = node
        return True

    def pass_over(self, key: int, parent: int) -> None:
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
        for node, call in self.waiting_results.items():
            self.call[node] = self.calls.get(call, _NONE)
        return lost


class Messages:
    """Messages in order, each the chain of its lines: the first, the last, what follows a line."""

    def __init__(self, n_nodes: int, rank: Callable[[int], float]) -> None:
        self._rank = rank
        self._first: array[int] = array("q")
        self._last: array[int] = array("q")
        self._next = array("q", [_NONE]) * n_nodes
        self.n_lines = 0

    def begin(self, node: int) -> int:
        """Begin a message with a line, and return its number."""
        self._first.append(node)
        self._last.append(node)
        self.n_lines += 1
        return len(self._first) - 1

    def go_on(self, number: int, node: int) -> None:
        """Add a line to a message."""
        self._next[self._last[number]] = node
        self._last[number] = node
        self.n_lines += 1

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield the nodes of each message, in their order in the file or in time."""
        for node in self._first:
            after = self._next[node]
            if after == _NONE:
                yield (node,)
                continue
            nodes = [node]
            while after != _NONE:
                nodes.append(after)
                after = self._next[after]
            yield tuple(sorted(nodes, key=self._rank))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Messages of a thread in order, each as the nodes of its lines; and what was left out."""

    messages: Messages
    other_branches: int
    joints: int
    by_time: bool


def order(thread: Thread) -> Ordered:
    """Return the thread's messages in order; a line without a parent follows the one before it."""
    rank, by_time = _rank(thread)
    free = array("q", (node for node, is_one in enumerate(thread.message) if is_one))
    if not free:
        return Ordered(messages=Messages(0, rank), other_branches=0, joints=0, by_time=by_time)
    seen = bytearray(len(thread.parent))
    path, joints = _walk(thread, _leaf(thread, free, rank), seen, rank)
    extras, results, others = _belonging(thread, path, free, seen)
    messages = _assemble(thread, path, extras, results, rank)
    return Ordered(messages=messages, other_branches=others, joints=joints, by_time=by_time)


def order_apart(thread: Thread) -> Iterator[Ordered]:
    """Yield the messages of every way through a thread of many roots, the newest first.

    What is left beside a way is a way of its own, so there are no other branches.
    """
    rank, by_time = _rank(thread)
    taken = bytearray(len(thread.parent))
    families = _families(thread)
    waiting = [(-max(map(rank, free)), number) for number, free in enumerate(families)]
    heapq.heapify(waiting)
    while waiting:
        _, number = heapq.heappop(waiting)
        free, seen = families[number], bytearray(taken)
        path, joints = _walk(thread, _leaf(thread, free, rank), seen, rank, within=free)
        extras, results, _ = _belonging(thread, path, free, seen)
        messages = _assemble(thread, path, extras, results, rank)
        for nodes in messages:
            for node in nodes:
                taken[node] = 1
        yield Ordered(messages=messages, other_branches=0, joints=joints, by_time=by_time)
        families[number] = free = array("q", (node for node in free if not taken[node]))
        if free:
            heapq.heappush(waiting, (-max(map(rank, free)), number))


def _families(thread: Thread) -> list[array[int]]:
    """Return the message lines that hang together by parents, tool calls or one message's id.

    A line whose parent is lost goes with the message line before it.
    """
    leader = array("q", range(len(thread.parent)))

    def led(node: int) -> int:
        while leader[node] != node:
            leader[node] = node = leader[leader[node]]
        return node

    group_begun: dict[int, int] = {}
    before = _NONE
    for node, group in enumerate(thread.group):
        kin = [thread.parent[node], thread.call[node]]
        if group != _NONE:
            kin.append(group_begun.setdefault(group, node))
        if thread.parent[node] == _NONE and node in thread.waiting_parents:
            kin.append(before)
        for other in kin:
            if other != _NONE:
                leader[led(node)] = led(other)
        before = node if thread.message[node] else before
    families: dict[int, array[int]] = defaultdict(lambda: array("q"))
    for node, is_one in enumerate(thread.message):
        if is_one:
            families[led(node)].append(node)
    return list(families.values())


def _leaf(thread: Thread, free: Sequence[int], rank: Callable[[int], float]) -> int:
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
    thread: Thread,
    leaf: int,
    seen: bytearray,
    rank: Callable[[int], float],
    within: Sequence[int] | None = None,
) -> tuple[array[int], int]:
    """Return the lines from the root to the leaf, and how often the way was broken.

    Where it breaks it goes on at the message line before; ``within`` a family only where a parent
    is lost, and with a line of the family: a root is where its way begins.
    """
    path = array("q")
    joints, node = 0, leaf
    while node != _NONE:
        seen[node] = 1
        path.append(node)
        before = thread.parent[node]
        if before != _NONE and seen[before] and before in path:
            node, before = _open_cycle(path, path.index(before), seen, rank), _NONE
        is_root = before == _NONE and node not in thread.waiting_parents
        if before == _NONE or seen[before]:
            ends = is_root and within is not None
            before = _NONE if ends else _before(thread, node, seen, rank, within)
            joints += before != _NONE
        node = before
    path.reverse()
    return path, joints


def _open_cycle(path: array[int], at: int, seen: bytearray, rank: Callable[[int], float]) -> int:
    """Leave the cycle that ends the path at its earliest line, and return that line."""
    first = min(path[at:], key=rank)
    while path[-1] != first:
        seen[path.pop()] = 0
    return first


def _before(
    thread: Thread,
    node: int,
    seen: bytearray,
    rank: Callable[[int], float],
    within: Sequence[int] | None,
) -> int:
    """Return the nearest earlier message line that is not on the path yet."""
    if rank is float and within is None:
        for earlier in range(node - 1, -1, -1):
            if thread.message[earlier] and not seen[earlier]:
                return earlier
        return _NONE
    here = rank(node)
    earlier_ones = [
        other
        for other in (range(len(thread.parent)) if within is None else within)
        if thread.message[other] and not seen[other] and rank(other) < here
    ]
    return max(earlier_ones, key=rank, default=_NONE)


def _belonging(
    thread: Thread, path: Sequence[int], free: Sequence[int], seen: bytearray
) -> tuple[dict[int, list[int]], dict[int, list[int]], int]:
    """Find lines off the path that are part of its messages, or answer their tool calls."""
    on_path = bytearray(len(thread.groups) + 1)
    for node in path:
        on_path[thread.group[node]] |= thread.message[node]
    on_path[_NONE] = 0
    extras: dict[int, list[int]] = defaultdict(list)
    results: dict[int, list[int]] = defaultdict(list)
    others = 0
    for node in free:
        if seen[node]:
            continue
        call = thread.call[node]
        if on_path[thread.group[node]]:
            extras[thread.group[node]].append(node)
        elif call != _NONE and on_path[thread.group[call]]:
            results[thread.group[call]].append(node)
        else:
            others += 1
    return extras, results, others


def _assemble(
    thread: Thread,
    path: Sequence[int],
    extras: dict[int, list[int]],
    results: dict[int, list[int]],
    rank: Callable[[int], float],
) -> Messages:
    """Gather lines into messages; results that hang to the side follow their call in order."""
    messages = Messages(len(thread.parent), rank)
    place = array("q", [_NONE]) * len(thread.groups)
    pending: list[int] = []
    for node in path:
        if not thread.message[node]:
            continue
        group, answers = thread.group[node], thread.call[node] != _NONE
        begun = place[group] if group != _NONE else _NONE
        while pending and (not answers or rank(pending[0]) < rank(node)) and begun == _NONE:
            messages.begin(pending.pop(0))
        if begun != _NONE:
            messages.go_on(begun, node)
            continue
        begun = messages.begin(node)
        if group != _NONE:
            place[group] = begun
            for extra in extras.get(group, ()):
                messages.go_on(begun, extra)
            pending = sorted([*pending, *results.get(group, ())], key=rank)
    for node in pending:
        messages.begin(node)
    return messages
