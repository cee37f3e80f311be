"""Whether the answer stands in the last messages: what is named there, and in which shape."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.retrieval.gate import should_retrieve
from ctxeng.retrieval.window import READ_CHARACTERS, READ_MESSAGES, answered_in, named_words

CAMERA = ["I bought a Leica M3 for 1,400 euros", "Congratulations!", "still shaking"]
PORTS = ["ports 80 and 443 are taken, 8080 is free", "Noted.", "writing the config"]


@pytest.mark.parametrize(
    ("question", "window", "named", "words"),
    [
        ("Which ports are free?", "port 8080 is free", 2, 2),  # stems: port, free
        ("Which ports are free?", "nginx caches", 0, 2),
        ("And how much did it cost?", "anything", 0, 0),  # nothing but what asks and points
        ("空いてるポートはどれ？", "8080が空き", 1, 2),  # 空 stands there, ポート does not
        ("남는 포트가 뭐야?", "포트 8080", 1, 2),  # 포트 whatever its particle
        ("", "anything", 0, 0),
        ("ＰＯＲＴ free?", "the Port", 1, 2),
    ],
)
def test_content_words_are_counted_in_three_languages(
    question: str, window: str, named: int, words: int
) -> None:
    """How many words there are, and how many of them the window holds (by hand)."""
    assert named_words(question, window) == (named, words)


@pytest.mark.parametrize(
    ("question", "recent", "is_answered"),
    [
        ("And how much did it cost?", CAMERA, True),
        ("And how much did it cost?", ["e-n-t-r-e", "thanks"], False),  # there is no number
        ("And how much did it cost?", [*CAMERA, "now that other camera"], False),  # turns away
        ("which port is free?", PORTS, True),
        ("which port is free?", ["does nginx cache?", "No."], False),
        ("When does she arrive?", ["mum lands on Friday at 16:20"], True),
        ("When does she arrive?", ["how warm is Lisbon in May", "Around 21 degrees."], False),
        ("What was the second option?", ["ways to sort?", "sorted(), list.sort(), heapq."], True),
        ("What was the second option?", ["is tap water hard?", "Yes, very."], False),
        ("お母さんは何時に着くの？", ["母は金曜の16時20分着"], True),
        ("お母さんは何時に着くの？", ["リスボンは5月で21度ほどです。"], False),
        ("엄마 몇 시에 도착하셔?", ["엄마 금요일 16시 20분 도착"], True),
        ("엄마 몇 시에 도착하셔?", ["리스본은 5월에 21도쯤이요."], False),
        ("Who asked for the red door?", [], False),
        ("Who asked for the red door?", ["", "  "], False),
    ],
)
def test_an_answer_in_the_window_is_seen(
    question: str, recent: list[str], is_answered: bool
) -> None:
    """Minimal pairs: the same question, once answered in the last messages and once not."""
    assert answered_in(question, recent, refers_back=False) is is_answered


def test_a_question_that_refers_back_needs_more() -> None:
    """Half of its words are enough for a plain question, not for one about what was said."""
    recent = ["the red one costs 3,000"]
    question = "Why the red door?"
    assert answered_in(question, recent, refers_back=False)
    assert not answered_in(question, recent, refers_back=True)


def test_only_the_last_words_count() -> None:
    """What is further up, or far into a pasted file, may be what older messages are needed for."""
    told = "port 8080 is free"
    assert answered_in("which port is free?", [told, *["ok"] * (READ_MESSAGES - 1)],
                       refers_back=False)  # fmt: skip
    assert not answered_in("which port is free?", [told, *["ok"] * READ_MESSAGES],
                           refers_back=False)  # fmt: skip
    assert not answered_in("which port is free?", ["x " * READ_CHARACTERS + told],
                           refers_back=False)  # fmt: skip
    assert not answered_in("which port is free? " * 50, [told], refers_back=False)


@pytest.mark.parametrize(
    ("question", "is_open"),
    [
        ("Last time the Fed cut rates, what happened to mortgages?", False),
        ("前回の東京五輪のマスコット、名前なんだっけ", False),
        ("어제 뉴스 보니까 금리 동결이라던데 대출이자 그대로야?", False),
        ("What did you say about the Olympics last week?", True),  # said here
        ("¿Qué día vence el permiso de Tomás?", True),  # a language without cues
        ("Quel est le port du serveur ?", True),
        ("Welcher Port ist frei?", True),
        ("¿Y?", False),  # tells no language
    ],
)
def test_the_world_has_a_past_of_its_own_and_other_languages_are_let_in(
    question: str, is_open: bool
) -> None:
    """No messages are needed for the news; where no cue is known, the gate is open."""
    assert should_retrieve(question).retrieve is is_open


@settings(max_examples=50, deadline=None)
@given(question=st.text(max_size=60), recent=st.lists(st.text(max_size=40), max_size=5))
def test_any_window_is_read(question: str, recent: list[str]) -> None:
    """Whatever the texts, the decision has a reason exactly where it is open."""
    decision = should_retrieve(question, recent=recent)
    assert decision.retrieve == bool(decision.reasons)
    assert not answered_in(question, [], refers_back=False)
