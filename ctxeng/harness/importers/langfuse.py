"""Langfuse traces: an exported trace with its observations, traces of the API, or observations.

Source: "Data model" in Langfuse's documentation (langfuse.com/docs/observability/data-model) and
the export of a trace in its interface. Traces of one ``sessionId`` are one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ctxeng.harness.importers.anthropic_blocks import result_text
from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.importers.traces import Step, chats_of, decoded, read_answer, read_asked
from ctxeng.harness.importers.values import first_text, listed, mapped, text_of
from ctxeng.harness.probes.model import Probe

_CALL, _TOOL = "GENERATION", "TOOL"


class LangfuseImporter(Importer):
    """Reads Langfuse exports, JSON or JSON Lines."""

    name: ClassVar[str] = "langfuse"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl")

    def detect(self, sample: Sample) -> float:
        """Return 0.95 for a trace with observations, or an observation of a trace."""
        first = sample.first or next(iter(sample.objects), {})
        if isinstance(first.get("observations"), list):
            return 0.95
        return 0.9 if {"traceId", "type", "startTime"} <= first.keys() else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield the sessions of every thread."""
        threads: dict[str, _Thread] = {}
        for place, record in json_records(source, account):
            trace = mapped(record.get("trace")) or record
            name = (
                first_text(trace, "sessionId", "traceId", "id") or f"{source.path.stem}-{place:05d}"
            )
            thread = threads.setdefault(name, _Thread())
            thread.traces.append(trace)
            found = record.get("observations", trace.get("observations"))
            thread.observations += listed(found) if found is not None else [record]
        for name, thread in threads.items():
            steps = thread.steps(account)
            title = text_of(thread.traces[0].get("name"))
            yield from chats_of(name, steps, account, origin="Langfuse", title=title)


@dataclass(slots=True)
class _Thread:
    """The traces of one session, and all their observations."""

    traces: list[Mapping[str, Any]] = field(default_factory=list)
    observations: list[Any] = field(default_factory=list)

    def steps(self, account: Account) -> list[Step]:
        """Return the calls in order of time; a trace without any is one call by itself."""
        found = []
        observations = [mapped(raw) for raw in self.observations]
        for observation in sorted(observations, key=lambda one: text_of(one.get("startTime"))):
            step = _step(observation)
            if step is None:
                kind = text_of(observation.get("type"))[:40] or "without a type"
                account.skip(f"no message: {kind}")
            else:
                found.append(step)
        if any(not step.tool for step in found):
            return found
        account.skip("tool step of a trace without calls", len(found))
        return [step for trace in self.traces for step in _whole_trace(trace, account)]


def _step(observation: Mapping[str, Any]) -> Step | None:
    kind = observation.get("type")
    if kind == _TOOL:
        result = decoded(observation.get("output"))
        words = result_text(mapped(result).get("content", result))
        name = text_of(observation.get("name"))
        return Step(tool=name or "tool", result=words) if words else None
    if kind != _CALL:
        return None
    asked = read_asked(observation.get("input"))
    answer = read_answer(observation.get("output"))
    if not asked and answer is None:
        return None
    model = text_of(observation.get("model"))
    return Step(asked=asked, answer=answer, meta={"model": model} if model else {})


def _whole_trace(trace: Mapping[str, Any], account: Account) -> list[Step]:
    asked, answer = read_asked(trace.get("input")), read_answer(trace.get("output"))
    if not asked:
        account.skip("trace without a model call")
        return []
    return [Step(asked=asked, answer=answer)]
