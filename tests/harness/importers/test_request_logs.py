"""Request logs: of requests that repeat each other, the longest is the session."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.messages import Message
from ctxeng.harness.importers.model import Account, SessionDraft
from ctxeng.harness.importers.request_logs import Exchange, sessions_of


def said(seq: int, word: str, **about: object) -> Message:
    """Return message ``seq``: users at even places, assistants at odd ones."""
    role = "assistant" if seq % 2 else "user"
    return Message(seq=seq, role=role, content=word, **about)  # type: ignore[arg-type]


def exchange(name: str, words: str, answer: str | None = None) -> Exchange:
    """Return a request that holds one message a letter, and its answer."""
    asked = tuple(said(seq, word) for seq, word in enumerate(words))
    reply = said(len(words), answer) if answer is not None else None
    return Exchange(name=name, asked=asked, answer=reply)


def words_of(made: SessionDraft) -> str:
    """Return the words of a session, joined."""
    return "".join(orjson.loads(line)["content"] for line in made.records)


def run(*exchanges: Exchange) -> tuple[dict[str, str], Account]:
    """Return the sessions by name, and the account."""
    account = Account(file="x")
    made = sessions_of(exchanges, account, origin="log")
    assert account.balanced
    assert account.read == len(exchanges)
    return {one.header.session_id: words_of(one) for one in made}, account


GROWING = (exchange("1", "a", "b"), exchange("2", "abc", "d"), exchange("3", "abcde", "f"))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_growing_history_is_one_session_in_any_order(order: tuple[int, ...]) -> None:
    """The longest request with its answer holds all; the others are merged into it."""
    sessions, account = run(*(GROWING[index] for index in order))
    assert sessions == {"3": "abcdef"}
    assert (account.imported, account.merged, dict(account.skipped)) == (1, 2, {})


def test_a_request_answered_otherwise_is_told() -> None:
    """The client went on from another answer: this one is in no session, and that is counted."""
    sessions, account = run(exchange("1", "a", "x"), exchange("2", "abc", "d"))
    assert sessions == {"2": "abcd"}
    assert dict(account.skipped) == {"answered otherwise in a longer request": 1}


def test_a_request_without_an_answer_merges_into_a_longer_one() -> None:
    """Nothing of it is missing there."""
    sessions, account = run(exchange("1", "a"), exchange("2", "abc"))
    assert sessions == {"2": "abc"}
    assert account.merged == 1


def test_the_same_request_twice_is_one_session_with_an_answer() -> None:
    """A retry is skipped; where only the retry was answered, it stands in."""
    sessions, account = run(exchange("1", "a"), exchange("2", "a", "b"), exchange("3", "a", "c"))
    assert sessions == {"2": "ab"}
    assert dict(account.skipped) == {"same request twice": 2}


def test_a_history_that_forks_is_two_sessions() -> None:
    """What they share is merged into both, and each keeps its own end."""
    sessions, account = run(
        exchange("1", "a", "b"), exchange("2", "abc", "d"), exchange("3", "abx", "y")
    )
    assert sessions == {"2": "abcd", "3": "abxy"}
    assert (account.imported, account.merged) == (2, 1)


def test_an_answer_that_is_the_next_request_s_history_is_not_lost() -> None:
    """A request that ends with what another answered continues it."""
    sessions, account = run(exchange("1", "a", "b"), exchange("2", "ab", "c"))
    assert sessions == {"2": "abc"}
    assert account.merged == 1


def test_thinking_sent_back_or_not_does_not_make_another_history() -> None:
    """Clients drop thinking blocks, or trim the words, as they like."""
    thought = {"type": "thinking", "thinking": "hm"}
    first = Exchange(name="1", asked=(said(0, "a"),), answer=said(1, "b", blocks=(thought,)))
    second = Exchange(name="2", asked=(said(0, " a\n"), said(1, "b"), said(2, "c")))
    sessions, account = run(first, second)
    assert list(sessions) == ["2"]
    assert account.merged == 1


@pytest.mark.parametrize("difference", ["role", "content", "blocks"])
def test_histories_that_differ_in_what_is_said_are_apart(difference: str) -> None:
    """Role, words and calls count; ids and times do not."""
    changes = {
        "role": {"role": "system"},
        "content": {"content": "z"},
        "blocks": {"blocks": ({"type": "tool_use", "id": "t", "name": "n", "input": {}},)},
    }[difference]
    base = (said(0, "a"), said(1, "b"), said(2, "c"))
    other = (base[0].with_(**changes), *base[1:])
    sessions, _ = run(Exchange(name="1", asked=base), Exchange(name="2", asked=other))
    assert set(sessions) == {"1", "2"}
    same = (base[0].with_(message_id="m", meta={"k": 1}), *base[1:])
    sessions, _ = run(Exchange(name="1", asked=base), Exchange(name="2", asked=same))
    assert len(sessions) == 1


logs = st.lists(
    st.tuples(st.text("ab", min_size=1, max_size=4), st.one_of(st.none(), st.sampled_from("ab"))),
    max_size=8,
)


@given(logs)
@settings(max_examples=50, deadline=None)
def test_every_request_is_part_of_a_session(given_log: list[tuple[str, str | None]]) -> None:
    """Each history asked is the beginning of some session, and no session is in another."""
    exchanges = [exchange(str(n), words, answer) for n, (words, answer) in enumerate(given_log)]
    sessions, account = run(*exchanges)
    assert len(sessions) == account.imported
    for words, _ in given_log:
        assert any(held.startswith(words) for held in sessions.values())
    asked = {name: given_log[int(name)][0] for name in sessions}
    for name, words in asked.items():
        assert not any(
            other != name and longer.startswith(words) for other, longer in asked.items()
        )


def test_an_empty_log_has_no_sessions() -> None:
    """Nothing in, nothing out."""
    assert run() == ({}, Account(file="x"))
