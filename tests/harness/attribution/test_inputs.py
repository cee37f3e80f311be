"""Which recorded task an artifact came from."""

from __future__ import annotations

from typing import Any

import orjson

from ctxeng.harness.attribution.inputs import cuts_of, tries_of
from tests.harness.attribution.made import artifact


def task(kind: str, first: int, last: int, text: str | None, **changes: Any) -> dict[str, Any]:
    row = {
        "kind": kind, "level": 0, "from_seq": first, "to_seq": last, "seqs": f"[[{first},{last}]]",
        "cut": "{}", "text": text, "error": None,
    }  # fmt: skip
    return {**row, **changes}


EPISODE = artifact("episode", 6, 11, "second try")


def test_the_accepted_answer_comes_last_and_what_was_refused_before_it() -> None:
    """A guard or a language check may ask twice; later tasks of the range are another artifact's."""
    tasks = [
        task("episode", 0, 5, "second try"),
        task("episode", 6, 11, "first try"),
        task("node", 6, 11, "second try"),
        task("episode", 6, 11, "second try"),
        task("episode", 6, 11, "a second generation"),
    ]
    assert tries_of(EPISODE, tasks) == [tasks[1], tasks[3]]


def test_a_rolling_version_covers_everything_and_its_task_what_is_new() -> None:
    """Found by where it ends and what it says."""
    tasks = [task("rolling", 0, 9, "v1"), task("rolling", 10, 19, "v2")]
    assert tries_of(artifact("rolling", 0, 19, "v2", version=2), tasks) == [tasks[1]]


def test_a_memory_is_found_by_its_range() -> None:
    """Its text is rendered from items, so it is not compared."""
    tasks = [task("memory", 0, 17, "a\nb")]
    assert tries_of(artifact("memory", 0, 17, "- [stable_fact] a"), tasks) == tasks


def test_without_a_matching_row_nothing_is_told() -> None:
    """An older run has none; a note that no model was asked for left none."""
    assert tries_of(EPISODE, []) == []
    assert tries_of(EPISODE, [task("episode", 6, 11, "another text")]) == []


def test_cut_messages_are_found_by_artifact() -> None:
    """Only artifacts that say so are looked up; seqs come back as numbers."""
    cut = orjson.dumps({"7": "予算 […cut…]"}).decode()
    tasks = [task("episode", 6, 11, "second try", cut=cut)]
    flagged = artifact("episode", 6, 11, "second try", meta={"cut_messages": 1})
    assert cuts_of([flagged], tasks) == {flagged.artifact_id: {7: "予算 […cut…]"}}
    assert cuts_of([EPISODE], tasks) == {}
