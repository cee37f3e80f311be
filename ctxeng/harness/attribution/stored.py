"""A finished run read back into the values it was measured with: probes, artifacts, prompts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import orjson

from ctxeng.core.artifacts import Artifact, MemoryItem
from ctxeng.core.context import Block, Context, LeftOut
from ctxeng.core.messages import Message
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.results.database import reading, selected, table_rows
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.results.tables import TABLES, Row

Tables = Mapping[str, Sequence[Row]]
_OF_PROBE = ("cells", "contexts", "probes", "paraphrases")
_OF_SESSION = ("artifacts", "inputs", "messages")
Unit = tuple[str, str, int]  # arm, session, summariser replicate


@dataclass(frozen=True)
class StoredRun:
    """The tables of one run, with the values that attribution works on.

    Args:
        manifest: of the run; its ``arms`` carry every setting.
        tables: rows by table name; a table that an older run lacks may be missing.
    """

    manifest: Mapping[str, Any]
    tables: Tables
    _made: dict[Unit, tuple[Artifact, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, run: RunFolder) -> StoredRun:
        """Return a finished run, every table loaded."""
        tables = {name: table_rows(run, name) for name in TABLES}
        return cls(manifest=run.manifest(), tables=tables)

    @classmethod
    def open_probe(cls, run: RunFolder, probe_id: str) -> StoredRun:
        """Return what a run holds of one probe and its session: a large run is not read whole."""
        tables = {name: table_rows(run, name, probe_id=probe_id) for name in _OF_PROBE}
        sessions = dict.fromkeys(cell["session_id"] for cell in tables["cells"])
        for name in _OF_SESSION:
            tables[name] = [row for s in sessions for row in table_rows(run, name, session_id=s)]
        return cls(manifest=run.manifest(), tables=tables)

    @classmethod
    def by_session(cls, run: RunFolder, session_ids: Iterable[str]) -> Iterator[StoredRun]:
        """Yield what a run holds of each session: a large run is read piece by piece."""
        manifest = run.manifest()
        with reading(run) as connection:
            for session_id in session_ids:
                tables = {
                    name: selected(connection, run, name, session_id=session_id)
                    for name in (*_OF_PROBE, *_OF_SESSION)
                }
                yield cls(manifest=manifest, tables=tables)

    @property
    def cells(self) -> Sequence[Row]:
        """Return the rows of the cells table."""
        return self.tables["cells"]

    @cached_property
    def probes(self) -> dict[tuple[str, str], Probe]:
        """Return the probes by session and probe id."""
        read = (_probe(row) for row in self.tables.get("probes", ()))
        return {(probe.session_id, probe.probe_id): probe for probe in read}

    @cached_property
    def messages(self) -> dict[str, tuple[Message, ...]]:
        """Return what was said, by session, in order of seq."""
        found: dict[str, list[Message]] = defaultdict(list)
        for row in self.tables.get("messages", ()):
            found[row["session_id"]].append(_message(row))
        return {name: tuple(sorted(said, key=lambda m: m.seq)) for name, said in found.items()}

    @cached_property
    def settings(self) -> dict[str, StrategySettings]:
        """Return the settings of every arm."""
        return {
            name: StrategySettings.model_validate(arm["settings"])
            for name, arm in self.manifest["arms"].items()
        }

    def artifacts(self, arm: str, session_id: str, replicate: int) -> tuple[Artifact, ...]:
        """Return every artifact version an arm wrote about a session, in order of writing."""
        unit = (arm, session_id, replicate)
        if unit not in self._made:
            found = (_artifact(row) for row in self._grouped("artifacts").get(unit, ()))
            self._made[unit] = tuple(found)
        return self._made[unit]

    def inputs(self, arm: str, session_id: str, replicate: int) -> Sequence[Row]:
        """Return what the arm's compactor was handed, in the order of asking."""
        return self._grouped("inputs").get((arm, session_id, replicate), ())

    def paraphrases(self, cell: Row) -> dict[str, bool]:
        """Return which artifacts a judge found to state the cell's fact, by artifact id."""
        return self._paraphrases.get((*unit_of(cell), cell["probe_id"]), {})

    @cached_property
    def _paraphrases(self) -> dict[tuple[str, str, int, str], dict[str, bool]]:
        found: dict[tuple[str, str, int, str], dict[str, bool]] = defaultdict(dict)
        for row in self.tables.get("paraphrases", ()):
            if row["states_it"] is not None:
                found[(*unit_of(row), row["probe_id"])][row["artifact_id"]] = row["states_it"]
        return found

    def context(self, cell: Row) -> Context | None:
        """Return the prompt a cell's question was put in; None where the run does not hold it."""
        arm, session_id, replicate = unit_of(cell)
        row = self._contexts.get((arm, session_id, replicate, cell["probe_id"]))
        probe = self.probes.get((session_id, cell["probe_id"]))
        if row is None or probe is None:
            return None
        made = {a.artifact_id: a for a in self.artifacts(arm, session_id, replicate)}
        said = {m.seq: m for m in self.messages.get(session_id, ())}
        blocks = [_block(block, said, made, probe) for block in orjson.loads(row["blocks"])]
        return Context(
            conversation_id=_conversation(row),
            as_of=row["as_of"],
            blocks=tuple(blocks),
            left_out=tuple(_left_out(out) for out in orjson.loads(row["left_out"])),
            budget_tokens=row["budget_tokens"],
            reserve_tokens=row["reserve_tokens"] or 0,
            gap_seqs=tuple(orjson.loads(row["gap_seqs"] or "[]")),
            retrieval=orjson.loads(row["retrieval"] or "{}"),
            skipped=tuple(orjson.loads(row["skipped"] or "[]")),
        )

    @cached_property
    def _contexts(self) -> dict[tuple[str, str, int, str], Row]:
        found = self.tables.get("contexts", ())
        return {(*unit_of(row), row["probe_id"]): row for row in found}

    def _grouped(self, table: str) -> Mapping[Unit, Sequence[Row]]:
        return self._by_unit.get(table, {})

    @cached_property
    def _by_unit(self) -> dict[str, dict[Unit, list[Row]]]:
        return {name: _by_unit(self.tables.get(name, ())) for name in ("artifacts", "inputs")}


def unit_of(row: Row) -> Unit:
    """Return the arm, session and summariser replicate that a row of any table belongs to."""
    replicate = row.get("summariser_replicate", row.get("replicate"))
    return row["arm"], row["session_id"], replicate or 0


def _by_unit(found: Iterable[Row]) -> dict[Unit, list[Row]]:
    units: dict[Unit, list[Row]] = defaultdict(list)
    for row in found:
        units[unit_of(row)].append(row)
    return units


def _conversation(row: Row) -> str:
    return f"{row['arm']}/{row.get('replicate') or 0}/{row['session_id']}"


def _probe(row: Row) -> Probe:
    return Probe(
        probe_id=row["probe_id"],
        session_id=row["session_id"],
        question=row["question"],
        kind=row["kind"],
        evidence=tuple(Span(from_seq=a, to_seq=b) for a, b in orjson.loads(row["evidence"])),
        expect=tuple(tuple(group) for group in orjson.loads(row["expect"])),
        forbid=tuple(orjson.loads(row["forbid"])),
        answerable=row["answerable"],
        ask_at_seq=row["ask_at_seq"],
        language=row["language"] or "und",
        category=row["category"],
    )


def _message(row: Row) -> Message:
    stamp = row["timestamp"]
    return Message(
        seq=row["seq"],
        role=row["role"],
        content=row["text"] or "",
        speaker=row["speaker"],
        tokens=row["tokens"],
        timestamp=datetime.fromisoformat(stamp) if stamp else None,
    )


_PLAIN = ("artifact_id", "kind", "level", "from_seq", "to_seq", "read_from_seq", "read_to_seq",
          "visible_from_seq", "superseded_from_seq", "version", "status", "text", "tokens", "model",
          "prompt_hash", "lossless")  # fmt: skip


def _artifact(row: Row) -> Artifact:
    items = orjson.loads(row["items"] or "[]")
    return Artifact(
        **{name: row[name] for name in _PLAIN},
        conversation_id=_conversation(row),
        parents=tuple(orjson.loads(row["parents"] or "[]")),
        items=tuple(
            MemoryItem(**{**item, "source_seqs": tuple(item["source_seqs"])}) for item in items
        ),
        meta=orjson.loads(row["meta"] or "{}"),
    )


def _block(
    row: Mapping[str, Any],
    said: Mapping[int, Message],
    made: Mapping[str, Artifact],
    probe: Probe,
) -> Block:
    """Return a block with the text that other tables hold; empty where none does."""
    seqs = tuple(seq for low, high in row["seqs"] for seq in range(low, high + 1))
    ids = tuple(row["artifacts"])
    message = said.get(seqs[0]) if seqs and not ids else None
    text = row.get("text")
    if text is None and row["kind"] == "question":
        text = probe.question
    elif text is None and message is not None:
        text = message.text
    elif text is None:
        text = "\n".join(made[i].text for i in ids if i in made)
    elif message is not None:
        message = message.with_(content=text)
    return Block(
        kind=row["kind"],
        text=text,
        tokens=row["tokens"],
        message_seqs=seqs,
        artifact_ids=ids,
        message=message,
        shortened=bool(row.get("shortened")),
        cache_breakpoint=bool(row.get("cache_breakpoint")),
        meta={name: row[name] for name in ("group", "score") if name in row},
    )


def _left_out(row: Mapping[str, Any]) -> LeftOut:
    return LeftOut(
        kind=row["kind"],
        reason=row["reason"],
        tokens=row["tokens"],
        message_seqs=tuple(row["seqs"]),
        artifact_ids=tuple(row["artifacts"]),
        detail=row["detail"],
    )
