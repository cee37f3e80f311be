"""An accepted probe keeps its ruler: a later change is refused, with what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.harness.probes.freezing import accepted, ruler_hash
from ctxeng.harness.probes.io import read_probes, write_probes
from ctxeng.harness.probes.model import Probe, Span

DRAFT = Probe(
    probe_id="p", session_id="s", question="予算は？", kind="number", expect=(("¥3,000",),),
    evidence=(Span(from_seq=1, to_seq=2),), status="draft",
)  # fmt: skip


def test_acceptance_freezes_and_is_read_back(tmp_path: Path) -> None:
    """The hash stands in the file; note and author may still change."""
    frozen = accepted(DRAFT)
    assert (frozen.status, frozen.frozen) == ("accepted", ruler_hash(DRAFT))
    noted = replace(frozen, note="by phone", author="mk")
    assert read_probes(write_probes([noted], tmp_path / "p.jsonl")) == [noted]


@pytest.mark.parametrize(
    "change",
    [
        {"question": "予算はいくら？"}, {"expect": (("¥5,000",),)}, {"forbid": ("¥1",)},
        {"evidence": (Span(from_seq=1, to_seq=1),)}, {"ask_at_seq": 9}, {"kind": "other"},
    ],
    ids=["question", "expect", "forbid", "evidence", "ask_at_seq", "kind"],
)  # fmt: skip
def test_a_frozen_probe_that_was_changed_is_refused(tmp_path: Path, change: Any) -> None:
    """Whatever decides what is measured: file, line, probe and remedy are named."""
    changed = replace(accepted(DRAFT), **change)
    with pytest.raises(DatasetError, match=r"p\.jsonl:1: a frozen probe must stay.*probe p"):
        read_probes(write_probes([changed], tmp_path / "p.jsonl"))
