"""LangSmith runs: exported, as the API returns them, or as batches sent by a client.

Source: "Run (span) data format" (docs.langchain.com/langsmith/run-data-format) and "Threads"
(the metadata keys ``session_id``, ``thread_id`` and ``conversation_id`` make runs one thread).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.traces import Step, chats_of, read_answer, read_asked
from ctxeng.harness.importers.values import first_text, listed, mapped, text_of
from ctxeng.harness.probes.model import Probe

_THREAD = ("session_id", "thread_id", "conversation_id")
_BATCHES = ("runs", "post", "patch")


class LangSmithImporter(Importer):
    """Reads LangSmith runs, JSON or JSON Lines."""

    name: ClassVar[str] = "langsmith"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl")

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for runs with their place in a trace, or batches of them."""
        first = sample.first or next(iter(sample.objects), {})
        runs = [first, *(run for key in _BATCHES for run in listed(first.get(key))[:1])]
        return 0.95 if any(_is_run(mapped(run)) for run in runs) else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield the sessions of every thread."""
        threads: dict[str, list[dict[str, Any]]] = {}
        for run in _merged(source, account):
            about = mapped(mapped(run.get("extra")).get("metadata"))
            name = first_text(about, *_THREAD) or first_text(run, "trace_id", "id")
            threads.setdefault(name, []).append(run)
        for name, runs in threads.items():
            ordered = sorted(runs, key=lambda run: first_text(run, "dotted_order", "start_time"))
            roots = [run for run in ordered if not run.get("parent_run_id")]
            title = text_of((roots or ordered)[0].get("name"))
            steps = _steps(ordered, account)
            yield from chats_of(name, steps, account, origin="LangSmith", title=title)


def _is_run(record: Mapping[str, Any]) -> bool:
    return "run_type" in record and ("dotted_order" in record or "trace_id" in record)


def _merged(source: Source, account: Account) -> list[dict[str, Any]]:
    """Return the runs; what a later record tells of the same run completes it."""
    runs: dict[str, dict[str, Any]] = {}
    for place, record in json_records(source, account):
        batches = [listed(record[key]) for key in _BATCHES if isinstance(record.get(key), list)]
        for raw in [run for batch in batches for run in batch] if batches else [record]:
            told = {key: value for key, value in mapped(raw).items() if value is not None}
            identity = text_of(told.get("id"))
            if not identity:
                account.skip("not a run")
                account.note("a run without an id", line=place)
            elif identity in runs:
                account.merge()
                runs[identity] |= told
            else:
                runs[identity] = told
    return list(runs.values())


def _steps(runs: list[dict[str, Any]], account: Account) -> list[Step]:
    calls = [run for run in runs if run.get("run_type") == "llm"]
    if not calls:
        calls = [run for run in runs if not run.get("parent_run_id")]
    found = []
    chosen = {id(run) for run in calls}
    for run in runs:
        step = _call(run) if id(run) in chosen else None
        if step is not None:
            found.append(step)
            continue
        if run.get("error"):
            account.note(f"run {text_of(run.get('id'))} failed")
        account.skip(f"no message: {text_of(run.get('run_type'))[:40] or 'without a type'}")
    return found


def _call(run: Mapping[str, Any]) -> Step | None:
    asked = read_asked(run.get("inputs"))
    answer = read_answer(_last(mapped(run.get("outputs"))))
    if not asked and answer is None:
        return None
    about = mapped(mapped(run.get("extra")).get("metadata"))
    model = first_text(about, "ls_model_name")
    return Step(asked=asked, answer=answer, meta={"model": model} if model else {})


def _last(outputs: Mapping[str, Any]) -> Any:
    """Return the outputs; of a list of messages, which repeats what was asked, only the last."""
    messages = listed(outputs.get("messages"))
    if messages and isinstance(messages[-1], dict):
        return {"messages": messages[-1:]}
    return outputs
