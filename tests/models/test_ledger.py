"""The ledger: every answered call once, in one file that survives what happens to its run."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings

from ctxeng.core.calls import ModelResponse, Usage
from ctxeng.core.errors import InputError
from ctxeng.models import Ledger
from tests.support.calls import HAIKU, request
from tests.support.hostile import hostile_texts


def response(text: str = "1,850", **changes: object) -> ModelResponse:
    """Return an answer."""
    return ModelResponse(text=text, model=HAIKU, **changes)  # type: ignore[arg-type]


def answered(ledger: Ledger, key: str, reply: ModelResponse) -> None:
    """Note a call and its answer."""
    ledger.sending(key, request())
    ledger.answered(key, reply)


def test_an_answer_comes_back_whole_and_says_where_it_is_from() -> None:
    """Text, tool input, usage, latency and cost are kept; the key and the source are set."""
    ledger = Ledger.open(None)
    reply = response(
        "予算は\0 '1,850' 😀",
        tool_input={"items": [{"text": "예산", "n": 1 << 70, "none": None, "share": 0.1}]},
        stop_reason="tool_use",
        usage=Usage(input_tokens=1, cached_tokens=2, cache_write_tokens=3, output_tokens=4),
        latency_seconds=0.25,
        cost_usd=0.0015,
    )
    answered(ledger, "k", reply)
    assert ledger.find("k") == response(
        reply.text,
        tool_input=reply.tool_input,
        stop_reason="tool_use",
        usage=reply.usage,
        latency_seconds=0.25,
        cost_usd=0.0015,
        key="k",
        from_ledger=True,
    )


@given(hostile_texts)
@settings(max_examples=50, deadline=None)
def test_any_text_is_kept_but_that_the_halves_of_a_character_are_joined(text: str) -> None:
    """Whatever a model writes can be stored, a lone surrogate included."""
    ledger = Ledger.open(None)
    answered(ledger, "k", response(text, tool_input={text: [text]}))
    found = ledger.find("k")
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    assert found is not None
    assert (found.text, found.tool_input) == (joined, {joined: [joined]})


def test_a_call_that_was_sent_and_not_answered_is_known_as_such(tmp_path: Path) -> None:
    """After a killed run the file tells what was in flight; such a call has no answer."""
    first = Ledger.open(tmp_path / "ledger.sqlite")
    answered(first, "done", response())
    first.sending("lost", request())
    second = Ledger.open(tmp_path / "ledger.sqlite")
    assert second.counts() == {"answered": 1, "unanswered": 1}
    assert second.find("lost") is None
    assert second.find("never heard of") is None
    second.sending("lost", request())
    second.answered("lost", response("late"))
    assert second.counts() == {"answered": 2, "unanswered": 0}
    late = second.find("lost")
    assert late is not None
    assert late.text == "late"


def test_the_first_answer_stays_unless_the_new_one_replaces_it() -> None:
    """Two runs that answered the same call keep one answer; a fresh run's is the newer."""
    ledger = Ledger.open(None)
    answered(ledger, "k", response("first"))
    answered(ledger, "k", response("second"))
    assert ledger.find("k") == response("first", key="k", from_ledger=True)
    ledger.answered("k", response("third"), replaces=True)
    assert ledger.find("k") == response("third", key="k", from_ledger=True)
    assert ledger.counts() == {"answered": 1, "unanswered": 0}


def test_an_answer_to_a_call_that_was_never_noted_is_not_stored() -> None:
    """A call is noted before it is sent; nothing appears from nowhere."""
    ledger = Ledger.open(None)
    ledger.answered("k", response())
    assert ledger.find("k") is None


def test_forgotten_calls_are_gone_and_counted() -> None:
    """Unknown keys count as nothing."""
    ledger = Ledger.open(None)
    for key in ("a", "b", "c"):
        answered(ledger, key, response(key))
    assert ledger.forget(["a", "c", "zzz", "a"]) == 2
    assert ledger.forget([]) == 0
    assert [key for key in ("a", "b", "c") if ledger.find(key)] == ["b"]


def test_the_file_holds_answers_and_hashes_and_never_a_prompt_or_a_key(
    tmp_path: Path, canary: str
) -> None:
    """A ledger can be carried by CI; what was asked is not in it."""
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger.open(path)
    ledger.sending("k", request("a private question", system=({"type": "text", "text": "hid"},)))
    ledger.answered("k", response("an answer"))
    ledger.close()
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"an answer" in content
    assert b"private question" not in content
    assert canary.encode() not in content


def test_a_ledger_is_found_again_in_a_folder_that_had_to_be_made(tmp_path: Path) -> None:
    """Spaces and other scripts in the path do no harm."""
    path = tmp_path / "a b" / "台帳" / "ledger.sqlite"
    ledger = Ledger.open(path)
    answered(ledger, "k", response())
    ledger.close()
    assert Ledger.open(path).counts() == {"answered": 1, "unanswered": 0}


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Somebody's notes are not overwritten."""
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, " * 100, "utf-8")
    with pytest.raises(InputError, match=r"ledger must be a writable SQLite file, got .*notes.txt"):
        Ledger.open(path)
    assert path.read_text("utf-8").startswith("these are notes")


def test_a_folder_or_a_file_in_the_way_is_told_in_one_line(tmp_path: Path) -> None:
    """Both are faults of the path that was given."""
    (tmp_path / "file").write_text("x", "utf-8")
    for path in (tmp_path, tmp_path / "file" / "ledger.sqlite"):
        with pytest.raises(InputError, match="ledger must be a writable SQLite file"):
            Ledger.open(path)


def test_a_ledger_of_another_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    """A newer release's file is not misread."""
    path = tmp_path / "ledger.sqlite"
    Ledger.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE about SET value = '99' WHERE name = 'schema_version'")
    connection.close()
    with pytest.raises(InputError, match="ledger schema must be 1, got 99"):
        Ledger.open(path)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [(None, ["a", "b"]), ({"b", "zzz"}, ["b"]), (set(), []), ({"lost"}, [])],
)
def test_an_export_is_one_file_with_the_chosen_answers(
    tmp_path: Path, keys: set[str] | None, expected: list[str]
) -> None:
    """Unanswered calls stay behind; the copy needs no file beside it and answers as the original."""
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    for key in ("a", "b"):
        answered(ledger, key, response(f"답 {key}"))
    ledger.sending("lost", request())
    target = tmp_path / "export" / "calls.sqlite"
    assert ledger.export(target, keys=keys) == len(expected)
    assert [file.name for file in target.parent.iterdir()] == ["calls.sqlite"]
    with sqlite3.connect(target) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()
    copy = Ledger.open(target)
    assert copy.counts() == {"answered": len(expected), "unanswered": 0}
    for key in expected:
        assert copy.find(key) == ledger.find(key)


def test_an_export_never_writes_over_a_file(tmp_path: Path) -> None:
    """The remedy is in the message."""
    target = tmp_path / "calls.sqlite"
    target.write_bytes(b"mine")
    with pytest.raises(InputError, match=r"must be new, got .*calls.sqlite. Remove it first"):
        Ledger.open(None).export(target)
    assert target.read_bytes() == b"mine"


def test_threads_with_ledgers_of_their_own_lose_no_answer(tmp_path: Path) -> None:
    """Four open the same new file at the same moment, write, and read what the others wrote."""
    path = tmp_path / "ledger.sqlite"
    start = threading.Barrier(4)

    def work(number: int) -> int:
        start.wait()
        ledger = Ledger.open(path)
        for i in range(25):
            answered(ledger, f"{number}-{i}", response(f"{number}-{i}"))
            answered(ledger, f"shared-{i}", response("shared"))
        ledger.close()
        return number

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(work, range(4))) == [0, 1, 2, 3]
    assert Ledger.open(path).counts() == {"answered": 125, "unanswered": 0}


def test_a_new_file_can_be_opened_by_many_at_once(tmp_path: Path) -> None:
    """The first to open it turns the write-ahead log on while the others look."""
    for number in range(40):
        path = tmp_path / f"{number}.sqlite"
        start = threading.Barrier(8)

        def work(path: Path = path, start: threading.Barrier = start) -> dict[str, int]:
            start.wait()
            ledger = Ledger.open(path)
            counts = ledger.counts()
            ledger.close()
            return counts

        with ThreadPoolExecutor(8) as pool:
            found = [f.result() for f in [pool.submit(work) for _ in range(8)]]
        assert found == [{"answered": 0, "unanswered": 0}] * 8


def test_threads_that_share_one_ledger_lose_no_answer() -> None:
    """A run's workers use one connection."""
    ledger = Ledger.open(None)

    def work(number: int) -> None:
        for i in range(25):
            answered(ledger, f"{number}-{i}", response())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert ledger.counts() == {"answered": 100, "unanswered": 0}


def test_answers_survive_a_process_that_is_killed_at_once(tmp_path: Path) -> None:
    """What was answered is in the file when the next line of code runs."""
    path = tmp_path / "ledger.sqlite"
    code = (
        "import os, sys, pathlib; from ctxeng.models import Ledger; "
        "from ctxeng.core.calls import ModelRequest, ModelResponse; "
        "l = Ledger.open(pathlib.Path(sys.argv[1])); "
        "r = ModelRequest(role='reader', model='m', messages=(), max_tokens=1, prompt_id='p@1'); "
        "l.sending('a', r); l.answered('a', ModelResponse(text='kept', model='m')); "
        "l.sending('b', r); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False, env=os.environ)
    assert done.returncode == -9
    ledger = Ledger.open(path)
    found = ledger.find("a")
    assert found is not None
    assert found.text == "kept"
    assert ledger.counts() == {"answered": 1, "unanswered": 1}


@pytest.mark.parametrize(
    ("seconds_after", "goes"), [(-3600, True), (-1, True), (10, True), (40, False), (590, False)]
)
def test_a_deletion_takes_what_may_hold_the_words_and_nothing_newer(
    monkeypatch: pytest.MonkeyPatch, seconds_after: float, goes: bool
) -> None:
    """A call in flight goes, whenever its answer comes; one that begins half a minute later stays."""
    ledger, deleted_at = Ledger.open(None), time.time()
    deleted = {hashlib.sha256(b"ann").hexdigest(): deleted_at}
    monkeypatch.setattr(time, "time", lambda: deleted_at + seconds_after)
    ledger.concerns("k", "ann")
    ledger.sending("k", request())
    monkeypatch.setattr(time, "time", lambda: deleted_at + 700)
    assert ledger.forget_deleted(deleted) == goes
    ledger.answered("k", response())
    assert (ledger.find("k") is None) == goes
