"""Economics and advice as people see them: 100 columns, escaped tables, the answer first."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ctxeng.harness.economics.caching import Split
from ctxeng.harness.economics.usage import CacheUse
from ctxeng.harness.experiments.advice import judged
from ctxeng.harness.experiments.forecast import Forecast, RoleForecast
from ctxeng.harness.reports.advice import print_advice
from ctxeng.harness.reports.cache import run_cache
from ctxeng.harness.reports.economics import (
    Grid,
    cache_grid,
    markdown,
    print_economics,
    print_grids,
)
from ctxeng.harness.reports.forecast import print_forecast
from ctxeng.harness.results.run_folder import write_run
from tests.harness.economics.test_usage import context, usage
from tests.harness.experiments.test_economics import ABOUT, economics_of
from tests.support.nights import made_run, recalled_below

FOUND = economics_of({"full": [9000] * 4, "rolling": [3000] * 4, "episodes|x\x1b[31m": [9500] * 4})


def console() -> Console:
    return Console(width=100, file=io.StringIO(), highlight=False)


def shown(out: Console) -> str:
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_economics_fit_a_terminal_and_steer_none() -> None:
    """Names of arms are a user's text."""
    out = console()
    grid = cache_grid("r1", [CacheUse(arm="a", requests=3, foretold=Split(read=50, uncached=50), billed=Split())])  # fmt: skip
    print_economics(FOUND, [grid], console=out)
    text = shown(out)
    assert text.startswith("Summaries were written by the offline model")
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "\x1b" not in text
    assert "50 / 0 / 50" in text
    assert "no usage" in text


def test_markdown_tables_keep_their_columns() -> None:
    """A bar in a name is escaped; 3 dollars a million, 9,000 tokens, 10 turns: 2.70 for 1,000."""
    page = markdown(FOUND)
    rows = [line for line in page.splitlines() if line.startswith("| full |")]
    assert "| 2.70 |" in rows[1]
    assert "never" in rows[1]
    header = next(line for line in page.splitlines() if line.startswith("| arm | $ none"))
    escaped = next(line for line in page.splitlines() if "episodes\\|x" in line and "$" not in line)
    assert escaped.replace("\\|", "").count("|") > 2
    assert rows[1].count("|") == header.count("|")


def test_advice_begins_with_the_answer() -> None:
    """Then why, then the numbers."""
    out = console()
    print_advice(judged(ABOUT, FOUND), console=out)
    lines = shown(out).splitlines()
    assert lines[0] == "Would compaction help? Yes."
    assert lines[1].startswith("The cheapest compacting strategy, rolling, costs 66% less than")
    assert all(len(line) <= 100 for line in lines)


def test_a_forecast_says_what_stays_open() -> None:
    """Calls and money in the last lines, a question mark where a price is unknown."""
    row = RoleForecast(
        arm="a", role="reader", model="gpt-x", asked=4, held=1, repeated=1, to_make=2,
        input_tokens=2_000, output_tokens=400, cost_usd=None,
    )  # fmt: skip
    told = Forecast(
        name="n", sessions=1, messages=10, probes=2, cells={"a": 4, "silent": 2}, roles=(row, replace(row, arm="(all)")),
        redrafts_at_most=1_000, judge_at_most=3, notes=("The price of gpt-x is unknown; its calls are not in the sum.",),
    )  # fmt: skip
    out = console()
    print_forecast(told, console=out)
    text = shown(out)
    assert "6 cells. Nothing was sent." in text
    assert "4 calls to make (at most 1,007, by what the answers are), price unknown." in text
    assert "(all)" in text
    assert text.rstrip().endswith("its calls are not in the sum.")
    assert all(len(line) <= 100 for line in text.splitlines())
    long = replace(row, arm="rolling[tokens=8000,threshold_tokens=16000]", input_tokens=2_000_000)
    out = console()
    print_forecast(replace(told, roles=(long,)), console=out)
    assert {"rolling[tokens=8000,", "threshold_tokens=16000]"} <= set(shown(out).split())
    known = replace(row, cost_usd=0.5)
    out = console()
    exact = replace(told, roles=(known,), redrafts_at_most=0, judge_at_most=0)
    print_forecast(exact, console=out)
    assert "2 calls to make, 0.5000 USD." in shown(out)


def test_the_name_of_an_arm_stays_whole() -> None:
    """However many columns want the room."""
    out = Console(width=100, file=io.StringIO())
    header = ["arm", *(f"a long heading {n}" for n in range(9))]
    print_grids(
        [Grid(title="t", header=header, rows=[["three_tier[overlap=0]", *"123456789"]])], out
    )
    assert "three_tier[overlap=0]" in shown(out)


def test_no_number_is_broken_or_cut(tmp_path: Path) -> None:
    """The advice's own widest columns: a share of sessions that lost its last digit was wrong."""
    out = Console(width=100, file=io.StringIO())
    row = ["episodes_memory", "12,345", "123,456", "1234.56", "moving 1h", "-123%", "1,234"]
    header = ["strategy", "tokens in, median", "95 %", "$/1,000 turns", "caching",
              "saved, uncached", "pays from turn", "in sessions"]  # fmt: skip
    print_grids([Grid(title="t", header=header, rows=[[*row, "103 of 1,200"]])], out)
    assert all(cell in shown(out) for cell in [*row, "103 of 1,200"])
    assert all(len(line) <= 100 for line in shown(out).splitlines())


def test_the_cache_of_a_finished_run_is_read_from_its_tables(tmp_path: Path) -> None:
    """Two probes of one session: the second reads the head, by the rules and by the bill."""
    contexts = [context(probe) | {"tokens": 1160} for probe in ("p1", "p2")]
    calls = [usage(written=1100) | {"session_id": "s"}, usage(read=1100) | {"session_id": "s"}]
    whole = made_run(tmp_path, "made", {"a": recalled_below(1)}).manifest()
    manifest = whole | {"run_id": "r1", "experiment": _read_by(whole, "claude-sonnet-4-6")}
    run = write_run(tmp_path, manifest=manifest, tables={"contexts": contexts, "calls": calls})
    grid = run_cache(run)
    assert grid.rows == [["a", "2", "47 / 47 / 5", "47 / 47 / 5"]]
    haiku = whole | {"run_id": "r2", "experiment": _read_by(whole, "claude-haiku-4-5")}
    short = write_run(tmp_path, manifest=haiku, tables={"contexts": contexts, "calls": []})
    assert run_cache(short).rows == [["a", "2", "0 / 0 / 100", "no usage"]]


def _read_by(manifest: dict[str, Any], reader: str) -> dict[str, Any]:
    models = manifest["experiment"]["models"] | {"reader": reader}
    return manifest["experiment"] | {"models": models}
