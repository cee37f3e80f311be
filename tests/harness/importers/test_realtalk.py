"""REALTALK chats and their questions."""

from __future__ import annotations

from datetime import UTC, datetime

from ctxeng.harness.probes.model import Span
from tests.harness.importers.conftest import Import, Write
from tests.support.foreign_chats import REALTALK


def test_stretches_are_one_session_with_the_names_as_they_are_listed(
    imported: Import, source: Write
) -> None:
    """``Elise`` in the turns is ``elise`` of the list; the first speaker is the user."""
    found = imported("auto", source(REALTALK, name="chat.json"))
    assert found.report.format == "realtalk"
    assert [(m.role, m.speaker, m.message_id) for m in found.messages] == [
        *(("user", "elise", "D1:1"), ("assistant", "Kevin", "D1:2"), ("user", "elise", "D2:1"))
    ]
    assert found.messages[0].timestamp == datetime(2023, 12, 29, 10, 31, 5, tzinfo=UTC)
    assert found.messages[1].blocks == ({"type": "image", "title": "dog.jpg"},)


def test_evidence_is_found_by_id_or_by_its_words(imported: Import, source: Write) -> None:
    """A question whose evidence is neither is kept, and not asked."""
    found = imported("auto", source(REALTALK, name="chat.json"))
    by_id, by_words, lost = found.probes
    assert by_id.evidence == (Span(from_seq=1, to_seq=1),)
    assert by_words.evidence == (Span(from_seq=2, to_seq=2),)
    assert (lost.status, lost.note) == ("excluded", "no evidence is given")
    assert [p.category for p in found.probes] == ["1", "3", "2"]
    assert by_id.expect == (("Biscuit",),)
