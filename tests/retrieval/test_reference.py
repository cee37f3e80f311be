"""What a question names, and who says it."""

from __future__ import annotations

import pytest

from ctxeng.core.messages import Message
from ctxeng.retrieval.reference import references


@pytest.mark.parametrize(
    ("question", "speaker", "text", "is_named"),
    [
        ("What did Ana paint?", "Ana", "a door", True),
        ("what did ana paint?", "Ana Ruiz", "a door", True),
        ("Did Ruiz call?", "Ana Ruiz", "yes", True),
        ("What is banana bread?", "Ana", "bread", False),  # a word of its own
        ("Ana's door?", "Ben", "Ana has a door", False),  # who is spoken of does not speak
        ("田中さんの予算は？", "田中", "三千円", True),
        ("김민준은 뭐라고 했어?", "김민준", "좋아요", True),
        ("Where is PX-2291?", None, "invoice px-2291 is paid", True),
        ("Where is PX-2291?", None, "invoice PX-22917 is paid", False),
        ("Is app_id set?", None, "set app_id first", True),
        ("Which version is v1.2?", None, "we ship v1.2 today", True),
        ("In May 2023?", None, "2023 was good", False),  # a number alone is no name
        ("What is the user's plan?", None, "plan", False),  # roles are no names
        ("", "Ana", "", False),
        ("？", "", "", False),
        ("a|b(", "a|b(", "x", True),  # nothing in a name is a pattern
    ],
)
def test_a_message_is_named_by_its_speaker_or_an_identifier(
    question: str, speaker: str | None, text: str, is_named: bool
) -> None:
    """Whatever the case; in spaced scripts as a word of its own (by hand)."""
    message = Message(seq=7, role="user", content=text, speaker=speaker)
    assert references(question, [message]) == ({7: 1.0} if is_named else {})
