"""From an answer to an outcome: literal rules first, the judge where wording is ambiguous.

The judge also sees a fixed, seeded sample of literal passes and fails. An audit never changes an
outcome: it estimates how often the literal rules are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ctxeng.core.calls import ModelClient, ModelRequest
from ctxeng.core.errors import LimitReached, ModelError
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay.asking import Answered, Asked, Failed, NotAsked, Refused
from ctxeng.harness.replay.plan import Readers, content_key
from ctxeng.harness.scoring.judge import JudgeVerdict, judge_request, parse_verdict
from ctxeng.harness.scoring.literal import LiteralVerdict, score_literal
from ctxeng.harness.scoring.outcome import Outcome, outcome_of
from ctxeng.models import OFFLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What an answer came to, and who decided."""

    outcome: Outcome
    judged_by: str | None = None
    literal: LiteralVerdict | None = None
    judge: JudgeVerdict | None = None
    audited: bool = False
    answer: str | None = None
    error: str | None = None


def only_extracts(models: Mapping[str, Any]) -> bool:
    """Return whether nobody in a run can reword what was said.

    The offline model quotes sentences as they stand; one other writer, and a quotation of its
    summary may be a rewording.

    Args:
        models: the experiment's models by role.
    """
    roles = (models.get("reader"), models.get("summariser"))
    return all(name == OFFLINE for name in (*roles, models.get("distiller") or OFFLINE))


def audited(probe: Probe, *, arm: str, share: float, seed: int) -> bool:
    """Return whether this cell's literal verdict belongs to the seeded audit sample."""
    draw = int(content_key([seed, arm, probe.session_id, probe.probe_id]), 16) / 16**16
    return draw < share


async def score(
    probe: Probe,
    asked: Asked,
    readers: Readers,
    *,
    asked_on: str | None,
    audit: bool,
    replicate: int,
) -> Scored:
    """Return the outcome of one asked probe."""
    match asked:
        case NotAsked():
            return Scored(outcome="skipped")
        case Refused(reason=reason):
            return Scored(outcome="refused", error=reason)
        case Failed(error=error):
            return Scored(outcome="error", error=error)
        case Answered(text=text):
            return await _score_text(
                probe, text, readers, asked_on=asked_on, audit=audit, replicate=replicate
            )


async def _score_text(
    probe: Probe,
    text: str,
    readers: Readers,
    *,
    asked_on: str | None,
    audit: bool,
    replicate: int,
) -> Scored:
    scored = with_judge(probe, text, None, audit=audit, extract=readers.extract)
    assert scored.literal is not None
    if readers.judge is None or not (scored.literal.verdict == "ambiguous" or audit):
        return scored
    request = judge_request(
        probe,
        text,
        model=readers.judge_model,
        system=readers.judge_system,
        prompt_id=readers.judge_prompt_id,
        asked_on=asked_on,
        replicate=replicate,
        extra=readers.extra.get("judge", {}),
    )
    judge, error = await _ask_judge(readers.judge, request)
    judged = with_judge(probe, text, judge, audit=audit, extract=readers.extract)
    return replace(judged, error=error)


def with_judge(
    probe: Probe, text: str, judge: JudgeVerdict | None, *, audit: bool, extract: bool = False
) -> Scored:
    """Return the outcome of an answer, given what a judge said of it (None: was not asked)."""
    literal = score_literal(
        question=probe.question,
        kind=probe.kind,
        expect=probe.expect,
        forbid=probe.forbid,
        answer=text,
        answerable=probe.answerable,
        language=probe.language,
        extract=extract,
    )
    decided = outcome_of(probe, literal, judge)
    return Scored(
        outcome=decided.outcome,
        judged_by=decided.judged_by,
        literal=literal,
        judge=judge,
        audited=audit and literal.verdict != "ambiguous",
        answer=text,
    )


async def _ask_judge(
    client: ModelClient, request: ModelRequest
) -> tuple[JudgeVerdict | None, str | None]:
    try:
        return parse_verdict(await client.complete(request)), None
    except LimitReached:
        raise
    except ModelError as error:
        return None, f"judge {type(error).__name__}: {error}"
