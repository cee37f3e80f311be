"""Inspect evaluation logs: ``.eval`` archives and JSON logs, a session for every sample.

Source: "Log Files" in the documentation of Inspect (inspect.aisi.org.uk/eval-logs.html) and the
``EvalSample`` schema. Members of an archive may be compressed with Zstandard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.openai_shape import read_message
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import first_text, listed, mapped, text_of
from ctxeng.harness.probes.model import Probe

_SAMPLE = re.compile(r"(?:.*/)?samples/[^/]+\.json")
_HEADERS = ("header.json", "_journal/start.json")
_ATTACHMENT = re.compile(r"(?:attachment|tc)://([0-9a-f]{16,64})")
_DEEPEST = 50


class InspectImporter(Importer):
    """Reads Inspect logs."""

    name: ClassVar[str] = "inspect-ai"
    suffixes: ClassVar[tuple[str, ...]] = (".eval", ".json")

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for an archive with a log's header, or a log with its task."""
        members = sample.source.members if sample.source.is_archive else ()
        if any(name in members for name in _HEADERS):
            return 0.95
        first = sample.first
        is_log = "task" in mapped(first.get("eval")) and "status" in first
        return 0.95 if is_log else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield a session for every sample."""
        if not source.is_archive:
            log = mapped(source.json)
            for sample in listed(log.get("samples")):
                yield _draft(source, mapped(log.get("eval")), mapped(sample), account)
            return
        header = next((name for name in _HEADERS if name in source.members), "")
        about = mapped(mapped(source.member_json(header)).get("eval")) if header else {}
        for name in filter(_SAMPLE.fullmatch, source.members):
            try:
                sample = mapped(source.member_json(name))
            except DatasetError as error:
                account.skip("damaged sample")
                account.note(str(error))
                continue
            yield _draft(source, about, sample, account)


def _draft(
    source: Source, about: Mapping[str, Any], sample: Mapping[str, Any], account: Account
) -> SessionDraft:
    attachments = mapped(sample.get("attachments"))
    turns = Turns(account)
    raws = listed(sample.get("messages")) or _shortest(sample)
    for raw in raws:
        message = read_message(_with_attachments(raw, attachments))
        if message is None:
            account.skip("empty message")
        else:
            turns.keep(message)
    number, epoch = text_of(sample.get("id")), text_of(sample.get("epoch"))
    name = "-".join(part for part in (source.path.stem, number, epoch) if part)
    return turns.draft(name, origin="Inspect", title=first_text(about, "task"),
                       meta=_meta(about, sample))  # fmt: skip


def _shortest(sample: Mapping[str, Any]) -> list[Any]:
    """Return input and output of a sample that kept no messages."""
    given = sample.get("input")
    asked = [{"role": "user", "content": given}] if isinstance(given, str) else listed(given)
    choices = [mapped(choice) for choice in listed(mapped(sample.get("output")).get("choices"))]
    return [*asked, *(choice.get("message") for choice in choices[:1])]


def _with_attachments(value: Any, attachments: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value with every reference to an attachment replaced by its words."""
    if isinstance(value, str):
        if "://" not in value:
            return value
        return _ATTACHMENT.sub(lambda m: text_of(attachments.get(m[1])) or m[0], value)
    if not attachments or depth == _DEEPEST:
        return value
    if isinstance(value, dict):
        return {k: _with_attachments(v, attachments, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_attachments(inner, attachments, depth + 1) for inner in value]
    return value


def _meta(about: Mapping[str, Any], sample: Mapping[str, Any]) -> dict[str, Any]:
    scores = {name: mapped(score).get("value") for name, score in
              mapped(sample.get("scores")).items()}  # fmt: skip
    found = {
        "model": text_of(about.get("model")),
        "target": sample.get("target"),
        "scores": scores,
        "error": text_of(mapped(sample.get("error")).get("message")),
    }
    return {key: value for key, value in found.items() if value}
