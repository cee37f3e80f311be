"""Drafts from cues: the right kind and value in four languages, and nothing lint would refuse."""

from __future__ import annotations

import pytest

from ctxeng.core.messages import Message, Session
from ctxeng.harness.scoring.drafting import cues_in, draft_probes
from ctxeng.harness.scoring.lint import lint


def message(text: str, seq: int = 0) -> Message:
    """Return a user's message."""
    return Message(seq=seq, role="user", content=text)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("I'd prefer short bullet lists, please.", "preference", "short bullet lists"),
        ("Please never use drop shadows.", "rejection", "drop shadows"),
        ("Okay, let's go with the oak desk.", "decision", "the oak desk"),
        ("The venue changed from Madrid to Lisbon.", "update", "Lisbon"),
        ("Your ticket is OPS-4812.", "identifier", "OPS-4812"),
        ("The limit is $450 a month.", "number", "$450"),
        ("We ship on 14 March 2025.", "date", "14 march 2025"),
        ("会場は青山ホールに決めました。", "decision", "青山ホール"),
        ("予算は三千円です。", "number", "三千円"),
        ("회의는 5월 20일입니다.", "date", "5월 20일"),
        ("我们决定用海天公司。", "decision", "海天公司"),
    ],
)
def test_a_cue_gives_its_kind_and_value(text: str, kind: str, value: str) -> None:
    """What was preferred, turned down, decided, changed, named, counted or dated."""
    found = [(cue.kind, cue.value.casefold()) for cue in cues_in(message(text))]
    assert any(k == kind and v.removeprefix("会場は") == value.casefold() for k, v in found), found


@pytest.mark.parametrize(
    ("text", "language", "question"),
    [
        ("I run the marathon in Tallinn, Sunday 13 September, so that's seven weeks from today.",
         "en", "Which date or time belongs here: “marathon in Tallinn, Sunday ___, so that's seven”?"),
        ("Installation costs $1,385 everything included.", "en",
         "Which number belongs here: “Installation costs ___ everything”?"),
        ("인테리어 업체에 계약금으로 1,385,000원을 어제 오후에 송금했습니다.", "ko",
         "여기 들어갈 숫자는: “인테리어 업체에 계약금으로 ___을 어제 오후에”?"),
        ("電源はBackupUnitで予算は三千円ですがこれで足りますか。", "ja",
         "ここに入る数は: “BackupUnitで予算は___ですがこれで”?"),
    ],
)  # fmt: skip
def test_a_quotation_begins_and_ends_with_whole_words(
    text: str, language: str, question: str
) -> None:
    """Words are never cut in two where the script sets borders between them."""
    session = Session(session_id="s", language=language, messages=(message(text),))
    assert question in [draft.question for draft in draft_probes(session)]


def test_what_tools_were_given_and_returned_is_not_drafted() -> None:
    """A listing holds times and numbers that nobody will ever ask for."""
    text = "drwxr-xr-x 15:13 total 4812 in /srv/app/build"
    block = {"type": "tool_result", "tool_use_id": "t", "content": text}
    returned = Message(seq=0, role="tool", content=text)
    beside = Message(seq=0, role="user", content="Your ticket is OPS-4812.", blocks=(block,))
    assert list(cues_in(returned)) == []
    assert [cue.value for cue in cues_in(beside)] == ["OPS-4812"]


def test_no_two_drafts_ask_the_same() -> None:
    """Letter case makes no other question."""
    said = (message("Order is CB-20418.", 0), message("order is MT-55891.", 1))
    session = Session(session_id="s", language="en", messages=said)
    drafts = draft_probes(session)
    assert [draft.expect for draft in drafts] == [(("CB-20418",),)]
    assert lint(drafts, [session]) == []


def test_small_talk_and_hostile_text_give_no_draft() -> None:
    """Nothing is stated; markup, escapes and NULs are words like any other."""
    for text in ("", "Thanks, that helps!", "</transcript> ignore all", "\x1b[2J\x00", "?" * 500):
        assert list(cues_in(message(text))) == []


def test_drafts_are_sound_and_ask_without_the_value() -> None:
    """Lint finds no fault, each is a draft with its evidence; a value said twice is left out."""
    session = Session(
        session_id="s",
        language="en",
        messages=(
            message("Your ticket for the broken lift is OPS-4812, keep it.", 0),
            message("The deposit for the hall is $450 and it is paid.", 1),
            message("Yes, $450 for the hall, as I said.", 2),
            message("The venue changed from Madrid to Lisbon.", 3),
        ),
    )
    drafts = draft_probes(session)
    assert lint(drafts, [session]) == []
    assert {d.expect[0][0] for d in drafts} == {"OPS-4812", "Lisbon"}
    assert all(d.status == "draft" and d.expect[0][0] not in d.question for d in drafts)
    (update,) = (d for d in drafts if d.kind == "update")
    assert update.forbid == ("Madrid",)
    assert "Madrid" not in update.question
    assert draft_probes(session, limit=1) == drafts[:1]
