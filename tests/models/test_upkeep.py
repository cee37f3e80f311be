"""Looking after a ledger: nothing that may still be needed is lost by accident."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path

import pytest

from ctxeng.core.calls import ModelResponse, Usage
from ctxeng.core.errors import InputError, ModelError
from ctxeng.models import Ledger
from ctxeng.models.ledger import Wave
from ctxeng.models.upkeep import export, held, merge, prune
from tests.support.calls import HAIKU, request

DAY = 86_400.0
NOW = 1_800_000_000.0


def filled(path: Path, *calls: tuple[str, str, float], text: str = "1,850") -> Path:
    """Make a ledger of answered calls: key, model, age in days."""
    ledger = Ledger.open(path)
    for key, model, age in calls:
        ledger.sending(key, request(model=model))
        usage = Usage(input_tokens=10, cached_tokens=3, cache_write_tokens=2, output_tokens=5)
        cost = None if model == "gpt-x" else 0.25
        ledger.answered(key, ModelResponse(text=text, model=model, usage=usage, cost_usd=cost))
        ledger._connection.execute(
            "UPDATE calls SET sent_at = ? WHERE key = ?", (NOW - age * DAY, key)
        )
    ledger.close()
    return path


def keys(path: Path) -> list[str]:
    ledger = Ledger.open(path)
    try:
        return [k for k in "abcdefgh" if ledger.find(k) is not None]
    finally:
        ledger.close()


def test_a_ledger_tells_what_it_holds_by_model_and_role(tmp_path: Path) -> None:
    """Input counts cached tokens; a call without a price is not one that cost nothing."""
    path = filled(tmp_path / "l.sqlite", ("a", HAIKU, 2), ("b", HAIKU, 1), ("c", "gpt-x", 0))
    ledger = Ledger.open(path)
    ledger.sending("d", request())
    ledger.close()
    haiku, other = held(path)
    assert (haiku.model, haiku.role, haiku.answered, haiku.unanswered) == (HAIKU, "reader", 2, 1)
    assert (haiku.input_tokens, haiku.output_tokens, haiku.cost_usd) == (30, 10, 0.5)
    assert other.oldest == other.newest == NOW
    assert (other.cost_usd, other.unpriced, haiku.unpriced) == (0, 1, 0)


IMPOSSIBLE = (  # an older version took them from the wire
    {"text": 7}, {"text": None}, {"tool_input": "x"}, {"model": 5}, {"stop_reason": None},
    {"usage": {"input_tokens": -1}}, {"usage": {"output_tokens": 10**9 + 1}},
    {"usage": {"cached_tokens": "12"}}, {"usage": {"cache_write_tokens": 1.5}},
    {"usage": {"input_tokens": None}}, {"usage": {"input_tokens": True}},
    {"cost_usd": "1"}, {"cost_usd": -0.1}, {"cost_usd": math.inf}, {"latency_seconds": math.nan},
)  # fmt: skip
DAMAGED = (
    *(b'{"text": "1,8', b"[]", b'{"usage": {}}', b"\xff\xfe", b'{"usage": 1}', b"", b"[" * 99_999),
    *(
        json.dumps({"text": "1,850", "model": "m", "usage": {}} | bad).encode()
        for bad in IMPOSSIBLE
    ),
)


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_answer_is_counted_and_goes_into_no_other_ledger(
    damaged: bytes, tmp_path: Path
) -> None:
    """Neither exported nor merged, and a good one takes its place."""
    path = filled(tmp_path / "l.sqlite", ("a", HAIKU, 2), ("b", HAIKU, 1))
    whole = filled(tmp_path / "whole.sqlite", ("a", HAIKU, 2))
    ledger = Ledger.open(path)
    ledger._connection.execute(
        "UPDATE calls SET response = CAST(? AS TEXT) WHERE key = 'a'", (damaged,)
    )
    assert ledger.find("a") is None
    assert ledger.counts() == {"answered": 1, "unanswered": 0}
    ledger.close()
    (found,) = held(path)
    assert (found.answered, found.unanswered, found.unreadable) == (1, 0, 1)
    assert (found.input_tokens, found.cost_usd, found.unpriced) == (15, 0.25, 0)
    assert export(path, tmp_path / "exported.sqlite") == 1
    assert keys(tmp_path / "exported.sqlite") == ["b"]
    assert merge(whole, [path]) == 1
    assert merge(path, [whole]) == 1
    assert (keys(whole), keys(path)) == (["a", "b"], ["a", "b"])


def test_pruning_by_age_keeps_what_is_younger(tmp_path: Path) -> None:
    """Ten days old goes at a limit of nine; eight days old stays."""
    path = filled(tmp_path / "l.sqlite", ("a", HAIKU, 10), ("b", HAIKU, 8))
    assert prune(path, older_than_days=9, now=NOW) == 1
    assert keys(path) == ["b"]


def test_age_and_model_together_take_what_meets_both(tmp_path: Path) -> None:
    """A model's name with a quotation mark is a name."""
    path = filled(tmp_path / "l.sqlite", ("a", HAIKU, 10), ("b", "x' OR 1=1 --", 10), ("c", "x' OR 1=1 --", 1))  # fmt: skip
    assert prune(path, older_than_days=9, model="x' OR 1=1 --", now=NOW) == 1
    assert keys(path) == ["a", "c"]


def test_pruning_to_a_size_takes_the_oldest_and_gives_the_space_back(tmp_path: Path) -> None:
    """The file itself is smaller afterwards, and the newest call is still there."""
    calls = [(k, HAIKU, age) for age, k in enumerate("abcdefgh")]
    path = filled(tmp_path / "l.sqlite", *calls, text="x" * 50_000)
    before = path.stat().st_size
    assert prune(path, max_bytes=200_000) > 0
    assert path.stat().st_size <= 200_000 < before
    left = keys(path)
    assert left == list("abcdefgh")[: len(left)]
    assert left


def test_pruning_to_nothing_ends(tmp_path: Path) -> None:
    """An empty ledger is never smaller than its tables."""
    path = filled(tmp_path / "l.sqlite", ("a", HAIKU, 1))
    assert prune(path, max_bytes=0) == 1
    assert keys(path) == []


def test_pruning_must_be_told_what_may_go(tmp_path: Path) -> None:
    """No argument does not mean everything."""
    path = filled(tmp_path / "l.sqlite", ("a", HAIKU, 1))
    with pytest.raises(InputError, match="Give --older-than, --model or --max-mb"):
        prune(path)
    assert keys(path) == ["a"]


def test_an_export_is_one_file_that_merges_into_another_ledger(tmp_path: Path) -> None:
    """Own answers stay, missing ones come, an unanswered call gets its answer; twice is nothing."""
    theirs = filled(tmp_path / "theirs.sqlite", ("a", HAIKU, 1), ("b", HAIKU, 1), ("c", HAIKU, 1), text="theirs")  # fmt: skip
    mine = filled(tmp_path / "mine 100%?.sqlite", ("a", HAIKU, 1), text="mine")
    ledger = Ledger.open(mine)
    ledger.sending("b", request())
    ledger.close()
    file = tmp_path / "export.sqlite"
    assert export(theirs, file, keys={"a", "b"}) == 2
    assert [p.name for p in tmp_path.glob("export.sqlite*")] == ["export.sqlite"]
    assert merge(mine, [file]) == 1
    assert merge(mine, [file]) == 0
    ledger = Ledger.open(mine)
    found = {k: reply.text for k in "abc" if (reply := ledger.find(k)) is not None}
    ledger.close()
    assert found == {"a": "mine", "b": "theirs"}


def test_merging_makes_a_ledger_where_there_is_none(tmp_path: Path) -> None:
    """A fresh checkout starts from the file CI carries."""
    file = filled(tmp_path / "carried.sqlite", ("a", HAIKU, 1))
    assert merge(tmp_path / ".ctxeng" / "ledger.sqlite", [file]) == 1
    assert keys(tmp_path / ".ctxeng" / "ledger.sqlite") == ["a"]


@pytest.mark.parametrize("body", [None, b"", b"not a database, whatever its name says" * 50])
def test_what_is_no_ledger_is_said_to_be_none(tmp_path: Path, body: bytes | None) -> None:
    """A missing file is not made by asking about it; an empty one holds nothing to add."""
    path = tmp_path / "other.sqlite"
    if body is not None:
        path.write_bytes(body)
    if body == b"":
        with pytest.raises(InputError, match="must be a readable ledger"):
            merge(tmp_path / "mine.sqlite", [path])
        return
    with pytest.raises(InputError, match="ledger must be"):
        held(path)
    assert path.exists() == (body is not None)


def test_a_ledger_of_another_version_is_not_merged(tmp_path: Path) -> None:
    """Its rows may mean something else."""
    mine = filled(tmp_path / "mine.sqlite", ("a", HAIKU, 1))
    theirs = filled(tmp_path / "theirs.sqlite", ("b", HAIKU, 1))
    with sqlite3.connect(theirs) as other:
        other.execute("UPDATE about SET value = '99'")
    with pytest.raises(InputError, match=r"version must be 1, got 99 .*theirs"):
        merge(mine, [theirs])
    assert keys(mine) == ["a"]


def test_a_ledger_in_use_can_be_merged_into(tmp_path: Path) -> None:
    """Another connection that only reads does not stand in the way."""
    mine = filled(tmp_path / "mine.sqlite", ("a", HAIKU, 1))
    theirs = filled(tmp_path / "theirs.sqlite", ("b", HAIKU, 1))
    reading = sqlite3.connect(mine)
    reading.execute("SELECT count(*) FROM calls").fetchone()
    assert merge(mine, [theirs]) == 1
    reading.close()


def concerned(path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT subject, key FROM subjects ORDER BY 1, 2").fetchall()


def about(path: Path, *subjects: tuple[str, str]) -> Path:
    """Note whose words the calls of a ledger hold: subject, key."""
    ledger = Ledger.open(path)
    for subject, key in subjects:
        ledger.concerns(key, subject)
    ledger.close()
    return path


def test_a_user_is_forgotten_wherever_his_calls_were_carried(tmp_path: Path) -> None:
    """Export and merge carry whose words a call holds, so that deleting him finds them there."""
    path = about(
        filled(tmp_path / "l.sqlite", ("a", HAIKU, 1), ("b", HAIKU, 1), ("c", HAIKU, 1)),
        ("ann", "a"), ("ann", "b"), ("bob", "b"), ("bob", "c"),
    )  # fmt: skip
    assert export(path, tmp_path / "out.sqlite", keys={"a", "c"}) == 2
    assert concerned(tmp_path / "out.sqlite") == [("ann", "a"), ("bob", "c")]
    target = filled(tmp_path / "ci.sqlite", ("d", HAIKU, 1))
    assert merge(target, [tmp_path / "out.sqlite"]) == 2
    ledger = Ledger.open(target)
    assert ledger.forget_subjects(["ann", "somebody else"]) == 1
    ledger.close()
    assert keys(target) == ["c", "d"]
    assert concerned(target) == [("bob", "c")]


def test_a_file_that_notes_no_subjects_merges_all_the_same(tmp_path: Path) -> None:
    """Ledgers carried from before they were noted hold calls only."""
    other = filled(tmp_path / "old.sqlite", ("a", HAIKU, 1))
    with sqlite3.connect(other) as connection:
        connection.execute("DROP TABLE subjects")
    assert merge(tmp_path / "l.sqlite", [other]) == 1
    assert keys(tmp_path / "l.sqlite") == ["a"]


def test_pruning_takes_what_was_noted_of_the_calls_that_go(tmp_path: Path) -> None:
    """Subjects, failures and ended batches of a pruned call go; those of the others stay."""
    path = about(
        filled(tmp_path / "l.sqlite", ("a", HAIKU, 10), ("b", HAIKU, 1)), ("ann", "a"), ("ann", "b")
    )
    ledger = Ledger.open(path)
    for key in "ab":
        ledger.failed(key, ModelError("overloaded"))
        ledger.wave_opened(Wave(name=f"w{key}", sent_at=NOW, keys=(key,)))
        ledger.wave_done(f"w{key}")
    ledger.wave_opened(Wave(name="open", sent_at=NOW, keys=("a",)))
    ledger.close()
    assert prune(path, older_than_days=9, now=NOW) == 1
    assert concerned(path) == [("ann", "b")]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT key FROM failed_calls").fetchall() == [("b",)]
        assert connection.execute("SELECT wave FROM waves ORDER BY 1").fetchall() == [
            ("open",), ("wb",),
        ]  # fmt: skip
