"""What a compactor was handed for each artifact, matched from the rows of the inputs table."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from ctxeng.core.artifacts import Artifact
from ctxeng.harness.results.tables import Row


def tries_of(artifact: Artifact, inputs: Sequence[Row]) -> list[Row]:
    """Return what was asked for until an artifact stood, the accepted one last.

    Empty where the rows do not tell: an older run, or a note that no model was asked for.
    """
    key = (artifact.kind, artifact.level, artifact.to_seq)
    found = [row for row in inputs if (row["kind"], row["level"], row["to_seq"]) == key]
    if artifact.kind == "memory":
        return found
    if artifact.kind != "rolling":  # a rolling version covers everything, its task what is new
        found = [row for row in found if row["from_seq"] == artifact.from_seq]
    accepted = [i for i, row in enumerate(found) if row.get("text") == artifact.text]
    return found[: accepted[-1] + 1] if accepted else []


def cuts_of(artifacts: Sequence[Artifact], inputs: Sequence[Row]) -> dict[str, dict[int, str]]:
    """Return the messages that compactors were handed shortened, by artifact id and seq."""
    found = {}
    for artifact in artifacts:
        if artifact.meta.get("cut_messages") and (tries := tries_of(artifact, inputs)):
            cut = orjson.loads(tries[-1]["cut"])
            found[artifact.artifact_id] = {int(seq): text for seq, text in cut.items()}
    return found
