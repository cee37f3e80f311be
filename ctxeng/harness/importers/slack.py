"""Slack exports: a folder or zip with a folder for every channel and a file for every day.

Source: "How to read Slack data exports" (slack.com/help/articles/220556107) and the ``message``
event reference (docs.slack.dev/reference/events/message). A channel is one session in order of
time; a reply names the message it answers in ``meta``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import (
    first_text,
    joined,
    listed,
    mapped,
    moment,
    placeholder,
    text_of,
)
from ctxeng.harness.probes.model import Probe

_USERS = ("users.json", "org_users.json")
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_STAMP = re.compile(r"\d{9,11}\.\d+")
_DEEPEST = 20
_MARKUP = re.compile(r"<([@#!]?)([^<>|\s][^<>|]*)(?:\|([^<>]*))?>")
_NOTICES = frozenset(
    {
        *("channel_join", "channel_leave", "channel_archive", "channel_unarchive"),
        *("channel_topic", "channel_purpose", "channel_name", "channel_convert_to_private"),
        *("group_join", "group_leave", "group_archive", "group_topic", "group_purpose"),
        *("bot_add", "bot_remove", "pinned_item", "reminder_add", "tombstone"),
        *("message_deleted", "file_comment", "huddle_thread"),
    }
)


class SlackImporter(Importer):
    """Reads Slack exports, a session for every channel and direct conversation."""

    name: ClassVar[str] = "slack"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".zip")

    def detect(self, sample: Sample) -> float:
        """Return the confidence by the lists and days of an export, or by a day's messages."""
        source = sample.source
        if source.is_archive or source.path.is_dir():
            days = _days(source.members)
            is_channel = len(days) == len(source.members)
            return 0.95 if days and (is_channel or _has_lists(source.members)) else 0.0
        first = sample.first
        is_message = first.get("type") == "message" and ("user" in first or "bot_id" in first)
        return 0.9 if is_message and _STAMP.fullmatch(text_of(first.get("ts"))) else 0.0

    def claims_folder(self, folder: Path) -> bool:
        """Return whether a folder has the list of members, or is one channel's days."""
        if any((folder / name).is_file() for name in _USERS):
            return any((folder / name).is_file() for name in _LISTS) or any(
                _DAY.fullmatch(file.name) for file in folder.glob("*/*.json")
            )
        files = [file.name for file in folder.iterdir()]
        return bool(files) and all(_DAY.fullmatch(name) for name in files)

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every channel."""
        if not source.members:
            posts = _posts(source.json, account)
            yield _draft(source.path.parent.name or "channel", posts, _Names(), account)
            return
        names = _Names.of(source, account)
        days = _days(source.members)
        if not days:
            raise DatasetError(
                f"a Slack export must hold a folder of days (YYYY-MM-DD.json) for every channel, "
                f"got none ({source.name}). Unpack the export as it is."
            )
        for channel, members in groupby(days, key=lambda day: day.rpartition("/")[0]):
            posts = []
            for member in members:
                try:
                    posts += _posts(source.member_json(member), account)
                except DatasetError as error:
                    account.note(str(error))
                    account.skip("damaged file")
            yield _draft(channel.rpartition("/")[2] or source.path.stem, posts, names, account)


@dataclass(slots=True)
class _Names:
    """Names of members and channels by id, bots, and what each folder's conversation is."""

    people: dict[str, str] = field(default_factory=dict)
    bots: set[str] = field(default_factory=set)
    channels: dict[str, str] = field(default_factory=dict)
    about: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Source, account: Account) -> _Names:
        """Read the lists of an export; one that is missing or damaged leaves ids as names."""
        names = cls()
        for member in source.members:
            base = member.rpartition("/")[2]
            if base not in (*_USERS, *_LISTS):
                continue
            try:
                records = [mapped(record) for record in listed(source.member_json(member))]
            except DatasetError as error:
                account.note(str(error))
                continue
            for record in records:
                names.add(record, is_person=base in _USERS)
        return names

    def add(self, record: Mapping[str, Any], *, is_person: bool) -> None:
        """Take one member or conversation."""
        identity = text_of(record.get("id"))
        if not is_person:
            name = text_of(record.get("name")) or identity
            self.channels[identity] = name
            self.about[name] = record
            return
        profile = mapped(record.get("profile"))
        self.people[identity] = (
            first_text(profile, "display_name", "real_name")
            or first_text(record, "real_name", "name")
            or identity
        )
        if record.get("is_bot"):
            self.bots.add(identity)

    def plain(self, text: str) -> str:
        """Return Slack's markup as the words a person sees."""
        return html.unescape(_MARKUP.sub(self._shown, text))

    def _shown(self, match: re.Match[str]) -> str:
        sign, target, label = match.groups()
        if sign == "@":
            return f"@{label or self.people.get(target, target)}"
        if sign == "#":
            return f"#{label or self.channels.get(target, target)}"
        if sign == "!":
            return f"@{label.removeprefix('@') if label else target.partition('^')[0]}"
        return f"{label} ({target})" if label and label != target else target


def _has_lists(members: Sequence[str]) -> bool:
    return any(member.rpartition("/")[2] in (*_USERS, *_LISTS) for member in members)


def _days(members: Sequence[str]) -> list[str]:
    return [member for member in members if _DAY.fullmatch(member.rpartition("/")[2])]


def _posts(value: Any, account: Account) -> list[Mapping[str, Any]]:
    posts: list[Mapping[str, Any]] = []
    for raw in listed(value):
        if isinstance(raw, dict) and _STAMP.fullmatch(text_of(raw.get("ts"))):
            posts.append(raw)
        else:
            account.skip("not a message")
    return posts


def _draft(
    channel: str, posts: list[Mapping[str, Any]], names: _Names, account: Account
) -> SessionDraft:
    turns, seen = Turns(account), set[tuple[str, str]]()
    for post in sorted(posts, key=lambda post: float(post["ts"])):
        subtype = text_of(post.get("subtype"))
        key = (text_of(post.get("ts")), first_text(post, "user", "bot_id", "username"))
        if subtype in _NOTICES:
            account.skip(f"no message: {subtype}")
        elif key in seen:
            account.skip("repeated message")
        else:
            seen.add(key)
            _take(post, turns, names)
    about = names.about.get(channel, {})
    purpose = text_of(mapped(about.get("purpose")).get("value"))
    return turns.draft(
        channel,
        origin="Slack",
        title=text_of(about.get("name")) or channel,
        meta={"purpose": names.plain(purpose)} if purpose else {},
    )


def _take(post: Mapping[str, Any], turns: Turns, names: _Names) -> None:
    user = text_of(post.get("user"))
    profile = mapped(post.get("bot_profile") or post.get("user_profile"))
    stamp, thread = text_of(post.get("ts")), text_of(post.get("thread_ts"))
    is_bot = "bot_id" in post or user in names.bots
    turns.add(
        "assistant" if is_bot else "user",
        names.plain(_words(post)),
        blocks=[_file(mapped(file)) for file in listed(post.get("files"))],
        speaker=names.people.get(user)
        or first_text(post, "username")
        or first_text(profile, "display_name", "real_name", "name")
        or user
        or text_of(post.get("bot_id")),
        timestamp=moment(stamp),
        message_id=stamp,
        meta={"reply_to": thread} if thread and thread != stamp else {},
    )


def _words(post: Mapping[str, Any]) -> str:
    """Return the text; where there is none, that of its blocks, else of its attachments."""
    if text := text_of(post.get("text")):
        return text
    if text := "".join(_block_words(post.get("blocks"))):
        return text.strip()
    return joined(
        first_text(mapped(one), "text", "fallback", "title")
        for one in listed(post.get("attachments"))
    )


def _block_words(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the words of blocks: sections with ``text``, rich text with nested ``elements``."""
    for raw in listed(value) if depth < _DEEPEST else ():
        block = mapped(raw)
        kind, text = block.get("type"), block.get("text")
        if kind == "user":
            yield f"<@{text_of(block.get('user_id'))}>"
        elif kind == "link" and not text:
            yield text_of(block.get("url"))
        elif kind == "emoji":
            yield f":{text_of(block.get('name'))}:"
        yield text_of(text) or text_of(mapped(text).get("text"))
        yield from _block_words(block.get("elements"), depth + 1)
        if kind in ("section", "rich_text_section", "header"):
            yield "\n"


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    size = file.get("size")
    return placeholder(
        "file",
        media_type=text_of(file.get("mimetype")),
        size=size if isinstance(size, int) else None,
        title=first_text(file, "name", "title"),
    )
