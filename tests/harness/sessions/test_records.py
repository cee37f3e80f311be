"""Messages as records: what a line may hold, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.harness.sessions.records import message_from, message_record, parse_timestamp
from tests.harness.sessions.test_io import AT, FULL, MESSAGE


@pytest.mark.parametrize(
    ("given_text", "wanted"),
    [
        ("2026-03-02T09:14:00Z", AT),
        ("2026-03-02T09:14:00+00:00", AT),
        ("2026-03-02T18:14:00+09:00", AT),
        ("2026-03-02T09:14:00", AT),
        ("2026-03-02", datetime(2026, 3, 2, tzinfo=UTC)),
        ("2026-13-02T09:14:00Z", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (1767261600, None),
        (["2026-03-02"], None),
    ],
)
def test_a_timestamp_is_aware_or_none(given_text: object, wanted: datetime | None) -> None:
    """Without a zone UTC stands in; what is no ISO text is no time."""
    found = parse_timestamp(given_text)
    assert found == wanted
    assert found is None or found.tzinfo is not None


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ([], "a message must be a JSON object"),
        ("text", "a message must be a JSON object"),
        (None, "a message must be a JSON object"),
        ({**MESSAGE, "seq": "0"}, "seq must be an integer"),
        ({**MESSAGE, "seq": True}, "seq must be an integer"),
        ({**MESSAGE, "seq": -1}, "seq must be an integer, 0 or more, got -1"),
        ({"role": "user", "content": "hi"}, "seq must be an integer, 0 or more, got None"),
        ({**MESSAGE, "role": "human"}, "role must be one of user, assistant, tool, system"),
        ({**MESSAGE, "role": ["user"]}, "role must be one of"),
        ({**MESSAGE, "content": None}, "content must be text, got None"),
        ({**MESSAGE, "content": ["hi"]}, "content must be text"),
        ({**MESSAGE, "speaker": 1}, "speaker must be text, got 1"),
        ({**MESSAGE, "message_id": {}}, "message_id must be text"),
        (
            {**MESSAGE, "timestamp": "soon"},
            "timestamp must be an ISO 8601 date and time, got 'soon'",
        ),
        ({**MESSAGE, "timestamp": 5}, "timestamp must be an ISO 8601"),
        ({**MESSAGE, "blocks": {}}, "blocks must be a list of objects"),
        ({**MESSAGE, "blocks": ["x"]}, "blocks must be a list of objects"),
        ({**MESSAGE, "meta": []}, "meta must be an object"),
        ({**MESSAGE, "text": "hi"}, "a message's keys must be among"),
        ({**MESSAGE, "content": "x" * 500, "role": "y" * 500}, "…"),
    ],
)
def test_a_message_that_breaks_a_rule_is_refused_with_its_place(record: Any, fault: str) -> None:
    """The error names the field, the rule, what was found, and file and line."""
    with pytest.raises(DatasetError) as caught:
        message_from(record, where="file:7")
    assert fault in str(caught.value)
    assert "(file:7)" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_message_record_reads_back_as_the_message() -> None:
    """The record and the reader are inverse, field by field."""
    for message in FULL.messages:
        assert message_from(message_record(message), where="x") == message
