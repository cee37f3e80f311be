"""One thread of messages out of a tree of lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxeng.harness.importers.claude_code_threads import (
    Ordered,
    Thread,
    key_of,
    order,
    order_apart,
)


@dataclass(frozen=True, kw_only=True)
class Node:
    """A line as these tests write it down."""

    key: str
    parent: str | None
    is_message: bool = True
    time: float = 0.0
    group: str = ""
    call: str = ""
    answers: str = ""


def thread_of(*nodes: Node) -> Thread:
    """Return a settled thread of the nodes, in file order."""
    thread = Thread()
    for node in nodes:
        number = thread.add(
            key_of(node.key), key_of(node.parent), node.is_message, node.time, key_of(node.group)
        )
        if node.call:
            thread.calls_tool(number, key_of(node.call))
        if node.answers:
            thread.answers_tool(number, key_of(node.answers))
    thread.settle()
    return thread


def keys(nodes: Sequence[Node], ordered: Ordered) -> str:
    """Return the order as text: messages apart by blanks, lines of one message together."""
    return " ".join("".join(nodes[n].key for n in message) for message in ordered.messages)


def chain(text: str, *, root: str | None = None) -> list[Node]:
    """Return a chain of messages, one a letter."""
    return [
        Node(key=key, parent=parent, time=float(n + 1))
        for n, (key, parent) in enumerate(zip(text, [root, *text], strict=False))
    ]


def noise(key: str, parent: str | None) -> Node:
    """Return a line that is no message (progress)."""
    return Node(key=key, parent=parent, is_message=False)


CALL = Node(key="c", parent="a", group="m", call="t1")


@pytest.mark.parametrize(
    ("nodes", "wanted", "others", "joints"),
    [
        ([], "", 0, 0),
        (chain("a"), "a", 0, 0),
        (chain("abcd"), "a b c d", 0, 0),
        # progress lines are walked through
        ([*chain("ab"), noise("p", "b"), noise("q", "p"), *chain("c", root="q")], "a b c", 0, 0),
        # a rewind: the branch of the newest line is kept
        ([*chain("abcd"), *chain("xy", root="b")], "a b x y", 2, 0),
        ([*chain("abcd"), noise("p", "d"), *chain("x", root="b")], "a b x", 2, 0),
        # a new root (a compaction, a lost parent) continues at the line before it
        ([*chain("ab"), *chain("xy")], "a b x y", 0, 1),
        ([*chain("ab"), *chain("xy", root="gone")], "a b x y", 0, 1),
        ([*chain("a"), *chain("b"), *chain("c")], "a b c", 0, 2),
        # a parent that comes later in the file is still its parent
        ([Node(key="b", parent="a"), Node(key="a", parent=None)], "a b", 0, 0),
        # cycles are left at their earliest line
        ([Node(key="a", parent="c"), Node(key="b", parent="a"), Node(key="c", parent="b")], "a b c", 0, 0),
        ([Node(key="a", parent="a"), Node(key="b", parent="a")], "a b", 0, 0),
        (
            [*chain("ab"), Node(key="c", parent="e"), *chain("de", root="c")],
            "a b c d e", 0, 1,
        ),
        # lines of one API message are one message, also off the path
        (
            [*chain("a"), CALL, Node(key="d", parent="c", group="m"), *chain("e", root="d")],
            "a cd e", 0, 0,
        ),
        (
            [*chain("a"), CALL, Node(key="d", parent="c", group="m"), *chain("e", root="c")],
            "a cd e", 0, 0,
        ),
        # parallel results hang off to the side and follow their call, in order
        (
            [*chain("a"), CALL, Node(key="d", parent="c", group="m", call="t2"),
             Node(key="r", parent="c", answers="t1"), Node(key="s", parent="d", answers="t2"),
             *chain("e", root="s")],
            "a cd r s e", 0, 0,
        ),
        (
            [*chain("a"), CALL, Node(key="d", parent="c", group="m", call="t2"),
             Node(key="s", parent="d", answers="t2"), Node(key="r", parent="c", answers="t1"),
             *chain("e", root="r")],
            "a cd s r e", 0, 0,
        ),
        # a result whose call is not on the path is another branch
        (
            [*chain("ab"), Node(key="c", parent="b", group="m", call="t1"),
             Node(key="r", parent="c", answers="t1"), *chain("x", root="a")],
            "a x", 3, 0,
        ),
        # the last result of a session that was cut off
        ([*chain("a"), CALL, Node(key="r", parent="c", answers="t1")], "a c r", 0, 0),
        ([*chain("a"), Node(key="r", parent="a", answers="gone")], "a r", 0, 0),
        # nothing but noise
        ([noise("p", None), noise("q", "p")], "", 0, 0),
    ],
)  # fmt: skip
def test_a_thread_is_the_way_to_its_newest_line(
    nodes: list[Node], wanted: str, others: int, joints: int
) -> None:
    """Each row is a small file, its lines as letters; the expected orders are by hand."""
    ordered = order(thread_of(*nodes))
    assert keys(nodes, ordered) == wanted
    assert (ordered.other_branches, ordered.joints) == (others, joints)
    assert not ordered.by_time


def test_a_shuffled_file_is_ordered_by_time() -> None:
    """Where many lines stand before earlier ones, file order means nothing."""
    nodes = chain("abcdefgh")
    shuffled = [nodes[i] for i in (5, 1, 7, 0, 6, 2, 4, 3)]
    ordered = order(thread_of(*shuffled))
    assert ordered.by_time
    assert keys(shuffled, ordered) == "a b c d e f g h"


def test_one_line_out_of_time_leaves_the_order_of_the_file() -> None:
    """Parallel results are a little out of order in every file."""
    nodes = chain("abcdefgh")
    moved = [Node(key=n.key, parent=n.parent, time=n.time - 2 * (n.key == "d")) for n in nodes]
    assert not order(thread_of(*moved)).by_time


def test_a_broken_chain_of_a_shuffled_file_is_joined_by_time() -> None:
    """The line before a lost parent is the one before it in time, not in the file."""
    nodes = [
        Node(key=n.key, parent="gone" if n.key == "e" else n.parent, time=n.time)
        for n in chain("abcdefgh")
    ]
    shuffled = [nodes[i] for i in (5, 1, 7, 0, 6, 2, 4, 3)]
    ordered = order(thread_of(*shuffled))
    assert keys(shuffled, ordered) == "a b c d e f g h"
    assert ordered.joints == 1


def test_side_conversations_are_taken_one_after_the_other() -> None:
    """Every root is a session, and so is what is left beside a way; the newest is the first."""
    nodes = [*chain("ab"), *chain("xy"), *chain("p"), Node(key="c", parent="a", time=4.0)]
    found = [keys(nodes, ordered) for ordered in order_apart(thread_of(*nodes))]
    assert found == ["a c", "p", "x y", "b"]


def test_a_side_line_without_its_parent_goes_on_from_the_line_before() -> None:
    """The break is counted, and a root of its own is still a session of its own."""
    nodes = [*chain("ab"), *chain("xy", root="gone"), *chain("p")]
    ways = list(order_apart(thread_of(*nodes)))
    assert [keys(nodes, way) for way in ways] == ["p", "a b x y"]
    assert [way.joints for way in ways] == [0, 1]


def test_lost_parents_are_counted() -> None:
    """Only those that are nowhere in the file are lost."""
    thread = Thread()
    for key, parent in (("a", "later"), ("b", "gone"), ("later", None), ("c", "b")):
        thread.add(key, parent, is_message=True, time=0.0)
    assert thread.settle() == 1


letters = "abcdefghij"
graphs = st.lists(
    st.tuples(
        st.one_of(st.none(), st.just("gone"), st.sampled_from(letters)),
        st.booleans(),
        st.floats(0, 9),
        st.sampled_from(["", "", "m1", "m2"]),
        st.sampled_from(["", "", "t1", "t2"]),
    ),
    max_size=len(letters),
)


def nodes_of(graph: list[tuple[str | None, bool, float, str, str]]) -> list[Node]:
    """Return the nodes of a drawn graph; every second call is an answer."""
    return [
        Node(key=key, parent=parent, is_message=is_message, time=time, group=group,
             call=call if group else "", answers="" if group else call)
        for key, (parent, is_message, time, group, call) in zip(letters, graph, strict=False)
    ]  # fmt: skip


@given(graphs)
@settings(max_examples=50, deadline=None)
@example([("b", True, 0.0, "", ""), ("a", True, 0.0, "", "")])
def test_any_tree_gives_every_message_one_place_or_counts_it(
    graph: list[tuple[str | None, bool, float, str, str]],
) -> None:
    """Cycles, lost parents and shuffled times end, and no line is lost or used twice."""
    nodes = nodes_of(graph)
    ordered = order(thread_of(*nodes))
    used = [n for message in ordered.messages for n in message]
    assert len(set(used)) == len(used)
    assert all(nodes[n].is_message for n in used)
    assert len(used) + ordered.other_branches == sum(node.is_message for node in nodes)


@given(graphs)
@settings(max_examples=50, deadline=None)
def test_any_side_conversations_use_every_message_once(
    graph: list[tuple[str | None, bool, float, str, str]],
) -> None:
    """Sessions are taken until nothing is left, and none shares a line with another."""
    nodes = nodes_of(graph)
    ways = list(order_apart(thread_of(*nodes)))
    assert all(way.messages for way in ways)
    used = [n for way in ways for message in way.messages for n in message]
    assert sorted(used) == [n for n, node in enumerate(nodes) if node.is_message]


@given(graphs)
@settings(max_examples=50, deadline=None)
def test_lines_of_one_message_stay_together(
    graph: list[tuple[str | None, bool, float, str, str]],
) -> None:
    """No group is split over two messages."""
    nodes = nodes_of(graph)
    for message in order(thread_of(*nodes)).messages:
        assert len({nodes[n].group for n in message}) == 1
    groups = [nodes[m[0]].group for m in order(thread_of(*nodes)).messages if nodes[m[0]].group]
    assert len(set(groups)) == len(groups)
