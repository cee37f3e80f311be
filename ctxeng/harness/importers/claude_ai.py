"""Claude.ai exports: ``conversations.json``, and single chats as the site itself gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ctxeng.harness.importers.anthropic_blocks import read_content
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.trees import path_to_root
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

_QUIET = ("token_budget", "flag")


class ClaudeAiImporter(Importer):
    """Reads Claude.ai exports."""

    name: ClassVar[str] = "claude-ai"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".zip")

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for conversations with ``chat_messages``, or an archive of them."""
        if sample.source.is_archive and "conversations.json" in sample.source.members:
            conversations = listed(sample.source.member_json("conversations.json"))
            return 0.95 if any("chat_messages" in mapped(c) for c in conversations[:20]) else 0.0
        found = any("chat_messages" in mapped(c) for c in listed(sample.value)[:20])
        return 0.95 if found else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every conversation."""
        value = source.member_json("conversations.json") if source.is_archive else source.json
        for position, raw in enumerate(listed(value)):
            conversation = mapped(raw)
            name = text_of(conversation.get("uuid")) or f"{source.path.stem}-{position:04d}"
            if not isinstance(conversation.get("chat_messages"), list):
                account.skip("damaged conversation")
                account.note(f"conversation {name} has no messages")
                continue
            turns = Turns(account)
            for message in _active(conversation, account):
                _take(message, turns)
            yield turns.draft(
                name, origin="Claude.ai export", title=text_of(conversation.get("name"))
            )


def _active(conversation: Mapping[str, Any], account: Account) -> Sequence[dict[str, Any]]:
    """Return the messages of the branch shown last; all of them where no parents are given."""
    messages = [mapped(message) for message in conversation["chat_messages"]]
    if not any("parent_message_uuid" in message for message in messages):
        return messages
    by_id = {text_of(m.get("uuid")) or str(i): m for i, m in enumerate(messages)}
    parents = {key: text_of(m.get("parent_message_uuid")) for key, m in by_id.items()}
    leaf = text_of(conversation.get("current_leaf_message_uuid"))
    path = path_to_root(parents, leaf, newest={key: float(i) for i, key in enumerate(by_id)})
    account.skip("other branch", len(by_id) - len(path))
    account.skip("repeated message", len(messages) - len(by_id))
    return [by_id[key] for key in path]


def _take(message: Mapping[str, Any], turns: Turns) -> None:
    role = role_of(message.get("sender"))
    if role is None:
        turns.account.skip("unknown sender")
        return
    given = message.get("content")
    blocks = [b for b in given if mapped(b).get("type") not in _QUIET] if isinstance(
        given, list) else given  # fmt: skip
    content = read_content(blocks)
    for kind in content.unknown:
        turns.account.note(f"a block of unknown type {kind!r} is kept as it is")
    has_words = bool(content.text) or any(b["type"] != "thinking" for b in content.blocks)
    text = content.text if has_words else text_of(message.get("text"))
    turns.add(
        role,
        text,
        blocks=[*content.blocks, *_attachments(message)],
        timestamp=moment(message.get("created_at")),
        message_id=text_of(message.get("uuid")),
    )


def _attachments(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return pasted texts in full, and files as placeholders."""
    found: list[dict[str, Any]] = []
    for raw in listed(message.get("attachments")):
        attachment = mapped(raw)
        name = text_of(attachment.get("file_name")) or "attachment"
        if extracted := text_of(attachment.get("extracted_content")):
            found.append({"type": "text", "text": joined((f"[attachment: {name}]", extracted))})
        else:
            size = attachment.get("file_size")
            found.append(
                placeholder(
                    "file",
                    media_type=text_of(attachment.get("file_type")),
                    size=size if isinstance(size, int) else None,
                    title=name,
                )
            )
    for raw in listed(message.get("files")):
        file = mapped(raw)
        kind = text_of(file.get("file_kind")) or "file"
        found.append(placeholder(kind, title=first_text(file, "file_name")))
    return found
