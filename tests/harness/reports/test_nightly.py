"""One night beside the last: verdicts, gate, Markdown, JUnit, trend, and equal numbers everywhere."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from ctxeng.core.errors import InputError
from ctxeng.harness.reports.comparing import compare_arms, compare_nights
from ctxeng.harness.reports.comparison_table import print_nightly
from ctxeng.harness.reports.markdown import MAX_LINES, markdown_lines, plain
from ctxeng.harness.reports.nightly import Nightly, finish_night, gate_run
from ctxeng.harness.reports.summary import summarise
from ctxeng.harness.reports.sweep import sweep_of
from ctxeng.harness.reports.trend import open_trend
from ctxeng.harness.results.history import append_night, night_of
from ctxeng.harness.results.pairing import Side
from ctxeng.harness.results.run_folder import open_run
from ctxeng.harness.stats.compare import Rule
from tests.support.nights import Outcome, made_run, recalled_below


def finished(
    tmp_path: Path, day: int, outcome: Outcome, **more: object
) -> tuple[Nightly, dict[str, Path]]:
    """Make a run, and finish its night in the history of this test."""
    arms = {"main": outcome, "other": recalled_below(5), "none": recalled_below(0),
            "restated": recalled_below(9)}  # fmt: skip
    run = made_run(tmp_path / "reports", f"n{day}", arms, started_at=f"2026-03-{day:02}T03:00:00",
                   **{"sessions": 40, **more})  # type: ignore[arg-type]  # fmt: skip
    return finish_night(run, summarise(run), tmp_path / "history")


def test_the_first_night_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    """Not enough data, and its files are written all the same."""
    night, files = finished(tmp_path, 1, recalled_below(6))
    assert (night.gate.status, night.compared) == ("not enough data", None)
    assert night.gate.reasons == ("no comparable earlier night in the history",)
    assert {name for name, file in files.items() if file.exists()} >= {
        "html",
        "markdown",
        "junit",
        "history",
    }


def test_a_night_without_change_passes(tmp_path: Path) -> None:
    """Forty sessions certify a margin of ten points."""
    finished(tmp_path, 1, recalled_below(6))
    night, _ = finished(tmp_path, 2, recalled_below(6))
    assert night.gate.status == "pass"
    assert night.compared is not None
    assert {c.verdict for c in night.compared.comparisons} == {"equivalent within margin"}


def test_arms_that_changed_and_are_not_gated_are_named(tmp_path: Path) -> None:
    """A pass that says nothing of what changed says so: in Markdown, JSON and on the terminal."""
    finished(tmp_path, 1, recalled_below(6))
    night, files = finished(
        tmp_path, 2, recalled_below(6), settings={"other": {"episodes": {"size": 9}}}
    )
    said = "not gated though changed: other (name them in [gate] arms)"
    assert night.gate.status == "pass"
    assert night.record()["gate"]["changed_not_gated"] == ("other",)
    assert night.record()["gate"]["notes"] == [said]
    assert f"- {plain(said)}" in files["markdown"].read_text("utf-8").splitlines()
    base, tonight = (night_of(open_run(n, reports=tmp_path / "reports")) for n in ("n1", "n2"))
    _, named = gate_run(tonight, base, margin=None, arms=["other"])
    assert ({group.arm for group in named.groups}, named.notes) == ({"other"}, ())


def test_facts_never_stated_are_absent_for_people_and_none_in_json(tmp_path: Path) -> None:
    """Notice, Markdown, JUnit, terminal and gate reasons say absent; JSON keeps its key."""
    gate = {"gate": {"buckets": ["none"]}, "bucket": "none", "sessions": 2, "probes": 1}
    finished(tmp_path, 1, recalled_below(2), **gate)
    night, files = finished(tmp_path, 2, recalled_below(2), **gate)
    assert any("absent n=2" in notice for notice in night.summary.notices)
    assert night.gate.reasons[0].startswith("main absent: ")
    out = StringIO()
    print_nightly(night, Console(file=out, width=100))
    assert "main absent: not enough data" in out.getvalue()
    case = ET.parse(files["junit"]).getroot().find("testcase")
    assert case is not None
    assert case.attrib["name"] == "main absent"
    assert '<td class="left">absent</td>' in files["html"].read_text("utf-8")
    assert {row["bucket"] for row in night.summary.records()} == {"all", "none"}


def test_the_gate_says_what_it_does_not_gate_and_whose_borders_it_uses(tmp_path: Path) -> None:
    """Answers hold while presence falls by half; positions are those of the later run."""
    arms = {"main": recalled_below(1)}
    base = made_run(tmp_path, "n1", arms, sessions=20, probes=2)
    tonight = made_run(tmp_path, "n2", arms, sessions=20, probes=2, started_at="2026-04-01")
    table = pq.read_table(tonight.table("cells"))
    at = table.schema.get_field_index("value_in_context")
    lost = table.set_column(at, "value_in_context", pa.array([False] * 40))
    pq.write_table(lost, tonight.table("cells"))
    compared, decision = gate_run(night_of(tonight), night_of(base), margin=0.2)
    fall = "main: in-context recall fell by 50.0 points (n=40), over the margin; not gated"
    assert (decision.status, decision.notes) == ("pass", (fall,))
    borders = (
        "Positions on both sides are by the borders of n2; the report of n1 sorts the facts by its "
        "own."
    )
    assert compared.record()["borders"] == borders
    summary = summarise(tonight)
    night = Nightly(summary=summary, compared=compared, gate=decision)
    assert {plain(borders), f"- {plain(fall)}"} <= set(markdown_lines(night))
    out = StringIO()
    print_nightly(night, Console(file=out, width=200))
    assert {borders, f"  {fall}"} <= {line.rstrip() for line in out.getvalue().splitlines()}
    assert gate_run(night_of(tonight), night_of(base), margin=0.6)[1].notes == ()


def test_a_loss_is_a_regression_and_the_first_thing_told(tmp_path: Path) -> None:
    """Six of ten, then four of ten in every session: −20 points."""
    finished(tmp_path, 1, recalled_below(6))
    night, files = finished(tmp_path, 2, recalled_below(4))
    assert night.gate.status == "regression"
    lines = files["markdown"].read_text("utf-8").splitlines()
    assert "### nightly: regression" in lines
    assert "| main | all | 400 | 60 | 40 | -20 " in next(
        line for line in lines if line.startswith("| main")
    )
    suite = ET.parse(files["junit"]).getroot()
    assert suite.attrib | {"name": ""} == {
        "name": "", "tests": "1", "failures": "1", "skipped": "0", "errors": "0",
    }  # fmt: skip
    case = suite.find("testcase")
    assert case is not None
    assert case.attrib["name"] == "main interior"
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("-20.0 points")


def test_too_many_errors_never_pass(tmp_path: Path) -> None:
    """Two in a hundred cells: incomplete, whatever the rest says; in JUnit an error."""
    finished(tmp_path, 1, recalled_below(6))

    def broken(session: int, probe: int) -> str:
        return "error" if probe == 0 else "recalled" if probe < 6 else "missed"

    night, files = finished(tmp_path, 2, broken)
    assert night.gate.status == "incomplete"
    assert ET.parse(files["junit"]).getroot().attrib["errors"] == "1"


def test_a_night_with_other_probes_is_not_pooled(tmp_path: Path) -> None:
    """What differs is told, and the night before it is used."""
    for day, probes in ((1, "p1"), (2, "p2")):
        run = made_run(tmp_path / "reports", f"n{day}", {"main": recalled_below(6)}, sessions=40,
                       changed={"probes": probes}, started_at=f"2026-03-0{day}")  # fmt: skip
        append_night(tmp_path / "history", run)
    night, _ = finished(tmp_path, 3, recalled_below(6))
    assert night.passed_over == ("n2 is not comparable: probes (p2 → p1)",)
    assert night.compared is not None
    assert night.compared.before == "n1"
    assert night.gate.status == "pass"


def test_buckets_under_forty_are_shown_and_never_gate(tmp_path: Path) -> None:
    """39 probes all lost: printed with what they could see, skipped in JUnit, no regression."""
    finished(tmp_path, 1, recalled_below(3), sessions=13, probes=3)
    night, files = finished(tmp_path, 2, recalled_below(0), sessions=13, probes=3)
    assert night.gate.status == "not enough data"
    assert [group.gates for group in night.gate.groups] == [False]
    assert night.compared is not None
    assert all(c.mde is not None for c in night.compared.comparisons)
    assert ET.parse(files["junit"]).getroot().attrib["skipped"] == "1"


def test_markdown_stays_short_with_the_worst_first(tmp_path: Path) -> None:
    """Sixty lines at most, however many arms and changes; nothing in a name is markup."""
    arms = {f"arm{at} |<b>`x`\n*y*": recalled_below(at % 10) for at in range(24)}
    run = made_run(tmp_path / "r", "n1", arms, sessions=6, probes=4)
    finish_night(run, summarise(run), tmp_path / "h")
    again = made_run(tmp_path / "r", "n2", arms, sessions=6, probes=4, started_at="2026-04-01")
    night, files = finish_night(again, summarise(again), tmp_path / "h")
    text = files["markdown"].read_text("utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert "<b>" not in text
    assert "`x`" not in text.replace("\\`x\\`", "")
    assert markdown_lines(night)[0].startswith("> Made with the offline model")


def test_numbers_agree_in_html_markdown_and_json(tmp_path: Path) -> None:
    """Recall, intervals and n of every arm and position, read from all three."""
    night, files = finished(tmp_path, 1, recalled_below(6), bucket="recent", sessions=14)
    json_rows = {(row["arm"], row["bucket"]): row for row in night.summary.records()}
    markdown = files["markdown"].read_text("utf-8")
    for arm in ("main", "other"):
        row = json_rows[arm, "all"]
        shares = [f"{100 * row[name]:.0f}" for name in ("recall", "low", "high")]
        assert f"| {arm} | {shares[0]} {shares[1]}–{shares[2]} |" in markdown
    main = json_rows["main", "recent"]
    assert (
        f"| recent | {main['n']} | {100 * main['recall']:.0f} {100 * main['low']:.0f}–" in markdown
    )
    assert f"| −{100 * main['mde']:.0f} |" in markdown
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", files["html"].read_text("utf-8")))
    assert (
        f"n={main['n']}, {main['sessions']} sessions sees −{100 * main['mde']:.0f} points" in page
    )
    for (arm, bucket), row in json_rows.items():
        shown = [
            f"{100 * row[name]:.0f}" for name in ("recall", "low", "high", "in_context", "evidence")
        ]
        line = f"{arm} {bucket} {row['n']} {row['sessions']} {shown[0]} {shown[1]}–{shown[2]} {shown[3]} {shown[4]}"
        assert line in page, line
    assert night.record()["recall"] == night.summary.records()


def test_retention_stands_beside_recall(tmp_path: Path) -> None:
    """By hand: six of ten against nine of ten restated and none without history: 2/3."""
    night, _ = finished(tmp_path, 1, recalled_below(6))
    rows = {(row["arm"], row["bucket"]): row["retention"] for row in night.summary.records()}
    assert rows["main", "interior"]["value"] == pytest.approx(2 / 3)
    assert rows["none", "interior"] is None


def test_noise_is_split_by_role_where_there_are_replicates(tmp_path: Path) -> None:
    """Two reader replicates that always differ: every probe is discordant, recall is not."""
    run = made_run(tmp_path, "r", {"a": lambda s, p: "recalled" if s % 2 else "missed"},
                   sessions=12, replicates=2)  # fmt: skip
    (noise,) = summarise(run).noise
    assert noise.floor.discordant_share == pytest.approx(1.0)
    assert noise.floor.difference_sd == pytest.approx(0.0)
    assert (noise.split.reader, noise.split.judge) == (pytest.approx(0.5), None)


def test_arms_of_one_run_are_compared_and_unknown_ones_told(tmp_path: Path) -> None:
    """The label names the arms; the unknown arm's error lists the known."""
    night = night_of(made_run(tmp_path, "r", {"a": recalled_below(2), "b": recalled_below(7)}))
    found = compare_arms(
        Side(night=night, arm="a"), Side(night=night, arm="b"), rule=Rule(), measure=None
    )
    assert (found.before, found.after) == ("r:a", "r:b")
    assert {c.verdict for c in found.comparisons} == {"better"}
    with pytest.raises(InputError, match=r"arm must be one of a, b, got 'c' \(run r\)"):
        compare_arms(
            Side(night=night, arm="a"), Side(night=night, arm="c"), rule=Rule(), measure=None
        )


def test_runs_that_are_not_comparable_are_refused(tmp_path: Path) -> None:
    """The error says what differs; a gated arm must be in both."""
    one = night_of(made_run(tmp_path, "r1", {"a": recalled_below(2)}))
    other = night_of(made_run(tmp_path, "r2", {"a": recalled_below(2)}, changed={"scorer": "c2"}))
    with pytest.raises(InputError, match=r"differ in scorer \(c1 → c2\)\. Compare"):
        compare_nights(one, other, arms=["a"], rule=Rule(), measure=None)
    renamed = night_of(made_run(tmp_path, "r3", {"b": recalled_below(2)}))
    with pytest.raises(InputError, match=r"a gated arm must be in both runs, got b"):
        gate_run(renamed, one, margin=None)


def test_a_trend_has_a_band_for_every_night_and_marks_changes(tmp_path: Path) -> None:
    """A change of the prompt is a change point; a change of the code alone is not."""
    for day, below, changed in (
        (1, 6, {}),
        (2, 6, {"source": "y"}),
        (3, 3, {"reader_prompt": "v2"}),
    ):
        run = made_run(tmp_path, f"n{day}", {"main": recalled_below(below)}, changed=changed,
                       started_at=f"2026-03-0{day}")  # fmt: skip
        append_night(tmp_path / "history", run)
    found = open_trend(tmp_path / "history", experiment=None, arm=None, measure=None)
    assert (found.experiment, found.arm, found.measure) == ("nightly", "main", "answer")
    assert [point.recall["interior"].share for point in found.points] == pytest.approx(
        [0.6, 0.6, 0.3]
    )
    assert all(
        p.recall["all"].low < p.recall["all"].share < p.recall["all"].high for p in found.points
    )  # type: ignore[operator]
    assert [point.changes for point in found.points] == [
        (),
        (),
        ("hashes.reader_prompt: none → v2",),
    ]
    with pytest.raises(
        InputError, match=r"experiment must be one of the history's \(nightly\), got 'x'"
    ):
        open_trend(tmp_path / "history", experiment="x", arm=None, measure=None)


def test_a_sweep_says_which_arms_cannot_be_separated(tmp_path: Path) -> None:
    """Two arms alike, one better; no arm is picked silently."""
    run = made_run(
        tmp_path, "r", {"a": recalled_below(5), "b": recalled_below(5), "c": recalled_below(9)}
    )
    found = sweep_of(run, None)
    assert [point.arm for point in found.front.front] == ["c"]
    assert found.front.beaten_by == {"a": "c", "b": "c"}
    assert found.front.inseparable == ()
    alike = sweep_of(
        made_run(tmp_path, "q", {"a": recalled_below(5), "b": recalled_below(5)}), None
    )
    assert alike.front.inseparable == (("a", "b"),)
    with pytest.raises(InputError, match="a sweep needs at least two arms, got 1"):
        sweep_of(made_run(tmp_path, "one", {"a": recalled_below(5)}), None)
