"""The card of a dataset folder: origin, licence and the account of the last import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ctxeng.harness.sessions.io import atomic_file

_SHOWN = 40


def write_card(
    out: Path,
    report: Mapping[str, Any],
    *,
    origins: Mapping[tuple[str, str], int],
    redact: Callable[[str], str] = str,
) -> None:
    """Write ``card.md`` below ``out``; a card with the same words is not touched.

    Args:
        redact: removes from the text what must not be stored.
    """
    text = redact(card_text(out.resolve().name, report, origins=origins))
    path = out / "card.md"
    if path.exists() and path.read_text("utf-8") == text:
        return
    with atomic_file(path) as stream:
        stream.write(text.encode("utf-8"))


def card_text(
    name: str, report: Mapping[str, Any], *, origins: Mapping[tuple[str, str], int]
) -> str:
    """Return the card as Markdown."""
    rows = [
        f"# {name}",
        "",
        f"Imported by ctxeng, format `{report['format']}`.",
        "",
        "| origin | licence | sessions |",
        "|---|---|---|",
        *(
            f"| {origin or 'unknown'} | {licence or 'not stated'} | {count} |"
            for (origin, licence), count in sorted(Counter(origins).items())
        ),
        "",
        f"{report['sessions']} sessions, {report['messages']} messages, {report['probes']} probes.",
        "",
        "## Account of the last import",
        "",
        f"{report['read']} records read = {report['imported']} imported "
        f"+ {report['merged']} merged + {sum(report['skipped'].values())} skipped.",
        "",
        *(f"- skipped, {reason}: {count}" for reason, count in report["skipped"].items()),
        "",
        "## Findings",
        "",
        *(_finding(finding) for finding in report["findings"][:_SHOWN]),
    ]
    left = len(report["findings"]) - _SHOWN
    rows.append(f"- … and {left} more" if left > 0 else "")
    return "\n".join(rows).rstrip() + "\n"


def _finding(finding: Mapping[str, Any]) -> str:
    place = Path(finding["file"]).name + (f":{finding['line']}" if finding["line"] else "")
    what = " ".join(str(finding["what"]).split())
    return f"- {place}: {what[:300]}"
