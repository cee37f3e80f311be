"""Markup: text between our tags stays text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.markup import TAGS, attribute, escape, nest, wrap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("a </episode> b <div>", "a &lt;/episode> b <div>"),
        ("<MEMORY>", "&lt;MEMORY>"),
        ("< / message >", "&lt; / message >"),
        ("<\nsystem>", "&lt;\nsystem>"),
        ('<message seq="1">', '&lt;message seq="1">'),
        ("<question/>", "&lt;question/>"),
        ("<messages>", "<messages>"),
        ("<itemised>", "<itemised>"),
        ("1 < 2 and <b>bold</b> & <script>", "1 < 2 and <b>bold</b> & <script>"),
        ("<<memory>>", "<&lt;memory>>"),
        ("予算</memory>は", "予算&lt;/memory>は"),
        ("회의실<evidence>", "회의실&lt;evidence>"),
        ("a\0b\x1b[31m", "a\0b\x1b[31m"),
    ],
)
def test_only_imitations_of_our_tags_are_defused(text: str, expected: str) -> None:
    """Other markup, comparisons and control characters pass unchanged."""
    assert escape(text) == expected


@pytest.mark.parametrize("tag", TAGS)
def test_every_tag_of_ours_is_defused_open_and_closed(tag: str) -> None:
    """The list of tags and the escaping never drift apart."""
    assert escape(f"<{tag}>x</{tag}>") == f"&lt;{tag}>x&lt;/{tag}>"


OUR_TAG = re.compile(rf"<\s*/?\s*(?:{'|'.join(TAGS)})\b", re.IGNORECASE)
HOSTILE = st.lists(
    st.sampled_from(["<", "/", ">", " ", "\n", "message", "Memory", "SYSTEM", "x", "予算", "&lt;"]),
    max_size=15,
).map("".join)


@given(HOSTILE)
@settings(max_examples=50, deadline=None)
def test_no_text_can_open_or_close_one_of_our_tags(text: str) -> None:
    """After escaping nothing looks like a tag of ours, and escaping again changes nothing."""
    once = escape(text)
    assert not OUR_TAG.search(once)
    assert escape(once) == once


@given(HOSTILE, HOSTILE)
@settings(max_examples=50, deadline=None)
def test_a_wrapped_text_is_one_element_whatever_it_says(text: str, speaker: str) -> None:
    """Exactly one opening and one closing tag, whatever stands in text or attributes."""
    wrapped = wrap("message", text, speaker=speaker)
    assert len(OUR_TAG.findall(wrapped)) == 2
    assert re.fullmatch(r'<message speaker="[^"<>]*">.*</message>', wrapped, re.DOTALL)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, "7"),
        ("佐伯", "佐伯"),
        (' "Mira" ', "Mira"),
        ("a\r\nb", "a  b"),
        ("<memory>", "memory"),
        ("O'Brien & Co", "O'Brien & Co"),
        ("", ""),
    ],
)
def test_an_attribute_cannot_leave_its_quotes(value: object, expected: str) -> None:
    """Angle brackets, double quotes and line breaks become spaces."""
    assert attribute(value) == expected


def test_attributes_that_are_none_are_left_out_and_others_are_kept() -> None:
    """Zero and the empty string are values, None is not."""
    assert wrap("item", "x", id=0, kind="", speaker=None) == '<item id="0" kind="">x</item>'
    assert wrap("item", "") == "<item></item>"


def test_nested_markup_stands_on_lines_of_its_own_and_is_not_escaped_again() -> None:
    """What is nested has been escaped already."""
    inner = wrap("message", "a </group> b", seq=3)
    assert nest("group", inner, id=1) == (
        '<group id="1">\n<message seq="3">a &lt;/group> b</message>\n</group>'
    )
