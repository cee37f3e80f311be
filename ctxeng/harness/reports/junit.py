"""The gate as JUnit XML: one test case for each gated arm and bucket."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ctxeng.harness.stats.compare import position

if TYPE_CHECKING:
    from ctxeng.harness.reports.nightly import Nightly

# Source: XML 1.0, production [2] Char: everything else cannot stand in a document, even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OUTCOMES = {"regression": "failure", "not enough data": "skipped", "incomplete": "error"}


def write_junit(night: Nightly, path: Path) -> Path:
    """Write the night's gate as JUnit XML and return the file.

    A regression is a failure, a bucket that cannot say is skipped, an incomplete run an error.
    """
    gate = night.gate
    suite = ET.Element("testsuite", name=_legal(f"recall gate: {night.summary.run_id}"))
    cases = [(f"{g.arm} {position(g.bucket)}", g.status, g.reason) for g in gate.groups]
    if gate.status == "incomplete" or not cases:
        cases.insert(0, ("run", gate.status, "; ".join(gate.reasons)))
    for name, status, reason in cases:
        case = ET.SubElement(suite, "testcase", classname="recall", name=_legal(name))
        if status in _OUTCOMES:
            ET.SubElement(case, _OUTCOMES[status], message=_legal(reason))
        else:
            ET.SubElement(case, "system-out").text = _legal(reason)
    counts = {"tests": len(cases)} | {
        plural: sum(1 for _, status, _ in cases if _OUTCOMES.get(status) == kind)
        for plural, kind in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error"))
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    return path


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
