"""ChatGPT data exports: conversations as trees of nodes, in a zip or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

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

_THINKING = ("thoughts", "reasoning_recap")
_KNOWN = [
    "text",
    "multimodal_text",
    "code",
    "execution_output",
    "tether_browsing_display",
    "tether_quote",
    "system_error",
]


class ChatGptImporter(Importer):
    """Reads ChatGPT exports; of every tree the branch that was shown last."""

    name: ClassVar[str] = "chatgpt"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".zip")

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for conversations with a mapping, or an archive that holds them."""
        if any(_is_export(name) for name in sample.source.members):
            return 0.9
        value = sample.value
        found = any("mapping" in mapped(c) for c in listed(value)[:20])
        return 0.95 if found else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every conversation; a damaged one never stops the others."""
        values = (
            [source.member_json(name) for name in source.members if _is_export(name)]
            if source.is_archive
            else [source.json]
        )
        conversations = [c for value in values for c in listed(value)]
        for position, raw in enumerate(conversations):
            conversation = mapped(raw)
            name = first_text(conversation, "conversation_id", "id")
            name = name or f"{source.path.stem}-{position:04d}"
            if not isinstance(conversation.get("mapping"), dict):
                account.skip("damaged conversation")
                account.note(f"conversation {name} has no tree of messages")
                continue
            yield _session(conversation, name, account)


def _is_export(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith("conversations") and last.endswith(".json")


def _session(conversation: Mapping[str, Any], name: str, account: Account) -> SessionDraft:
    nodes = {key: mapped(node) for key, node in conversation["mapping"].items()}
    parents = {key: text_of(node.get("parent")) for key, node in nodes.items()}
    times = {key: _time(node) for key, node in nodes.items()}
    path = path_to_root(parents, text_of(conversation.get("current_node")), newest=times)
    reading = _Reading(Turns(account), text_of(conversation.get("default_model_slug")))
    for key in path:
        reading.node(nodes[key])
    reading.finish()
    on_path = set(path)
    others = [node for key, node in nodes.items() if key not in on_path]
    account.skip("other branch", sum(bool(node.get("message")) for node in others))
    account.skip("empty node", sum(not node.get("message") for node in others))
    if reading.unknown:
        kinds = ", ".join(sorted(reading.unknown))
        account.note(f"conversation {name}: unknown content kept as placeholders: {kinds}")
    return reading.turns.draft(
        name, origin="ChatGPT export", title=text_of(conversation.get("title"))
    )


def _time(node: Mapping[str, Any]) -> float:
    at = moment(mapped(node.get("message")).get("create_time"))
    return at.timestamp() if at else 0.0


class _Reading:
    """One conversation under way: thinking and tool calls wait for what they belong to."""

    def __init__(self, turns: Turns, model: str) -> None:
        self.turns = turns
        self.model = model
        self.thoughts: list[str] = []
        self.open_call = ""
        self.unknown: set[str] = set()

    def node(self, node: Mapping[str, Any]) -> None:
        """Take one node of the active path."""
        message = mapped(node.get("message"))
        if not message:
            self.turns.account.skip("empty node")
            return
        kind = text_of(mapped(message.get("content")).get("content_type"))
        if reason := _hidden(message, kind):
            self.turns.account.skip(reason)
        elif kind in _THINKING:
            self._think(message)
        else:
            self._say(message, kind)

    def finish(self) -> None:
        """Count thinking that led to no answer."""
        self.turns.account.skip("reasoning without an answer", len(self.thoughts))

    def _think(self, message: Mapping[str, Any]) -> None:
        content = mapped(message.get("content"))
        thoughts = [
            joined((text_of(mapped(t).get("summary")), text_of(mapped(t).get("content"))))
            for t in listed(content.get("thoughts"))
        ]
        thought = joined([*thoughts, *map(text_of, listed(content.get("parts")))])
        self.thoughts.append(thought or text_of(content.get("content")))

    def _say(self, message: Mapping[str, Any], kind: str) -> None:
        author = mapped(message.get("author"))
        role = role_of(author.get("role"))
        if role is None:
            self.turns.account.skip("unknown author")
            return
        text, blocks = self._content(message, kind)
        recipient = text_of(message.get("recipient"))
        identity = text_of(message.get("id"))
        if role == "assistant":
            if recipient not in ("", "all"):
                call = {"type": "tool_use", "id": identity, "name": recipient,
                        "input": {"text": text}}  # fmt: skip
                text, blocks, self.open_call = "", [*blocks, call], identity
            blocks = self._thinking() + blocks
        elif role == "tool" and self.open_call:
            result = {"type": "tool_result", "tool_use_id": self.open_call, "content": text}
            text, blocks, self.open_call = "", [result, *blocks], ""
        model = text_of(mapped(message.get("metadata")).get("model_slug")) or self.model
        self.turns.add(
            role,
            text,
            blocks=blocks,
            timestamp=moment(message.get("create_time")),
            message_id=identity,
            meta={"model": model} if model and role == "assistant" else {},
        )

    def _thinking(self) -> list[dict[str, Any]]:
        thoughts, self.thoughts = self.thoughts, []
        self.turns.merged += len(thoughts)
        self.turns.account.merge(len(thoughts))
        return [{"type": "thinking", "thinking": thought} for thought in thoughts if thought]

    def _content(self, message: Mapping[str, Any], kind: str) -> tuple[str, list[dict[str, Any]]]:
        content, metadata = mapped(message.get("content")), mapped(message.get("metadata"))
        texts = [first_text(content, "text", "result")]
        blocks = []
        for part in listed(content.get("parts")):
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict):
                text, block = _part(part)
                texts.append(text)
                blocks += block
        if kind not in _KNOWN:
            self.unknown.add(kind or "none")
        words = joined(texts) or text_of(metadata.get("finished_text"))
        for file in listed(metadata.get("attachments")):
            blocks.append(_file(mapped(file)))
        if not words and not blocks and kind not in _KNOWN:
            blocks.append(placeholder(kind or "unknown"))
        return words, blocks


def _hidden(message: Mapping[str, Any], kind: str) -> str:
    metadata = mapped(message.get("metadata"))
    if message.get("weight") == 0:
        return "weight 0"
    if metadata.get("is_visually_hidden_from_conversation"):
        return "hidden message"
    return "hidden context" if kind == "user_editable_context" else ""


def _part(part: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    kind = text_of(part.get("content_type")) or "unknown"
    if text := text_of(part.get("text")):
        return text, []
    size = part.get("size_bytes")
    name = "image" if kind == "image_asset_pointer" else kind
    return "", [placeholder(name, size=size if isinstance(size, int) else None)]


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    size = file.get("size")
    return placeholder(
        "file",
        media_type=text_of(file.get("mime_type")),
        size=size if isinstance(size, int) else None,
        title=text_of(file.get("name")),
    )
