"""Every importer by name; a new format is one file and one line here."""

from __future__ import annotations

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.anthropic_messages import AnthropicMessagesImporter
from ctxeng.harness.importers.beam import BeamImporter
from ctxeng.harness.importers.chatgpt import ChatGptImporter
from ctxeng.harness.importers.claude_ai import ClaudeAiImporter
from ctxeng.harness.importers.claude_code import ClaudeCodeImporter
from ctxeng.harness.importers.codex import CodexImporter
from ctxeng.harness.importers.discord import DiscordImporter
from ctxeng.harness.importers.gemini_cli import GeminiCliImporter
from ctxeng.harness.importers.inspect_ai import InspectImporter
from ctxeng.harness.importers.langfuse import LangfuseImporter
from ctxeng.harness.importers.langsmith import LangSmithImporter
from ctxeng.harness.importers.locomo import LocomoImporter
from ctxeng.harness.importers.longmemeval import LongMemEvalImporter
from ctxeng.harness.importers.lost_in_compaction import LostInCompactionImporter
from ctxeng.harness.importers.markdown import MarkdownImporter
from ctxeng.harness.importers.memdaily import MemDailyImporter
from ctxeng.harness.importers.memorybank import MemoryBankImporter
from ctxeng.harness.importers.model import Importer
from ctxeng.harness.importers.oasst import OasstImporter
from ctxeng.harness.importers.openai_chat import OpenAiChatImporter
from ctxeng.harness.importers.realtalk import RealTalkImporter
from ctxeng.harness.importers.sharegpt import ShareGptImporter
from ctxeng.harness.importers.sillytavern import SillyTavernImporter
from ctxeng.harness.importers.slack import SlackImporter
from ctxeng.harness.importers.source import Sample

IMPORTERS: tuple[Importer, ...] = (
    ClaudeCodeImporter(),
    CodexImporter(),
    ChatGptImporter(),
    ClaudeAiImporter(),
    GeminiCliImporter(),
    AnthropicMessagesImporter(),
    OpenAiChatImporter(),
    ShareGptImporter(),
    OasstImporter(),
    SillyTavernImporter(),
    LangfuseImporter(),
    LangSmithImporter(),
    InspectImporter(),
    SlackImporter(),
    DiscordImporter(),
    MarkdownImporter(),
    LocomoImporter(),
    RealTalkImporter(),
    LongMemEvalImporter(),
    BeamImporter(),
    MemDailyImporter(),
    MemoryBankImporter(),
    LostInCompactionImporter(),
)
AUTO = "auto"
_SURE = 0.3


def format_names() -> tuple[str, ...]:
    """Return the names of all formats."""
    return tuple(importer.name for importer in IMPORTERS)


def is_format(name: str) -> bool:
    """Return whether a word is a format's name, or asks for detection."""
    return name == AUTO or name in format_names()


def importer_named(name: str) -> Importer:
    """Return the importer of a format.

    Raises:
        DatasetError: there is none of that name.
    """
    for importer in IMPORTERS:
        if importer.name == name:
            return importer
    raise DatasetError(
        f"format must be {AUTO} or one of {', '.join(format_names())}, got {name!r}. "
        "Use auto to have it told from the content."
    )


def detect(sample: Sample) -> Importer | None:
    """Return the importer that is surest of a sample, None where none is sure enough."""
    scored = [(importer.detect(sample), importer) for importer in IMPORTERS]
    confidence, best = max(scored, key=lambda pair: pair[0])
    return best if confidence >= _SURE else None
