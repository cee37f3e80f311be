"""The page as text: what it says, how large it gets, and what it leaves out."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from ctxeng.harness.reports import html
from ctxeng.harness.reports.beside import Beside
from ctxeng.harness.reports.cache import run_cache
from ctxeng.harness.reports.embedded import Embedded, embed, pack
from ctxeng.harness.reports.html import MAX_BYTES, render
from ctxeng.harness.reports.summary import Summary, summarise
from ctxeng.harness.results.run_folder import RunFolder
from tests.harness.reports.beside import BESIDE
from tests.harness.reports.made import made_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return made_run(tmp_path_factory.mktemp("html"))


@pytest.fixture(scope="module")
def summary(run: RunFolder) -> Summary:
    return summarise(run)


@pytest.fixture(scope="module")
def page(run: RunFolder, summary: Summary) -> str:
    return render(run, summary, BESIDE)


def words_of(page: str) -> str:
    """Return the page's own words up to the losses: its first screen."""
    body = page[page.index("<body>") : page.index('id="losses"')]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def part(page: str, start: str, end: str) -> str:
    at = page.index(start)
    return page[at : page.index(end, at)]


def unpacked(block: str) -> Any:
    return orjson.loads(gzip.decompress(base64.b64decode(block)))


@pytest.mark.parametrize(
    "said",
    [
        "2 sessions, 40 messages, 16 probes, 2 arms and 1 control.",
        "Reader made-1 , summariser made-1 , judge made-1",
        "ctxeng 0, source 0123",
        "Too few probes for a claim (under 40)",
        "Answer recall 50 %",
        "Lost before the reader 8 of 16 most: lost in summary (8)",
        "135 tokens 34 % of the whole history",
        "Errors 2 of 48 cells",
        "1.50 USD, 6 made now",
        "What changed since made-yesterday",
        "prompt of the summariser",
        "−47 worse".replace("−", "-"),
        "sees",
        "Positions on both sides are by the borders of made",
    ],
)
def test_the_first_screen_says(page: str, said: str) -> None:
    """By hand from the made run: half of the reference arm's 16 facts are lost in the summary."""
    assert said in words_of(page)


def test_every_number_of_the_recall_table_is_the_summarys(page: str, summary: Summary) -> None:
    """Shares stand in the cells unrounded, for sorting: they are those of the summary."""
    table = part(page, '<table class="recall sortable">', "</table>")
    found = [float(text) for text in re.findall(r'data-v="([\d.]+)"', table)]
    names = (*summary.arms, *summary.controls)
    rows = [summary.row(arm, bucket) for arm in names for bucket in ("all", *summary.buckets)]
    assert found == [row.recall for row in rows if row]


def test_changing_a_colour_changes_no_number(
    run: RunFolder, summary: Summary, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All colours are in the style sheet: with another one, only it and its hash differ."""
    asset = html._asset
    monkeypatch.setattr(
        html, "_asset", lambda name: re.sub("#[0-9a-f]{6}", "#123456", asset(name))
        if name.endswith(".css") else asset(name),
    )  # fmt: skip
    other = render(run, summary, BESIDE)
    assert other != page
    assert without_style(other) == without_style(page)


def without_style(page: str) -> str:
    return re.sub(r"<style>.*?</style>|style-src '[^']+'", "", page, flags=re.DOTALL)


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    """No address, and a policy that forbids to fetch."""
    assert "default-src 'none'" in page
    assert re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page) == []
    assert not re.search(r"\bon\w+=|\bstyle=", page[: page.index("<script>")])


def test_sections_stand_only_where_something_is_given(run: RunFolder, summary: Summary) -> None:
    """Without a night before, a trend or economics the page does not speak of them."""
    bare = render(run, summary, Beside())
    for word in ("What changed since", 'id="trend"', 'class="was"', "per 1,000 turns"):
        assert word not in bare


def test_what_is_given_beside_is_shown(page: str) -> None:
    """A bar of last night, a change point, a table of costs, the front and what is uncertain."""
    assert page.count('class="was"') == 2  # the cell and the key
    assert "2026-03-03: window 800 &lt;b&gt;→&lt;/b&gt; 600" in page
    assert "USD per 1,000 turns" in page and "1.25" in page
    assert '<polyline class="front"' in page
    assert "cannot separate episodes from roomy" in page


def test_the_cache_as_foretold_stands_beside_the_cache_as_billed(page: str, run: RunFolder) -> None:
    """One row an arm, as the run's own table has it; a reader without a cache has no such table."""
    grid = run_cache(run)
    table = part(page, grid.title, "</table>")
    assert [
        re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", line) for line in table.split("<tr>")[2:]
    ] == [list(row) for row in grid.rows]
    assert grid.rows


def test_a_reader_without_a_cache_has_no_table_of_it(
    run: RunFolder, summary: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The offline model caches nothing, so nothing is foretold."""
    manifest = run.manifest()
    manifest["experiment"]["models"]["reader"] = "offline"
    monkeypatch.setattr(RunFolder, "manifest", lambda _: manifest)
    assert "foretold by the rules" not in render(run, summary, Beside())


def test_errors_are_listed_together_with_an_example(page: str) -> None:
    """Two cells share one error; the refused compaction has its reason."""
    errors = part(page, 'id="errors"', "</section>")
    said = " ".join(re.sub(r"<[^>]+>", " ", errors).split())
    assert "error 2 429 too many requests roomy session-0 / p7" in said
    assert "compaction: memory 1 too long episodes session-0" in said


def test_the_paths_of_all_facts_are_embedded(run: RunFolder) -> None:
    """Two arms of 16 facts, 8 lost; each path lies where the index says; controls have none."""
    found = embed(run, room=100_000)
    assert (found.lost, found.all_lost, found.kept, found.all_kept) == (8, 8, 24, 24)
    index = unpacked(found.index)
    chunks = [unpacked(chunk) for chunk in found.chunks]
    arms = index["columns"]["arm"]
    for at, place in enumerate(index["path"]):
        arm = arms["values"][arms["codes"][at]]
        if arm == "full":
            assert place is None
            continue
        path = chunks[place[0]]["paths"][place[1]]
        assert [path["session_id"], path["probe_id"]] == index["facts"][index["fact"][at]][:2]
        assert path["arm"] == arm


def test_a_run_without_its_messages_has_a_page_without_paths(tmp_path: Path) -> None:
    """An older run lacks the table of probes: cells are listed, none opens, and the page says so."""
    run = made_run(tmp_path)
    run.table("probes").unlink()
    page = render(run, summarise(run), Beside())
    assert "Paths on this page: 0 of 8 lost facts, 0 of 24 others" in page


def test_where_there_is_no_room_lost_facts_come_first(run: RunFolder) -> None:
    """With less room than all paths need, the lost ones are there and others are left out."""
    whole = embed(run, room=100_000)
    size = len(whole.index) + sum(map(len, whole.chunks))
    tight = embed(run, room=size - 200)
    assert tight.lost == 8
    assert 0 < tight.kept < 24
    none = embed(run, room=len(whole.index) + 10)
    assert (none.lost, none.kept, none.chunks) == (0, 0, ())


def test_a_page_of_20_000_cells_stays_under_5_mb(run: RunFolder, summary: Summary) -> None:
    """With texts that hardly compress; what does not fit is told in numbers, lost facts first."""
    found = made_pack(20_000, room=MAX_BYTES - len(render(run, summary, BESIDE, max_bytes=0)))
    size = len(found.index) + sum(map(len, found.chunks)) + 60 * len(found.chunks)
    assert size < MAX_BYTES - len(render(run, summary, BESIDE, max_bytes=0))
    assert size > 0.9 * MAX_BYTES  # the room is used
    assert found.lost == found.all_lost == 5_000
    assert 1_000 < found.kept < found.all_kept == 15_000


def made_pack(cells: int, *, room: int) -> Embedded:
    """Return a packed run of ten arms, a quarter of its cells lost, 20 sessions."""
    rng = np.random.default_rng(7)
    words = [f"w{number:04d}" for number in range(5000)]
    rows = [
        {
            "arm": f"arm-{i % 10}", "is_control": False, "session_id": f"s{i // 10 % 20}",
            "probe_id": f"p{i // 200}", "replicate": 0, "kind": "number", "language": "en",
            "bucket": "interior", "arm_bucket": "interior", "outcome": "missed",
            "loss_stage": None if i % 4 else "over_budget", "value_in_context": True,
            "context_tokens": 1000 + i % 977,
        }
        for i in range(cells)
    ]  # fmt: skip

    def paths_of(asked: Iterable[Sequence[Any]]) -> Iterable[list[dict[str, Any]]]:
        for some in asked:
            texts = rng.integers(0, len(words), size=(len(some), 130))
            yield [{"text": " ".join(words[n] for n in line)} for line in texts]

    questions = {(r["session_id"], r["probe_id"]): f"What is {r['probe_id']}?" for r in rows}
    return pack(rows, questions, total=cells, room=room, paths_of=paths_of)


def test_the_name_of_a_swept_arm_breaks_between_its_settings_and_stays_text(tmp_path: Path) -> None:
    """What stands in a name is escaped before places to break are put in."""
    run = made_run(tmp_path, mangle=lambda name: f"{name}[a=<b>,c=2]")
    shown = render(run, summarise(run), beside=Beside())
    assert '<th scope="row">episodes[<wbr>a=&lt;b&gt;,<wbr>c=2]</th>' in shown
    assert "a=<b>" not in re.sub(r"<script.*?</script>", "", shown, flags=re.DOTALL)
