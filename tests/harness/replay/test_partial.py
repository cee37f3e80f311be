"""Finished units of an unfinished replay: all of a unit or none of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxeng.core.errors import InputError
from ctxeng.harness.replay.partial import PartialRun
from ctxeng.harness.replay.plan import content_key

ROWS = {
    "cells": [{"probe_id": "p", "answer": "三千円\x00\u202e", "depth": 0.5, "error": None}],
    "contexts": [],
}


def test_a_finished_unit_is_read_back_as_it_was(tmp_path: Path) -> None:
    """Texts, numbers and nulls survive; the folder is made when it is first needed."""
    partial = PartialRun(tmp_path / "deep" / "scratch")
    partial.save(ROWS, "s", "episodes", "0")
    assert partial.load("s", "episodes", "0") == ROWS


def test_units_do_not_mix(tmp_path: Path) -> None:
    """Session, arm and replicate name a unit together, whatever characters are in them."""
    partial = PartialRun(tmp_path)
    units = [
        ("s", "a", "0"),
        ("s", "a", "1"),
        ("s/a", "", "0"),
        ("s", "a/0", ""),
        ("会議", "../..", "0"),
    ]
    for place, unit in enumerate(units):
        partial.save({"cells": [{"place": place}]}, *unit)
    loaded = [partial.load(*unit) for unit in units]
    assert loaded == [{"cells": [{"place": place}]} for place in range(len(units))]
    assert {path.parent for path in tmp_path.rglob("*")} == {tmp_path}


def test_what_was_not_finished_is_played_again(tmp_path: Path) -> None:
    """No folder, no file, or a file cut short by a crash: None."""
    partial = PartialRun(tmp_path / "none")
    assert partial.load("s", "a", "0") is None
    partial = PartialRun(tmp_path)
    partial.save(ROWS, "s", "a", "0")
    assert partial.load("s", "b", "0") is None
    (file,) = tmp_path.glob("*.json")
    file.write_bytes(file.read_bytes()[:-5])
    assert partial.load("s", "a", "0") is None
    file.write_bytes(b"")
    assert partial.load("s", "a", "0") is None


def test_a_draft_left_behind_is_no_unit(tmp_path: Path) -> None:
    """A process that died while writing leaves a draft that nobody reads."""
    partial = PartialRun(tmp_path)
    (tmp_path / f"{content_key(('s', 'a', '0'))}.123.draft").write_bytes(b'{"cells": []}')
    assert partial.load("s", "a", "0") is None
    partial.save(ROWS, "s", "a", "0")
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_saving_again_replaces_the_unit(tmp_path: Path) -> None:
    """The later rows hold, and no draft stays."""
    partial = PartialRun(tmp_path)
    partial.save(ROWS, "s", "a", "0")
    partial.save({"cells": []}, "s", "a", "0")
    assert partial.load("s", "a", "0") == {"cells": []}
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_clearing_removes_everything_and_may_be_repeated(tmp_path: Path) -> None:
    """Once the run is in place its units are gone."""
    partial = PartialRun(tmp_path / "scratch")
    partial.save(ROWS, "s", "a", "0")
    partial.clear()
    assert not (tmp_path / "scratch").exists()
    partial.clear()
    assert partial.load("s", "a", "0") is None


def test_a_folder_that_cannot_be_written_is_the_users_to_mend(tmp_path: Path) -> None:
    """The message names the folder and what to do."""
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(InputError, match="scratch folder must be writable") as raised:
        PartialRun(blocked / "scratch").save(ROWS, "s", "a", "0")
    assert str(blocked) in str(raised.value)
    assert "name another workspace" in str(raised.value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (("s", "a"), ["s", "a"], True),
        (("s", "a"), ("a", "s"), False),
        ({"a": 1}, {"a": "1"}, False),
        ("予算", "予算", True),
        ("予算", "예산", False),
        (["ab"], ["a", "b"], False),
    ],
)
def test_equal_content_has_an_equal_key(one: object, other: object, same: bool) -> None:
    """The order of a table's keys does not matter, everything else does."""
    assert (content_key(one) == content_key(other)) is same
    assert len(content_key(one)) == 16
