"""OpenAssistant trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.importers.conftest import Import, Write


def node(words: str, *replies: Any, **more: Any) -> dict[str, Any]:
    """Return a message of a tree with its replies."""
    base = {
        "message_id": f"id-{words}",
        "role": "assistant",
        "lang": "en",
        "replies": list(replies),
    }
    return {**base, "text": words, **more}


def tree(root: Any, identity: str | None = "t1") -> dict[str, Any]:
    """Return a tree's line."""
    return {"message_tree_id": identity, "tree_state": "ready_for_export", "prompt": root}


def root(*replies: Any, **more: Any) -> dict[str, Any]:
    """Return a prompt."""
    return node("予算は？", *replies, **{"role": "prompter", **more})


@pytest.mark.parametrize(
    ("replies", "wanted", "others"),
    [
        ([], [], 0),
        ([node("a", rank=1), node("b", rank=0)], ["b"], 1),
        ([node("a"), node("b")], ["a"], 1),
        ([node("a"), node("b", rank=3)], ["b"], 1),
        ([node("a", rank=0, deleted=True), node("b", rank=1)], ["b"], 1),
        ([node("a", rank=0, deleted=True)], [], 1),
        ([node("a", node("c", node("d"), role="prompter"), rank=0), node("b", rank=1)], ["a", "c", "d"], 1),
        ([node("a", rank=0), node("b", node("c", node("d")), rank=1)], ["a"], 3),
        ([None, 5, node("a", None)], ["a"], 0),
        ([node("a", rank="x"), node("b", rank=None)], ["a"], 1),
    ],
)  # fmt: skip
def test_of_the_replies_the_best_ranked_is_followed(
    replies: list[Any], wanted: list[str], others: int, imported: Import, source: Write
) -> None:
    """The lowest rank wins, unranked ones come last, deleted ones never; all are counted."""
    found = imported("auto", source(tree(root(*replies))))
    assert [m.content for m in found.messages] == ["予算は？", *wanted]
    assert found.report.skipped["other reply"] == others
    assert found.report.read == 1 + len(wanted) + others


def test_a_tree_has_its_id_language_and_roles(imported: Import, source: Write) -> None:
    """The language is the tree's own; a tree without an id is named by its line."""
    lines = [
        tree(root(node("a"), lang="pt-BR")),
        tree(root(lang="ja"), None),
        tree(root(lang=None), "t3"),
    ]
    found = imported("oasst", source(*lines))
    languages = {name: s.language for name, s in found.sessions.items()}
    assert languages == {"t1": "pt", "file-00002": "ja", "t3": "ja"}
    assert [(m.role, m.message_id) for m in found.sessions["t1"].messages] == [
        ("user", "id-予算は？"),
        ("assistant", "id-a"),
    ]


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        (root(node("a"), deleted=True), "deleted message"),
        (root(node("a"), role="narrator"), "unknown role"),
        (root(node("a"), text=None), "empty message"),
    ],
)
def test_a_prompt_that_cannot_stand_is_skipped_and_its_reply_kept(
    prompt: dict[str, Any], reason: str, imported: Import, source: Write
) -> None:
    """Each with its reason in the account."""
    found = imported("oasst", source(tree(prompt)))
    assert [m.content for m in found.messages] == ["a"]
    assert dict(found.report.skipped) == {reason: 1}


def test_a_tree_as_deep_as_can_be_read_is_walked(imported: Import, source: Write) -> None:
    """Depth is bounded by what one line of JSON can nest, not by recursion here."""
    deep = node("last")
    for number in range(90):
        deep = node(str(number), deep)
    found = imported("oasst", source(tree(root(deep))))
    assert len(found.messages) == 92


@pytest.mark.parametrize("prompt", [None, 5, "text", [], {}])
def test_a_tree_without_a_prompt_is_told(prompt: Any, imported: Import, source: Write) -> None:
    """The other trees are imported."""
    found = imported("oasst", source(tree(root()), tree(prompt, "t2")))
    assert list(found.sessions) == ["t1"]
    assert found.findings == [(0, "session t2 holds no message")]


def test_real_trees_are_wholly_accounted_for(imported: Import, shared_data: Path) -> None:
    """Thirty trees by `wc -l`; their messages counted by a walk of its own."""
    path = shared_data / "oasst" / "trees-30.jsonl"
    found = imported("auto", path)
    pending = [orjson.loads(line)["prompt"] for line in path.read_bytes().split(b"\n") if line]
    prompts, count = [p["text"] for p in pending], 0
    while pending:
        one = pending.pop()
        count += 1
        pending += one["replies"]
    assert found.report.sessions == 30
    assert found.report.read == count
    assert sorted(s.messages[0].content for s in found.sessions.values()) == sorted(prompts)
    assert {s.language for s in found.sessions.values()} == {"en"}
    for session in found.sessions.values():
        roles = [m.role for m in session.messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
