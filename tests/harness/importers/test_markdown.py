"""Markdown transcripts."""

from __future__ import annotations

import pytest

from ctxeng.core.errors import DatasetError
from tests.harness.importers.conftest import Import, Write
from tests.support.foreign_chats import MARKDOWN

TWO = [("user", "Which rope?"), ("assistant", "12 mm."), ("user", "Thanks")]


def test_headings_divide_a_transcript(imported: Import, source: Write) -> None:
    """Fenced code and bold words inside a turn do not; the title is kept, the preamble counted."""
    found = imported("auto", source(MARKDOWN, name="colour.md"))
    assert found.report.format == "markdown"
    assert found.said == [
        ("user", "No red, please.\n\n```text\n## Assistant\nthis line is code\n```"),
        ("assistant", "Noted: **Note:** blue then."),
        ("user", "予算は3,000円。"),
    ]
    assert found.session.title == "Picking a colour"
    assert (found.report.read, found.report.skipped) == (4, {"text before the first turn": 1})


@pytest.mark.parametrize(
    "text",
    [
        "## User\nWhich rope?\n\n## Assistant\n12 mm.\n\n## User\nThanks\n",
        "# You (10:31)\nWhich rope?\n# ChatGPT\n12 mm.\n# You:\nThanks",
        "**User:** Which rope?\n\n**Assistant:** 12 mm.\n\n**User:** Thanks",
        "**Human**: Which rope?\n**Claude**: 12 mm.\n**Human**: Thanks",
        "User: Which rope?\n\nAssistant: 12 mm.\n\nUser: Thanks\n",
        "Human: Which rope?\nAI: 12 mm.\nHuman: Thanks",
        "### 🧑 User\r\nWhich rope?\r\n### 🤖 Assistant\r\n12 mm.\r\n### 🧑 User\r\nThanks\r\n",
        "\ufeff**You:** Which rope?\n---\n**Gemini:** 12 mm.\n---\n**You:** Thanks\n---\n",
    ],
)
def test_the_ways_people_write_turns_read_the_same(
    text: str, imported: Import, source: Write
) -> None:
    """Headings, bold names, bare names; rules between turns are no words."""
    assert imported("auto", source(text, name="x.md")).said == TWO


def test_named_people_keep_their_names(imported: Import, source: Write) -> None:
    """Such a page may be anything, so the format has to be named; of two people one answers."""
    text = "**Mira:** Which rope?\n\n**Jon:** 12 mm.\n\n**Mira:** Thanks\n\n**Jon:** Sure"
    path = source(text, name="x.md")
    with pytest.raises(DatasetError, match="none recognises"):
        imported("auto", path)
    found = imported("markdown", path)
    assert [(m.role, m.speaker) for m in found.messages] == [
        *(("user", "Mira"), ("assistant", "Jon"), ("user", "Mira"), ("assistant", "Jon"))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# Notes\n\nSome words: and more.\n",
        "**Note:** a\n\n**Tip:** b\n\n**Note:** c\n\n**Tip:** d",
        "System: Linux\nModel: X1\n",
        '{"messages": [{"role": "user", "content": "User: hi\\nAssistant: hello"}]',
        "The user: a study.\nassistant: lower case in prose",
    ],
)
def test_other_pages_are_not_mistaken_for_transcripts(
    text: str, imported: Import, source: Write
) -> None:
    """Nor is JSON ever read as prose."""
    with pytest.raises(DatasetError):
        imported("auto", source(text, name="x.md"))


def test_a_fence_that_is_never_closed_hides_nothing(imported: Import, source: Write) -> None:
    """The turns behind it are still turns."""
    text = "## User\n```\ncut off\n## Assistant\nhello\n"
    assert [role for role, _ in imported("auto", source(text, name="x.md")).said] == [
        *("user", "assistant")
    ]
