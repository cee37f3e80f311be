"""Frozen probes: an accepted probe carries the hash of its ruler; later runs refuse another."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from ctxeng.harness.probes.model import Probe

HASH_LENGTH = 16


def ruler_hash(probe: Probe) -> str:
    """Return the hash of all that decides what a probe measures: status, author and note do not."""
    ruler = [
        probe.probe_id, probe.session_id, probe.question, probe.kind,
        [[span.from_seq, span.to_seq] for span in probe.evidence],
        probe.expect, probe.forbid, probe.answerable, probe.ask_at_seq,
    ]  # fmt: skip
    written = json.dumps(ruler, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return hashlib.sha256(written).hexdigest()[:HASH_LENGTH]


def accepted(probe: Probe) -> Probe:
    """Return a probe as accepted and frozen."""
    return replace(probe, status="accepted", frozen=ruler_hash(probe))


def thaw_fault(probe: Probe) -> str | None:
    """Return what is wrong with a frozen probe that was changed since, None when nothing is."""
    now = ruler_hash(probe)
    if probe.frozen is None or probe.frozen == now:
        return None
    return (
        f"a frozen probe must stay as it was accepted, got {now} for frozen {probe.frozen} "
        f"(probe {probe.probe_id}). Undo the change, or give it a new id and review it."
    )
