"""SillyTavern and TavernAI chats: a header line, then one message a line; rooms of characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.values import listed, mapped, moment, placeholder, text_of
from ctxeng.harness.probes.model import Probe

_SPOKEN = re.compile(r"(\w+ \d{1,2}, \d{4}) (\d{1,2}:\d{2})\s?([ap]m)", re.IGNORECASE)
_STAMP = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s")


class SillyTavernImporter(Importer):
    """Reads role-play chats with one or several characters."""

    name: ClassVar[str] = "sillytavern"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for a header that names user and character, or lines with ``mes``."""
        objects = sample.objects
        if any("mes" in record and "is_user" in record for record in objects[:5]):
            return 0.95
        return 0.7 if objects and "user_name" in objects[0] else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield the one chat of the file."""
        turns, title = Turns(account), ""
        for _, record in json_records(source, account):
            if "mes" in record:
                _take(record, turns)
                continue
            account.skip("header" if "user_name" in record else "no message")
            names = [text_of(record.get("character_name"))]
            names += [text_of(name) for name in listed(record.get("character_names"))]
            title = title or ", ".join(name for name in names if name)
        yield turns.draft(source.path.stem, origin="SillyTavern", title=title)


def _take(record: Mapping[str, Any], turns: Turns) -> None:
    if record.get("is_system"):
        turns.account.skip("hidden from the model")
        return
    extra = mapped(record.get("extra"))
    blocks: list[dict[str, Any]] = []
    if thought := text_of(extra.get("reasoning")):
        blocks.append({"type": "thinking", "thinking": thought})
    for kind in ("image", "file"):
        if extra.get(kind):
            blocks.append(placeholder(kind))
    swipes = listed(record.get("swipes"))
    turns.add(
        "user" if record.get("is_user") else "assistant",
        text_of(record.get("mes")),
        blocks=blocks,
        speaker=text_of(record.get("name")),
        timestamp=_moment(record.get("send_date")),
        meta={"swipes": len(swipes)} if len(swipes) > 1 else {},
    )


def _moment(value: Any) -> datetime | None:
    """Read epoch milliseconds, ISO, and the two spellings with local time; UTC stands in."""
    if isinstance(value, str):
        if found := _SPOKEN.fullmatch(value.strip()):
            spoken = f"{found[1]} {found[2]} {found[3].lower()}"
            try:
                return datetime.strptime(spoken, "%B %d, %Y %I:%M %p").replace(tzinfo=UTC)
            except ValueError:
                return None
        if found := _STAMP.match(value):
            year, month, day, *clock = (int(part) for part in found.groups())
            return moment(f"{year:04}-{month:02}-{day:02}T{':'.join(f'{n:02}' for n in clock)}")
    return moment(value)
