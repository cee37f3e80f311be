"""Words and identifiers: what counts as the value standing in a text. Expected values by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.matching import ValueType, find, may_hold, value_of
from ctxeng.harness.scoring.text import normal
from tests.generators import WORDS, texts

WORDS_FOUND = [
    ("blue", "The rack is blue."),
    ("blue", "BLUE!"),
    ("cat", "cats"),
    ("bus", "buses"),
    ("Mira", "Mira's idea"),
    ("Mira", "Mira’s idea"),
    ("café", "CAFE\u0301"),
    ("straße", "STRASSE"),
    ("dark mode", "dark-mode"),
    ("dark mode", "dark\n mode"),
    ("dark-mode", "dark mode"),
    ("dark-mode", "darkmode"),
    ("T-shirt", "three T-shirts"),
    ("e-mail", "by email"),
    ("ice cream", "ice-cream"),
    ("don't ship on Friday", "We don’t ship on Friday."),
    ("Ship it, then sleep.", "“Ship it, then sleep”"),
    ("赤いですね。", "赤いですね"),
    ("New York", "in new york city"),
    ("Room 4", "in room 4."),
    ("100% cotton", "It is 100% cotton."),
    ("“red”", 'a "red" one'),
    ("U.S.", "the U.S. team"),
    # scripts without word borders
    ("赤い", "赤い屋根"),
    ("東京", "東京都"),
    ("会議室B", "会議室Bです"),
    ("会議室B", "会議室 B です"),
    ("会議室 B", "会議室Bです"),
    ("New York支店", "New York 支店"),
    ("Kestrel", "Kestrelです"),
    ("Kestrel", "名前はKestrelだ"),
    ("Kestrel", "Kestrel로 정했습니다"),
    ("빨간색", "빨간색으로 해 주세요"),
    ("빨간 색", "빨간색"),
    ("김민수", "김민수 씨"),
    ("ラーメン", "ﾗｰﾒﾝ"),
    ("한국", "\u1112\u1161\u11ab국"),
    # hostile or odd
    ("<script>", "<script>alert(1)</script>"),
    ("</memory>", "x </memory> y"),
    ("a\x00b", "a\x00b"),
    ("a\u200bb", "ab"),
    ("😀", "ok 😀!"),
    ("(", "a (b)"),
    (".*", "a .* b"),
    ("[a-z]+", "the pattern [a-z]+ here"),
    ("%s\\n", "print %s\\n"),
    (".env", "the .env file"),
    ("...", "wait ... what"),
]
WORDS_ABSENT = [
    ("blue", "bluegrass"),
    ("blue", "a blueish tint"),
    ("cat", "concatenate"),
    ("red", "hundred"),
    ("art", "part"),
    ("Mira", "Miranda"),
    ("dark mode", "darkmode"),
    ("York", "a New Yorker"),
    ("Room 4", "Room 40"),
    ("Room 4", "Room 4.5"),
    ("Room 4", "room four"),
    ("option 2", "the second option"),
    ("my-service", "my-service-two"),
    ("service-two", "my-service-two"),
    ("赤い", "青い"),
    ("東京都", "東京"),
    ("会議室B", "会議室BC"),
    ("naïve", "naive"),
    (".*", "anything"),
    ("", "anything"),
    ("  ", "anything"),
    ("x", ""),
]


@pytest.mark.parametrize(("value", "text"), WORDS_FOUND)
def test_words_are_found_in_any_typing(value: str, text: str) -> None:
    """Case, width, hyphens, plurals, particles and quotes do not hide words."""
    assert find(value_of(value), text)
    assert may_hold(value_of(value), text)


@pytest.mark.parametrize(("value", "text"), WORDS_ABSENT)
def test_a_part_of_a_longer_word_is_not_the_word(value: str, text: str) -> None:
    """In scripts with word borders a value must end where a word ends."""
    assert not find(value_of(value), text)


NAMES_FOUND = [
    ("max_retry_count", "maxRetryCount"),
    ("maxRetryCount", "set MAX_RETRY_COUNT=3"),
    ("maxRetryCount", "max-retry-count"),
    ("maxRetryCount", "the max retry count is 3"),
    ("maxRetryCount", "config.maxRetryCount"),
    ("user_id", "row.user_id.strip()"),
    ("user_id", "user.id"),
    ("PX-2291", "order px-2291."),
    ("PX-2291", "(`PX-2291`)"),
    ("PX-2291", "注文番号はPX-2291です"),
    ("PX-2291", "주문번호는 PX-2291입니다"),
    ("PX-2291", "ＰＸ－２２９１"),
    ("PX-2291", "PX-2291's label"),
    ("v2.3.1", "v2.3.1,"),
    ("v2.3.1", "version 2.3.1"),
    ("2.3.1", "v2.3.1"),
    ("src/app/main.py", "see `src/app/main.py`:"),
    ("main.py", "src/app/main.py"),
    ("foo@bar.com", "<foo@bar.com>"),
    ("https://example.com/a", "(https://example.com/a)"),
    ("192.168.0.1", "192.168.0.1:80"),
    ("--dry-run", "run with --dry-run"),
    ("#1234", "repo#1234"),
    ("SKU_9", "sku-9"),
    ("C#", "in C#"),
    (r"C:\tmp", r"under C:\tmp today"),
    ("10-12", "10–12 people"),
]
NAMES_ABSENT = [
    ("maxRetryCount", "maxRetryCounts"),
    ("maxRetryCount", "maxRetry"),
    ("maxRetryCount", "maxretrycount2"),
    ("getUser", "getUserById"),
    ("user_id", "user_ids"),
    ("user_id", "my_user_id"),
    ("user_id", "user_id2"),
    ("PX-2291", "PX2291"),
    ("PX-2291", "PX-22910"),
    ("PX-2291", "PX-229"),
    ("PX-2291", "APX-2291"),
    ("PX-2291", "PX-2291-b"),
    ("PX-2291", "re-PX-2291"),
    ("v2.3.1", "v2.3.10"),
    ("v2.3.1", "v2.3.1-rc1"),
    ("v2.3.1", "v2.3.1.4"),
    ("2.3.1", "1.2.3.1"),
    ("main.py", "domain.py"),
    ("main.py", "main.py.bak"),
    ("src/app", "src/app/main.py"),
    ("config.yaml", "config.yml"),
    ("foo@bar.com", "afoo@bar.com"),
    ("https://example.com/a", "https://example.com/ab"),
    ("192.168.0.1", "192.168.0.10"),
    ("--dry-run", "--dry-run-all"),
    ("--dry-run", "---dry-run"),
    ("#1234", "#12345"),
    ("a3f9c2e", "a3f9c2e1"),
    ("AB12", "AB 12"),
    ("@mira", "mira"),
    ("10-12", "10 12"),
]


@pytest.mark.parametrize(("value", "text"), NAMES_FOUND)
def test_an_identifier_is_found_exactly_or_in_another_case_style(value: str, text: str) -> None:
    """Case styles agree; particles, quotes, member access and a version's v do not hide it."""
    assert value_of(value).type == "identifier"
    assert find(value_of(value), text)
    assert may_hold(value_of(value), text)


@pytest.mark.parametrize(("value", "text"), NAMES_ABSENT)
def test_a_part_of_a_longer_identifier_is_another_identifier(value: str, text: str) -> None:
    """An identifier is exact: one more letter, digit or part makes another one."""
    assert not find(value_of(value), text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("March 3", "date"),
        ("15:30", "date"),
        ("午後3時", "date"),
        ("화요일", "date"),
        ("$500", "number"),
        ("三千円", "number"),
        ("two people", "number"),
        ("40 %", "number"),
        ("maxRetryCount", "identifier"),
        ("a/b", "identifier"),
        ("10-12", "identifier"),
        ("7B", "identifier"),
        ("dark-mode", "text"),
        ("Mira", "text"),
        ("会議室B2", "text"),
        ("17 racks", "text"),
        ("March 3 at 10:00", "text"),
        ("", "text"),
    ],
)
def test_a_value_is_read_as_what_it_is(text: str, kind: ValueType) -> None:
    """Dates before numbers, numbers before identifiers, and words where nothing else fits."""
    assert value_of(text).type == kind


@pytest.mark.parametrize(
    ("value", "text", "places"),
    [
        ("blue", "Blue, then BLUE", ["blue", "blue"]),
        (
            "max_retry_count",
            "Use  maxRetryCount or MAX_RETRY_COUNT",
            ["maxretrycount", "max_retry_count"],
        ),
        ("maxRetryCount", "ß: max_retry_count", ["max_retry_count"]),
        ("$500", "$500, then five hundred dollars", ["$500", "five hundred dollars"]),
        ("赤", "赤と赤", ["赤", "赤"]),
    ],
)
def test_places_are_places_in_the_normal_form(value: str, text: str, places: list[str]) -> None:
    """Cues near a value are looked for around its place, so the place must be exact."""
    shown = normal(text)
    found = [shown[place.start : place.end] for place in find(value_of(value), text)]
    assert found == places


@settings(max_examples=50, deadline=None)
@given(
    st.one_of(
        texts,
        st.lists(st.sampled_from([*WORDS, "a-b", "v1.2", "İ", "ﬁ", "3月"]), max_size=5).map(
            " ".join
        ),
    )
)
def test_every_value_is_found_in_itself(value: str) -> None:
    """Whatever a value is read as, its own text holds it, unless it is blank."""
    assert bool(find(value_of(value), value)) is bool(normal(value))


@settings(max_examples=50, deadline=None)
@given(st.sampled_from([*WORDS, "maxRetryCount", "三千円", "New York支店", "v2.3.1"]), texts)
def test_the_cheap_test_never_hides_a_value(value: str, text: str) -> None:
    """Where the careful search finds a value, the quick look lets it through."""
    read = value_of(value)
    assert may_hold(read, text) or not find(read, text)
