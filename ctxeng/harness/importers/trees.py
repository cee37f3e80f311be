"""Find the active path in a tree of messages that may be damaged."""

from __future__ import annotations

from collections.abc import Mapping


def path_to_root(
    parents: Mapping[str, str], leaf: str, *, newest: Mapping[str, float]
) -> list[str]:
    """Return the keys from the root to ``leaf``.

    Where ``leaf`` is not in the tree, the newest node without children stands in. A parent that
    is missing ends the path, a cycle too.

    Args:
        parents: key of the parent by key, "" for a root.
        newest: time by key; among equal times the later one in the mapping counts as newer.
    """
    if leaf not in parents:
        inner = set(parents.values())
        leaves = [key for key in parents if key not in inner] or list(parents)
        if not leaves:
            return []
        leaf = max(enumerate(leaves), key=lambda pair: (newest.get(pair[1], 0.0), pair[0]))[1]
    path: list[str] = []
    seen: set[str] = set()
    while leaf in parents and leaf not in seen:
        seen.add(leaf)
        path.append(leaf)
        leaf = parents[leaf]
    return path[::-1]
