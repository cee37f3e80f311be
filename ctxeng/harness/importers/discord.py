"""Discord channels as DiscordChatExporter writes them in JSON.

Source: the JSON writer of DiscordChatExporter
(github.com/Tyrrrz/DiscordChatExporter, ``Exporting/JsonMessageWriter.cs``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

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

_NOTICES = frozenset(
    {
        *("RecipientAdd", "RecipientRemove", "Call", "ChannelNameChange", "ChannelIconChange"),
        *("ChannelPinnedMessage", "GuildMemberJoin", "UserPremiumGuildSubscription"),
        *("ThreadCreated", "ThreadStarterMessage"),
    }
)


class DiscordImporter(Importer):
    """Reads exported channels, one a file; bots are assistants, everybody else a named user."""

    name: ClassVar[str] = "discord"

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for a channel of a guild with messages."""
        first = sample.first
        is_export = isinstance(first.get("messages"), list) and "id" in mapped(first.get("channel"))
        return 0.95 if is_export and "guild" in first else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every channel of the file."""
        for export in listed(source.json):
            channel = mapped(mapped(export).get("channel"))
            guild = mapped(mapped(export).get("guild"))
            turns = Turns(account)
            for raw in listed(mapped(export).get("messages")):
                _take(mapped(raw), turns)
            names = [text_of(guild.get("name")), text_of(channel.get("name"))]
            topic = text_of(channel.get("topic"))
            yield turns.draft(
                source.path.stem,
                origin="Discord",
                title=" / ".join(name for name in names if name),
                meta={"topic": topic} if topic else {},
            )


def _take(message: Mapping[str, Any], turns: Turns) -> None:
    kind = text_of(message.get("type"))
    if kind in _NOTICES:
        turns.account.skip(f"no message: {kind}")
        return
    author = mapped(message.get("author"))
    answered = text_of(mapped(message.get("reference")).get("messageId"))
    embeds = [mapped(embed) for embed in listed(message.get("embeds"))]
    content = text_of(message.get("content"))
    turns.add(
        "assistant" if author.get("isBot") else "user",
        content or joined(_embed_words(embed) for embed in embeds),
        blocks=[
            *(_file(mapped(file)) for file in listed(message.get("attachments"))),
            *(
                placeholder("sticker", title=text_of(mapped(sticker).get("name")))
                for sticker in listed(message.get("stickers"))
            ),
        ],
        speaker=first_text(author, "nickname", "name", "id"),
        timestamp=moment(message.get("timestamp")),
        message_id=text_of(message.get("id")),
        meta={"reply_to": answered} if answered else {},
    )


def _embed_words(embed: Mapping[str, Any]) -> str:
    fields = [mapped(one) for one in listed(embed.get("fields"))]
    return "\n".join(
        line
        for line in (
            text_of(embed.get("title")),
            text_of(embed.get("description")),
            *(f"{text_of(one.get('name'))}: {text_of(one.get('value'))}" for one in fields),
        )
        if line.strip(": ")
    )


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    size = file.get("fileSizeBytes")
    return placeholder(
        "file",
        size=size if isinstance(size, int) else None,
        title=text_of(file.get("fileName")),
    )
