"""Accounts of records, and messages on their way into a session."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.messages import Message
from ctxeng.harness.importers.model import MAX_FINDINGS, Account, SessionDraft, Turns, draft
from ctxeng.harness.importers.registry import IMPORTERS
from ctxeng.harness.sessions.records import message_from
from tests.generators import histories

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


def records(made: SessionDraft) -> list[Message]:
    """Return the messages of a draft."""
    return [message_from(orjson.loads(line), where="draft") for line in made.records]


steps = st.lists(
    st.tuples(
        st.sampled_from(["take", "merge", "skip", "retract"]),
        st.sampled_from(["damaged line", "empty message", "copy"]),
        st.integers(0, 4),
    ),
    max_size=20,
)


@given(steps)
@settings(max_examples=50, deadline=None)
def test_an_account_always_balances(taken: list[tuple[str, str, int]]) -> None:
    """Read equals imported plus merged plus skipped after any history, and nothing goes below zero."""
    account = Account(file="x")
    for step, reason, count in taken:
        if step == "skip":
            account.skip(reason, count)
        elif step == "retract":
            account.retract(
                reason,
                imported=min(count, account.imported),
                merged=min(count, account.merged),
            )
        else:
            getattr(account, step)(count)
        assert account.balanced
        assert min(account.read, account.imported, account.merged) >= 0


def test_skipping_nothing_leaves_no_reason() -> None:
    """A reason with a count of zero would be noise in every report."""
    account = Account(file="x")
    account.skip("other branch", 0)
    assert dict(account.skipped) == {}


def test_findings_of_a_bad_file_do_not_fill_the_memory() -> None:
    """Beyond the limit only their number is kept; the account still counts every line."""
    account = Account(file="x")
    for number in range(1000):
        account.damaged(b"{", ValueError("broken"), line=number)
    assert len(account.findings) == MAX_FINDINGS
    assert account.silenced == 1000 - MAX_FINDINGS
    assert (account.read, account.skipped["damaged line"]) == (1000, 1000)
    assert account.findings[3].line == 3
    assert account.findings[3].what == "damaged line: broken"


def test_turns_are_numbered_and_counted() -> None:
    """An added message is one record; what says nothing is skipped and takes no number."""
    turns = Turns(Account(file="x"))
    assert turns.add("user", "予算は？", speaker="", message_id="", timestamp=AT)
    assert not turns.add("assistant", " \n")
    assert turns.add("assistant", "", blocks=[{"type": "image"}])
    assert [(m.seq, m.role, m.speaker, m.message_id) for m in turns.messages] == [
        (0, "user", None, None),
        (1, "assistant", None, None),
    ]
    assert (turns.taken, turns.account.imported) == (2, 2)
    assert dict(turns.account.skipped) == {"empty message": 1}


def test_a_joined_record_extends_the_message_before() -> None:
    """Words get a blank line between them, blocks follow in order, and the record is merged."""
    turns = Turns(Account(file="x"))
    turns.add("assistant", "one", blocks=[{"type": "a"}])
    turns.join(content="two", blocks=[{"type": "b"}])
    turns.join(blocks=[{"type": "c"}])
    (message,) = turns.messages
    assert message.content == "one\n\ntwo"
    assert [block["type"] for block in message.blocks] == ["a", "b", "c"]
    assert (turns.account.imported, turns.account.merged, turns.merged) == (1, 2, 2)


def test_a_following_message_is_part_of_the_same_record() -> None:
    """Results that stood inside a call become a message without being counted twice."""
    turns = Turns(Account(file="x"))
    turns.add("assistant", "", blocks=[{"type": "tool_use", "id": "t"}])
    turns.follow("tool", blocks=[{"type": "tool_result", "tool_use_id": "t"}], timestamp=AT)
    assert [m.role for m in turns.messages] == ["assistant", "tool"]
    assert turns.account.read == turns.taken == 1


def test_an_inserted_message_takes_its_place() -> None:
    """Those behind it move on; their numbers are set when the session is drafted."""
    turns = Turns(Account(file="x"))
    for text in ("b", "c"):
        turns.add("user", text)
    turns.insert(0, "assistant", "a", timestamp=AT)
    turns.insert(3, "assistant", "d")
    made = turns.draft("s", origin="hand")
    assert [(m.seq, m.content) for m in records(made)] == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]
    assert made.source_records() == (4, 0)


def test_a_kept_message_keeps_every_field() -> None:
    """A message that is one already is taken as it is, with a number of its own."""
    given_message = Message(
        seq=7,
        role="tool",
        content="x",
        speaker="s",
        timestamp=AT,
        message_id="m",
        blocks=({"type": "a"},),
        meta={"k": 1},
    )
    turns = Turns(Account(file="x"))
    assert turns.keep(given_message)
    assert turns.messages == [given_message.with_(seq=0)]


@given(histories(min_size=1, max_size=12))
@settings(max_examples=30, deadline=None)
def test_a_draft_numbers_its_messages_in_order(messages: list[Message]) -> None:
    """Whatever numbers they had, the lines hold 0, 1, 2 … and the same words."""
    made = draft("s", [m.with_(seq=m.seq + 5) for m in messages], origin="hand")
    assert records(made) == messages
    assert made.header.speakers == tuple(dict.fromkeys(m.name for m in messages))
    assert made.source_records() == (len(messages), 0)


@pytest.mark.parametrize(
    ("texts", "given_language", "language"),
    [
        (["予算は三千円です。"], None, "ja"),
        (["예산은 삼천 원입니다."], None, "ko"),
        (["予算は三千円です。"], "en", "en"),
        (["予算は三千円です。"], "", "ja"),
        ([], None, "und"),
    ],
)
def test_a_draft_guesses_the_language_unless_it_is_known(
    texts: list[str], given_language: str | None, language: str
) -> None:
    """A format that knows better is believed."""
    messages = [Message(seq=n, role="user", content=text) for n, text in enumerate(texts)]
    made = draft("s", messages, origin="hand", language=given_language, taken=9, merged=2)
    assert made.header.language == language
    assert made.source_records() == (9, 2)


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_every_importer_has_the_shape_of_its_siblings(importer, tmp_path: Path) -> None:
    """A name for the command line, suffixes with a dot, and no claim on an ordinary folder."""
    assert importer.name.replace("-", "").isalnum()
    assert importer.name == importer.name.lower()
    assert importer.suffixes
    assert all(suffix.startswith(".") for suffix in importer.suffixes)
    (tmp_path / "file.json").write_text("{}")
    assert not importer.claims_folder(tmp_path)
