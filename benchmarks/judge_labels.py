"""Labels for ``ctxeng judge calibrate`` from answers that a person judged.

    python benchmarks/judge_labels.py FOLDER [--field accurate] > labels.jsonl

Reads ``human_judge_positives.json``: 50 answers drawn from those a lenient judge called recalled.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def labels(folder: Path, field: str) -> Iterator[dict[str, Any]]:
    """Return one label record an answer; ``field`` is ``recalled`` or ``accurate``."""
    record = json.loads((folder / "human_judge_positives.json").read_text("utf-8-sig"))
    for number, one in enumerate(record["items"], start=1):
        yield {
            "id": f"{number}-{one['fact_id']}",
            "question": one["question"],
            "kind": "other",
            "expect": [[one["expected"]]],
            "answer": one["llm_answer"],
            "human": _word(one["human"][field]),
            "judges": {name: _word(one[f"{name}_{field}"]) for name in ("strict", "lenient")},
        }


def _word(is_right: bool) -> str:
    return "right" if is_right else "wrong"


def main() -> None:
    """Print the labels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--field", choices=("recalled", "accurate"), default="accurate")
    asked = parser.parse_args()
    for label in labels(asked.folder, asked.field):
        print(json.dumps(label, ensure_ascii=False))


if __name__ == "__main__":
    main()
