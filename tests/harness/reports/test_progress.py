"""The bar of a long command."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ctxeng.harness.replay.recording import was_sent
from ctxeng.harness.replay.runner import spent_with
from ctxeng.harness.reports.progress import bar, progress_bar


def line(cost_usd: float | None, *, with_money: bool = True) -> str:
    """Return the bar after 12 of 48 units in 24 seconds, as it is drawn."""
    now = [0.0]
    out = io.StringIO()
    console = Console(file=out, width=140, force_terminal=True, color_system=None)
    shown = bar(console, with_money=with_money, get_time=lambda: now[0])
    task = shown.add_task("replaying", total=48, label="s1 · rolling", cost_usd=0.0)
    for done in range(1, 13):
        now[0] = 2.0 * done
        shown.update(task, completed=done, cost_usd=cost_usd)
    with console.capture() as drawn:
        console.print(shown.get_renderable())
    return " ".join(drawn.get().split())


def test_a_bar_says_how_much_how_fast_until_when_and_for_what_money() -> None:
    """A unit every two seconds: 30 a minute, 36 left take 72 seconds."""
    text = line(1.25)
    assert text.startswith("replaying ")
    assert "12/48 30/min 0:00:24 ETA 0:01:12 USD 1.2500 s1 · rolling" in text


@pytest.mark.parametrize(
    ("cost_usd", "shown"), [(0.0, "USD 0.0000"), (None, "USD unknown"), (0.00004, "USD 0.0000")]
)
def test_an_unknown_price_is_unknown_and_the_offline_model_is_free(
    cost_usd: float | None, shown: str
) -> None:
    assert shown in line(cost_usd)


def test_money_so_far_counts_the_calls_that_were_made() -> None:
    """0.25 made, 0.5 from the ledger, 1.5 made: 1.75; one call without a price makes it unknown."""
    calls = [
        {"cost_usd": 0.25, "from_ledger": False},
        {"cost_usd": 0.5, "from_ledger": True},
        {"cost_usd": 1.5, "from_ledger": None},
    ]
    assert spent_with(0.0, calls) == 1.75
    assert spent_with(1.0, []) == 1.0
    assert spent_with(0.0, [{"cost_usd": None, "from_ledger": True}]) == 0.0
    unsent = [{"error": "CallMissing: ledger must hold it"}, {"error": "LimitReached: 5 USD"}]
    assert spent_with(1.0, unsent) == 1.0
    assert [was_sent(call) for call in [*calls, *unsent]] == [True, False, True, False, False]
    unknown = spent_with(0.0, [{"cost_usd": None, "from_ledger": False}])
    assert unknown is None
    assert spent_with(unknown, calls) is None


def test_a_bar_without_calls_shows_no_money() -> None:
    assert "USD" not in line(0.0, with_money=False)


def test_a_bar_that_is_off_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Callers switch it off where stderr is no terminal."""
    with progress_bar(enabled=False, with_money=True) as advance:
        advance(1, 2, "a")
        advance(2, 2, "b", 0.5)
    assert capsys.readouterr() == ("", "")


def test_a_label_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Session names come from files; markup and escapes in them are text."""
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr", out)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar(enabled=True) as advance:
        advance(1, 2, "\x1b]0;owned\x07[bold]x[/bold]")
    assert "\x1b]0;" not in out.getvalue()
    assert "\x07" not in out.getvalue()
