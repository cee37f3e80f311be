"""Probe sets on disk: JSON Lines, one probe a line; every fault of a file is told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Session
from ctxeng.harness.probes.freezing import thaw_fault
from ctxeng.harness.probes.model import Probe, ProbeKind, Span
from ctxeng.harness.sessions.io import atomic_file
from ctxeng.harness.sessions.records import encode
from ctxeng.harness.sessions.text import json_fault, lines, open_utf8, parse_json

KINDS: tuple[str, ...] = get_args(ProbeKind)
STATUSES = ("draft", "accepted", "excluded")
_REQUIRED = ("id", "session_id", "question", "kind")
_OPTIONAL = (
    "evidence",
    "expect",
    "forbid",
    "answerable",
    "ask_at_seq",
    "language",
    "author",
    "status",
    "category",
    "frozen",
    "note",
)
_TEXTS = ("language", "author", "status", "note")
_SHOWN = 8


def probe_record(probe: Probe) -> dict[str, Any]:
    """Return a probe as the JSON object that stands in the file."""
    record: dict[str, Any] = {
        "id": probe.probe_id,
        "session_id": probe.session_id,
        "question": probe.question,
        "kind": probe.kind,
        "evidence": [[span.from_seq, span.to_seq] for span in probe.evidence],
        "expect": [list(group) for group in probe.expect],
        "forbid": list(probe.forbid),
        "answerable": probe.answerable,
        "language": probe.language,
        "author": probe.author,
        "status": probe.status,
    }
    optional = {
        "ask_at_seq": probe.ask_at_seq,
        "category": probe.category,
        "frozen": probe.frozen,
        "note": probe.note or None,
    }
    return record | {key: value for key, value in optional.items() if value is not None}


def write_probes(probes: Iterable[Probe], path: Path) -> Path:
    """Write probes to ``path``, atomically, and return the path."""
    with atomic_file(path) as stream:
        for probe in probes:
            stream.write(encode(probe_record(probe)) + b"\n")
    return path


def read_probes(path: Path) -> list[Probe]:
    """Return the probes of a file, in file order.

    Raises:
        DatasetError: the file cannot be read, or some line is at fault; names every line.
    """
    probes: list[Probe] = []
    faults: list[str] = []
    seen: dict[str, int] = {}
    try:
        stream = open_utf8(path)
    except OSError as error:
        raise DatasetError(
            f"a probe file must be readable, got {path} ({error.strerror or error}). "
            "Check the path."
        ) from None
    with stream:
        for number, line in lines(stream):
            if not line.strip():
                continue
            found, probe = _read_line(line)
            if probe is not None and probe.probe_id in seen:
                found = [f"id must be unique, got {probe.probe_id!r} as in line "
                         f"{seen[probe.probe_id]}. Rename one."]  # fmt: skip
            faults += [f"{path}:{number}: {fault}" for fault in found]
            if probe is not None and not found:
                seen[probe.probe_id] = number
                probes.append(probe)
    if faults:
        raise DatasetError(_all(faults))
    return probes


def probe_lines(path: Path) -> dict[str, int]:
    """Return for each probe id of a readable file the line it stands in, from 1."""
    with open_utf8(path) as stream:
        numbered = [(n, line) for n, line in lines(stream) if line.strip()]
    return {parse_json(line)["id"]: number for number, line in numbered}


def probes_of(
    datasets: Sequence[Path], loaded: Sequence[Sequence[Session]], files: Sequence[Path] | None
) -> list[list[Probe]]:
    """Return the probes of each dataset: of ``files``, else of its own ``probes.jsonl``, if any.

    Raises:
        DatasetError: a file is at fault, or a probe asks about a session of no dataset.
    """
    if files is None:
        files = [file for dataset in datasets if (file := dataset / "probes.jsonl").is_file()]
    probes = [probe for file in files for probe in read_probes(file)]
    check_against(probes, [session for sessions in loaded for session in sessions])
    ids = [{session.session_id for session in sessions} for sessions in loaded]
    return [[probe for probe in probes if probe.session_id in own] for own in ids]


def check_against(probes: Iterable[Probe], sessions: Sequence[Session]) -> None:
    """Check that every probe names a session and seqs that exist.

    Raises:
        DatasetError: some probe does not; names every one.
    """
    lengths = {session.session_id: len(session.messages) for session in sessions}
    faults = [fault for probe in probes for fault in _mismatches(probe, lengths)]
    if faults:
        raise DatasetError(_all(faults))


def _mismatches(probe: Probe, lengths: Mapping[str, int]) -> list[str]:
    where = f"probe {probe.probe_id}"
    length = lengths.get(probe.session_id)
    if length is None:
        known = ", ".join(list(lengths)[:3]) or "none"
        return [
            f"session_id must name a loaded session, got {probe.session_id!r} ({where}; "
            f"there are {known}{' …' if len(lengths) > 3 else ''}). "
            "Add the session or remove the probe."
        ]
    seqs = [seq for span in probe.evidence for seq in (span.from_seq, span.to_seq)]
    if probe.ask_at_seq is not None:
        seqs.append(probe.ask_at_seq)
    return [
        f"seqs must lie in 0..{length - 1}, got {seq} ({where}, session {probe.session_id}). "
        "Mend the probe."
        for seq in dict.fromkeys(seqs)
        if not 0 <= seq < length
    ]


def probe_from(record: Mapping[str, Any]) -> Probe:
    """Return the probe a record describes; the record must be free of faults."""
    category = record.get("category")
    return Probe(
        probe_id=record["id"],
        session_id=record["session_id"],
        question=record["question"],
        kind=record["kind"],
        evidence=tuple(Span(from_seq=a, to_seq=b) for a, b in record.get("evidence", [])),
        expect=tuple(tuple(group) for group in record.get("expect", [])),
        forbid=tuple(record.get("forbid", [])),
        answerable=record.get("answerable", True),
        ask_at_seq=record.get("ask_at_seq"),
        category=None if category is None else str(category),
        frozen=record.get("frozen"),
        **{key: record[key] for key in _TEXTS if key in record},
    )


def faults_of(record: Any) -> list[str]:
    """Return what is wrong with a record, each as one sentence with its remedy."""
    if not isinstance(record, dict):
        return [f"a probe must be a JSON object, got {type(record).__name__}. Mend the line."]
    faults = [
        f"{key} must be text that is not empty, got {record.get(key)!r}. Add it."
        for key in _REQUIRED
        if not (isinstance(record.get(key), str) and record[key].strip())
        and not (key == "kind" and key in record)  # told below, with the kinds there are
    ]
    unknown = sorted(record.keys() - set(_REQUIRED) - set(_OPTIONAL))
    if unknown:
        faults.append(f"keys must be known, got {', '.join(unknown)}. Rename or remove them.")
    faults += _value_faults(record)
    return faults or _rule_faults(record)


def _read_line(line: bytes) -> tuple[list[str], Probe | None]:
    try:
        record = parse_json(line)
    except ValueError as error:
        got = f"{line[:40]!r} ({json_fault(error)})"
        return [f"a line must be JSON in UTF-8, got {got}. Mend the line."], None
    faults = faults_of(record)
    if faults:
        return faults, None
    probe = probe_from(record)
    changed = thaw_fault(probe)
    return [changed] if changed else [], probe


def _value_faults(record: Mapping[str, Any]) -> list[str]:
    checks: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
        ("kind", f"one of {', '.join(KINDS)}", lambda v: v in KINDS),
        ("evidence", "a list of [from_seq, to_seq] pairs with from <= to", _is_spans),
        ("expect", "a list of lists of text that is not empty", _is_groups),
        ("forbid", "a list of text", _is_texts),
        ("answerable", "true or false", lambda v: isinstance(v, bool)),
        ("ask_at_seq", "an integer, 0 or more", lambda v: v is None or _is_seq(v)),
        ("status", f"one of {', '.join(STATUSES)}", lambda v: v in STATUSES),
        ("language", "text", lambda v: isinstance(v, str)),
        ("author", "text", lambda v: isinstance(v, str)),
        ("note", "text", lambda v: isinstance(v, str)),
        ("frozen", "text", lambda v: v is None or isinstance(v, str)),
    )
    return [
        f"{key} must be {rule}, got {record[key]!r}. Mend it."
        for key, rule, holds in checks
        if key in record and not holds(record[key])
    ]


def _rule_faults(record: Mapping[str, Any]) -> list[str]:
    answerable = record.get("answerable", True)
    if (record["kind"] == "absent") == answerable:
        return [
            f"answerable must be false for kind absent and true for others, got {answerable!r} "
            f"for kind {record['kind']}. Mend one of the two."
        ]
    asked = record.get("ask_at_seq")
    late = [span for span in record.get("evidence", ()) if asked is not None and span[1] > asked]
    if late:
        return [
            f"evidence must not lie after ask_at_seq {asked}, got {late[0]!r}. Ask later, or mend "
            "the evidence."
        ]
    if answerable and not record.get("expect") and record.get("status") != "excluded":
        return ["expect must hold at least one group of values, got none. Add what a right "
                "answer must say."]  # fmt: skip
    return []


def _is_seq(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_spans(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(span, list)
        and len(span) == 2
        and all(_is_seq(seq) for seq in span)
        and span[0] <= span[1]
        for span in value
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) and text for text in value)


def _is_groups(value: Any) -> bool:
    return isinstance(value, list) and all(
        _is_texts(group) and group and all(text.strip() for text in group) for group in value
    )


def _all(faults: Sequence[str]) -> str:
    shown = "\n".join(faults[:_SHOWN])
    more = len(faults) - _SHOWN
    return f"{shown}\n… and {more} more faults." if more > 0 else shown
