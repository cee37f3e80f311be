"""The active path of a tree that may be damaged."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.importers.trees import path_to_root

FORK = {"r": "", "u": "r", "a1": "u", "a2": "u", "b": "a1"}


@pytest.mark.parametrize(
    ("parents", "leaf", "newest", "path"),
    [
        (FORK, "b", {}, ["r", "u", "a1", "b"]),
        (FORK, "a2", {}, ["r", "u", "a2"]),
        (FORK, "u", {}, ["r", "u"]),
        (FORK, "", {"b": 1.0, "a2": 2.0}, ["r", "u", "a2"]),
        (FORK, "gone", {"b": 3.0, "a2": 2.0}, ["r", "u", "a1", "b"]),
        (FORK, "gone", {}, ["r", "u", "a1", "b"]),
        ({"a": "lost", "b": "a"}, "b", {}, ["a", "b"]),
        ({"a": "b", "b": "a"}, "b", {}, ["a", "b"]),
        ({"a": "b", "b": "a"}, "gone", {}, ["a", "b"]),
        ({"a": "a"}, "a", {}, ["a"]),
        ({"a": ""}, "a", {}, ["a"]),
        ({}, "a", {}, []),
    ],
)
def test_the_path_leads_from_the_root_to_the_leaf(
    parents: dict[str, str], leaf: str, newest: dict[str, float], path: list[str]
) -> None:
    """A dangling leaf gives way to the newest one; a lost parent or a cycle ends the path."""
    assert path_to_root(parents, leaf, newest=newest) == path


keys = st.sampled_from("abcdefgh")


@given(
    st.dictionaries(keys, st.one_of(st.just(""), keys)),
    keys,
    st.dictionaries(keys, st.floats(0, 9)),
)
@settings(max_examples=50, deadline=None)
def test_any_graph_has_a_path_without_repetition(
    parents: dict[str, str], leaf: str, newest: dict[str, float]
) -> None:
    """Each step is from a parent to its child, and nothing comes twice."""
    path = path_to_root(parents, leaf, newest=newest)
    assert len(set(path)) == len(path)
    assert bool(path) == bool(parents)
    assert all(parents[child] == parent for parent, child in itertools.pairwise(path))
    if leaf in parents:
        assert path[-1] == leaf
    if path:
        root = parents[path[0]]
        assert root not in parents or root in path
