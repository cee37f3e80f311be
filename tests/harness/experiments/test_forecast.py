"""A dry run foretells the calls of the run: counts are compared with what the run then makes."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.cli.workspaces import lay_out
from ctxeng.core.calls import ModelRequest, ModelResponse, Usage
from ctxeng.core.errors import LimitReached
from ctxeng.harness.experiments.forecast import (
    Forecast,
    RoleForecast,
    forecast,
    role_forecasts,
)
from ctxeng.harness.experiments.launch import run_prepared
from ctxeng.harness.experiments.prepared import RunOptions, prepare
from ctxeng.models import client as model_client
from ctxeng.models.keys import request_body
from tests.support.databases import remove_database

EXPERIMENT = """
name = "told"
sessions = ["datasets/bundled/sessions/marathon-plan.jsonl", "datasets/bundled/sessions/crawler-debug-ko.jsonl"]
probes = ["probes/told.jsonl"]
reference_arm = "three_tier"
controls = ["none"]
audit_share = 0.2
[models]
reader = "claude-haiku-4-5"
summariser = "claude-sonnet-4-6"
judge = "claude-haiku-4-5"
embedder = "hashing"
{judge}
[arms.three_tier]
strategy = "episodes_memory"
window = {{ tokens = {window} }}
episodes = {{ target_tokens = 80, overlap = {overlap} }}
memory = {{ target_tokens = 200 }}
budget = {{ total_tokens = 1500, reserve_tokens = 200 }}
"""
PROBES = 4


class Provider:
    """Stands for the Messages API: every answer depends on every byte of its request."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.prefix = dict.fromkeys(("summariser", "reader"), "")

    async def complete(self, _router: object, request: ModelRequest) -> ModelResponse:
        self.calls[request.role] += 1
        body = orjson.dumps(request_body(request), option=orjson.OPT_SORT_KEYS)
        mark = str(int(hashlib.sha256(body).hexdigest()[:12], 16))  # no letter: no language drift
        tool: dict[str, Any] | None = None
        if request.role == "distiller":
            item = {"kind": "anchor", "text": mark, "scope": "user", "confidence": 1, "sources": []}
            tool = {"items": [item]}
        if request.role == "judge":
            tool = {"verdict": "undecided", "reason": mark}
        usage = Usage(input_tokens=50, output_tokens=5)
        if request.tool is not None and request.role == "summariser":
            tool = {"last_seq": 10**6}
        mark = self.prefix.get(request.role, "") + mark
        return ModelResponse(text=mark, tool_input=tool, model=request.model, usage=usage)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Provider:
    """Answer every call of this process."""
    made = Provider()

    async def complete(router: object, request: ModelRequest) -> ModelResponse:
        return await made.complete(router, request)

    monkeypatch.setattr(model_client.ModelRouter, "complete", complete)
    return made


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a workspace; its database is removed afterwards."""
    path = tmp_path_factory.mktemp("told") / "workspace"
    lay_out(path)
    lines = (path / "probes" / "bundled.jsonl").read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if '"marathon-plan"' in line or '"crawler-debug-ko"' in line]
    (path / "probes" / "told.jsonl").write_text("".join(kept), "utf-8")
    yield path
    remove_database(path)


@pytest.fixture(autouse=True)
def _empty_ledger(home: Path) -> None:
    for file in (home / ".ctxeng").glob("ledger.sqlite*"):
        file.unlink()


def experiment(home: Path, *, window: int = 400, overlap: int = 0, judge: str = "") -> Path:
    file = home / "experiments" / "told.toml"
    file.write_text(EXPERIMENT.format(window=window, overlap=overlap, judge=judge), "utf-8")
    return file


async def told(home: Path, file: Path, **changes: Any) -> Forecast:
    options = replace(options_for(home), **changes)
    return await forecast(prepare(file, workspace=home, options=options), options)


async def ran(home: Path, file: Path, **changes: Any) -> None:
    options = replace(options_for(home), **changes)
    await run_prepared(prepare(file, workspace=home, options=options), options)


def options_for(home: Path) -> RunOptions:
    return RunOptions(out=home / "reports", sessions=1, probes=PROBES, jobs=1)


def by_role(foretold: Forecast) -> dict[str, int]:
    roles = ("summariser", "distiller", "reader", "judge")
    return {role: n for role in roles if (n := foretold.calls(role))}


async def compared(home: Path, provider: Provider, file: Path) -> Forecast:
    """Foretell an experiment, run it, and return the forecast; the judge's calls only bounded."""
    provider.calls.clear()
    foretold = await told(home, file)
    assert not provider.calls, "a dry run sends nothing"
    await ran(home, file)
    made = dict(provider.calls)
    judged = made.pop("judge", 0)
    expected = by_role(foretold)
    expected.pop("judge", 0)
    assert made == expected
    assert judged <= foretold.judge_at_most
    return foretold


async def test_a_forecast_of_an_unchanged_run_is_no_call(home: Path, provider: Provider) -> None:
    """All roles: what was answered once is in the ledger."""
    file = experiment(home)
    first = await compared(home, provider, file)
    assert first.calls("summariser") > 5
    assert first.cells == {"three_tier": PROBES, "none": PROBES}
    again = await compared(home, provider, file)
    assert (again.calls(), again.judge_at_most, again.cost_usd) == (0, 0, 0.0)
    assert not provider.calls


async def test_a_larger_window_needs_no_summary(home: Path, provider: Provider) -> None:
    """On a fixed grid the episodes of the larger window are the first ones of the smaller."""
    await ran(home, experiment(home))
    foretold = await compared(home, provider, experiment(home, window=600))
    assert foretold.calls("summariser", "distiller") == 0
    assert foretold.calls("reader") > 0


async def test_a_smaller_window_needs_only_what_it_newly_completes(
    home: Path, provider: Provider
) -> None:
    """Episodes and distillations that both windows have are not asked for again."""
    await ran(home, experiment(home))
    whole = provider.calls["summariser"]
    foretold = await compared(home, provider, experiment(home, window=200))
    assert 0 < foretold.calls("summariser") < whole / 2
    held = sum(row.held for row in foretold.roles if row.role == "summariser")
    assert held == whole


async def test_an_overlap_needs_the_episodes_after_the_first(
    home: Path, provider: Provider
) -> None:
    """The first episode has nothing before it; all others and what follows change."""
    await ran(home, experiment(home))
    before = dict(provider.calls)
    foretold = await compared(home, provider, experiment(home, overlap=1))
    assert foretold.calls("summariser") == before["summariser"] - 1
    assert foretold.calls("distiller") == before["distiller"]
    none = [row for row in foretold.roles if row.arm == "none" and row.role == "reader"]
    assert [row.to_make for row in none] == [0]


async def test_another_judge_prompt_needs_only_the_judge(home: Path, provider: Provider) -> None:
    """Answers are known, so that even the judge's calls are foretold to the number."""
    await ran(home, experiment(home))
    before = provider.calls["judge"]
    assert before > 0
    (home / "judge.md").write_text("Judge kindly.", "utf-8")
    file = experiment(home, judge='judge_prompt = "judge.md"')
    provider.calls.clear()
    foretold = await told(home, file)
    await ran(home, file)
    assert by_role(foretold) == dict(provider.calls) == {"judge": before}
    assert foretold.judge_at_most == before


async def test_what_depends_on_answers_is_bounded_and_said(home: Path, provider: Provider) -> None:
    """Every summary drifts into Cyrillic, so each is asked for twice; readers are in doubt."""
    provider.prefix = {"summariser": "Решено. ", "reader": "I think, but am not sure: "}
    file = experiment(home)
    foretold = await told(home, file)
    await ran(home, file)
    assert provider.calls["summariser"] == foretold.calls("summariser") * 2
    assert foretold.redrafts_at_most == foretold.calls("summariser")
    assert foretold.judge_at_most == foretold.calls("reader")
    assert foretold.calls() < provider.calls.total() <= foretold.calls_at_most
    assert any("asked for once more" in note for note in foretold.notes)
    again = await told(home, file)
    assert (again.calls(), again.calls_at_most, again.redrafts_at_most) == (0, 0, 0)


async def test_cuts_that_a_model_chooses_are_foretold_as_early_as_may_be(
    home: Path, provider: Provider
) -> None:
    """The shortest episodes are the most calls; this provider chooses the longest."""
    file = experiment(home)
    cuts = 'target_tokens = 80, cut = "model", size = 6, min_size = 4, max_size = 8'
    file.write_text(file.read_text("utf-8").replace("target_tokens = 80", cuts, 1), "utf-8")
    foretold = await told(home, file)
    await ran(home, file)
    assert 0 < provider.calls["summariser"] < foretold.calls("summariser")
    assert provider.calls["reader"] == foretold.calls("reader") == 2 * PROBES
    assert provider.calls.total() <= foretold.calls_at_most
    assert foretold.redrafts_at_most * 2 == foretold.calls("summariser")


async def test_a_run_that_met_its_limit_is_foretold_what_is_left(
    home: Path, provider: Provider
) -> None:
    """It stopped before the thirteenth call and goes on without repeating one."""
    file = experiment(home)
    everything = await told(home, file)
    with pytest.raises(LimitReached, match="limit of 12"):
        await ran(home, file, max_calls=12)
    spent = Counter(provider.calls)
    assert spent.total() == 12
    rest = await compared(home, provider, file)
    for role in ("summariser", "distiller", "reader"):
        assert rest.calls(role) == everything.calls(role) - spent[role]
    assert not list((home / ".ctxeng" / "partial").glob("*.dry"))


async def test_a_limit_on_money_is_never_passed(home: Path, provider: Provider) -> None:
    """What a call in flight may cost at most counts as spent; the cheapest cost 75 millionths."""
    with pytest.raises(LimitReached, match="max_cost must allow another call"):
        await ran(home, experiment(home), max_cost_usd=0.008)
    assert 0 < sum(provider.calls.values()) < 0.008 / 75e-6


async def test_fresh_foretells_every_call_though_the_ledger_holds_it(
    home: Path, provider: Provider
) -> None:
    """`--fresh --dry-run` counts what `--fresh` would pay for."""
    file = experiment(home)
    await ran(home, file)
    made = sum(provider.calls.values())
    assert (await told(home, file, mode="fresh")).calls() == made


async def test_the_offline_model_is_foretold_exactly(home: Path) -> None:
    """It costs nothing, so the dry run lets it answer: the judge's calls are exact as well."""
    file = experiment(home)
    text = file.read_text("utf-8")
    for model in ("claude-haiku-4-5", "claude-sonnet-4-6"):
        text = text.replace(model, "offline")
    file.write_text(text, "utf-8")
    foretold = await told(home, file)
    await ran(home, file)
    made = sqlite3.connect(home / ".ctxeng" / "ledger.sqlite").execute(
        "SELECT role, count(*) FROM calls GROUP BY role"
    )
    assert dict(made.fetchall()) == by_role(foretold)
    assert foretold.cost_usd == 0


async def test_an_unknown_model_is_said_to_be_unknown(home: Path) -> None:
    """No price is no zero."""
    file = experiment(home)
    file.write_text(file.read_text("utf-8").replace("claude-sonnet-4-6", "gpt-x"), "utf-8")
    foretold = await told(home, file)
    assert foretold.cost_usd is None
    assert any("gpt-x is unknown" in note for note in foretold.notes)


def call(arm: str, key: str | None, *, held: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "arm": arm,
        "role": "reader",
        "model": "claude-haiku-4-5",
        "key": key,
        "from_ledger": held,
        "input_tokens": 10,
        "output_tokens": 2,
        "cost_usd": 0.5,
        **more,
    }


def test_a_call_that_two_arms_share_is_counted_at_the_first() -> None:
    """Even where both rows were foretold apart, as in two processes; held calls cost nothing."""
    rows = [call("a", "k1"), call("b", "k1"), call("b", "k2", held=True), call("b", None)]
    rows[3] = {k: v for k, v in rows[3].items() if k in ("arm", "role", "model")} | {"error": "x"}
    assert role_forecasts(rows) == [
        RoleForecast(
            arm="a", role="reader", model="claude-haiku-4-5", asked=1, to_make=1,
            input_tokens=10, output_tokens=2, cost_usd=0.5,
        ),
        RoleForecast(
            arm="b", role="reader", model="claude-haiku-4-5", asked=3, held=1, repeated=1,
            to_make=1, cost_usd=0.0,
        ),
    ]  # fmt: skip
