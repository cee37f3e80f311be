"""``ctxeng score``: the literal scorer alone, on one answer or a file of answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from ctxeng.cli.app import app
from ctxeng.core.errors import DatasetError, InputError
from ctxeng.core.text import printable


@app.command()
def score(
    file: Annotated[
        Path | None, typer.Argument(help="JSON Lines: answer, expect; id, question, kind, forbid.")
    ] = None,
    expect: Annotated[
        list[str] | None, typer.Option(help="Expected value; given again: all must be met.")
    ] = None,
    answer: Annotated[str | None, typer.Option(help="The answer to score.")] = None,
    question: Annotated[str, typer.Option(help="The question that was asked.")] = "",
    kind: Annotated[str, typer.Option(help="Kind of the probe.")] = "other",
    forbid: Annotated[list[str] | None, typer.Option(help="A stale or opposite value.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Say pass, fail or ambiguous, and which rule decided; no model is asked.

    A line of FILE.jsonl has `answer` and `expect` (`null` or `[]` for what was never stated)
    and may have `id`, `question`, `kind` and `forbid`; each gets one JSON line.
    """
    if file is not None:
        for number, line in enumerate(_lines(file), start=1):
            if line.strip():
                verdict = _scored_line(file, number, line)
                sys.stdout.write(orjson.dumps(verdict).decode() + "\n")
        return
    if answer is None or not expect:
        raise InputError("--expect and --answer must be given, or a file. See ctxeng score --help.")
    verdict = _scored(
        {
            "question": question,
            "kind": kind,
            "expect": [[value] for value in expect],
            "forbid": forbid or [],
            "answer": answer,
        }
    )
    text = f"{verdict['verdict']} ({verdict['rule']})"
    sys.stdout.write((orjson.dumps(verdict).decode() if as_json else printable(text)) + "\n")


def _scored(record: Any) -> dict[str, Any]:
    from ctxeng.harness.scoring.answers import answer_of, scored

    found = scored(answer_of(record))
    verdict = {"verdict": found.verdict, "rule": found.rule}
    return {"id": record["id"], **verdict} if "id" in record else verdict


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"a file of answers must be readable text in UTF-8, got {file} ({error})."
        ) from None


def _scored_line(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        return _scored(orjson.loads(line))
    except orjson.JSONDecodeError:
        fault = "a line must be a JSON object with an answer."
    except ValueError as error:
        fault = str(error)
    raise DatasetError(f"{file}:{number}: {fault} Mend the line.")
