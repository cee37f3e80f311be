"""Slack exports: channels of named people, as a folder, a zip, or one day."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.harness.importers.conftest import Import, Imported
from tests.support.foreign_chats import SLACK, write_slack, zip_slack


@pytest.fixture(params=["folder", "zip"])
def export(request: pytest.FixtureRequest, imported: Import, tmp_path: Path) -> Imported:
    """Return the import of the export in both of its shapes."""
    if request.param == "zip":
        return imported("auto", zip_slack(tmp_path / "export.zip"))
    return imported("auto", write_slack(tmp_path / "export"))


def test_every_channel_is_a_session_with_the_names_of_its_people(export: Imported) -> None:
    """Ids become display names, else real names, else stay; a bot is an assistant."""
    assert sorted(export.sessions) == ["launch", "予算"]
    launch = export.sessions["launch"].messages
    assert [(m.role, m.speaker) for m in launch] == [
        *(("user", "Mira"), ("user", "U9"), ("user", "Jon Sato")),
        *(("assistant", "Deploys"), ("user", "Mira")),
    ]
    (budget,) = export.sessions["予算"].messages
    assert (budget.role, budget.speaker) == ("assistant", "Deploy Bot")


def test_words_are_what_people_saw(export: Imported) -> None:
    """Mentions, channels, links, entities, rich text blocks and attachments read as text."""
    assert [m.content for m in export.sessions["launch"].messages] == [
        "@Jon Sato what colour for the page (https://x.test/p)? see #予算 @here",
        "",
        "Not red & not pink, please",
        "Build 4471 passed",
        "ship it @Jon Sato:rocket:",
    ]


def test_messages_are_in_order_of_time_over_days_and_replies_name_what_they_answer(
    export: Imported,
) -> None:
    """The second day's file comes first in the zip; the id of a message is its time stamp."""
    launch = export.sessions["launch"].messages
    assert launch[0].message_id == launch[2].meta["reply_to"] == "1709283600.000100"
    assert "reply_to" not in launch[0].meta
    assert launch[0].timestamp == datetime(2024, 3, 1, 9, 0, 0, 100, tzinfo=UTC)
    times = [m.timestamp for m in launch]
    assert times == sorted(times)


def test_files_are_placeholders_with_type_and_size(export: Imported) -> None:
    """A message that is a file alone is kept."""
    assert export.sessions["launch"].messages[1].blocks == (
        {
            "type": "file",
            "media_type": "application/pdf",
            "bytes": 20480,
            "title": "plan.pdf",
        },
    )


def test_every_record_is_accounted_for(export: Imported) -> None:
    """Joins, broadcasts of a reply and what is no message are skipped, each with its reason."""
    report = export.report
    assert (report.read, report.imported) == (9, 6)
    assert report.skipped == {
        "no message: channel_join": 1,
        "repeated message": 1,
        "not a message": 1,
    }


def test_one_day_by_itself_is_one_session(imported: Import, tmp_path: Path) -> None:
    """Without the lists, ids stand in for names."""
    write_slack(tmp_path / "one", {"ops/2024-03-01.json": SLACK["予算/2024-03-01.json"]})
    for path in (tmp_path / "one" / "ops" / "2024-03-01.json", tmp_path / "one" / "ops"):
        found = imported("auto", path)
        assert [(m.speaker, m.content) for m in found.messages] == [("U3", "予算は3,000円です")]


def test_a_damaged_day_is_told_and_the_rest_kept(imported: Import, tmp_path: Path) -> None:
    """One file of an export cut short does not lose the channel."""
    folder = write_slack(tmp_path / "export")
    (folder / "launch" / "2024-03-03.json").write_text('[{"type": "mess', "utf-8")
    found = imported("slack", folder)
    assert len(found.sessions["launch"].messages) == 5
    assert found.report.skipped["damaged file"] == 1
    assert [what for _, what in found.findings if "2024-03-03.json" in what]


def test_an_export_inside_a_folder_is_one_source(imported: Import, tmp_path: Path) -> None:
    """Walking a folder does not take an export apart into its days."""
    write_slack(tmp_path / "backups" / "slack-2024")
    (tmp_path / "backups" / "chat.json").write_text(
        '[{"role": "user", "content": "hello"}]', "utf-8"
    )
    found = imported("auto", tmp_path / "backups")
    assert sorted(found.sessions) == ["chat", "launch", "予算"]
    assert found.report.files == 2


@pytest.mark.parametrize(
    ("post", "words"),
    [
        ({"text": "<@U404> left"}, "@U404 left"),
        ({"text": "<!date^1709283600^{date}|1 March> &lt;b&gt;"}, "@1 March <b>"),
        ({"text": "<mailto:a@x.test|a@x.test>"}, "a@x.test (mailto:a@x.test)"),
        ({"text": None, "blocks": [{"type": "section", "text": {"text": "from a block"}}]},
         "from a block"),
        ({"text": "a < b and c > d"}, "a < b and c > d"),
    ],
)  # fmt: skip
def test_markup_is_read_whatever_it_names(
    post: dict[str, Any], words: str, imported: Import, tmp_path: Path
) -> None:
    """Unknown people keep their id; what is no markup stays."""
    day = [{"type": "message", "user": "U1", "ts": "1709283600.000100", **post}]
    folder = write_slack(tmp_path / "e", {"users.json": [], "c/2024-03-01.json": day})
    assert imported("slack", folder).messages[0].content == words
