"""The page as a person uses it, in a real browser, from a file, without a network."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from ctxeng.harness.reports.html import write_html
from ctxeng.harness.reports.summary import summarise
from ctxeng.harness.results.run_folder import RunFolder
from tests.harness.reports.beside import BESIDE
from tests.harness.reports.made import made_run, value
from tests.support.hostile_html import CORPUS

pytestmark = pytest.mark.browser
PATIENCE = 120_000  # milliseconds: a machine may be busy with the rest of the suite
expect.set_options(timeout=PATIENCE)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium; without one, fail in CI and skip elsewhere."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None and os.environ.get("CI") == "true":
        pytest.fail("Chromium must be installed in CI, got none of " + ", ".join(NAMES))
    if path is None:
        pytest.skip(f"no Chromium ({', '.join(NAMES)})")
    with sync_playwright() as play:
        started = play.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield started
        started.close()


def page_of(run: RunFolder, name: str, **options: object) -> Path:
    return write_html(run, summarise(run), run.path / name, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the run by hand, with everything beside it."""
    run = made_run(tmp_path_factory.mktemp("plain"))
    return page_of(run, "report.html", beside=BESIDE)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the same run with every text of the corpus in every name."""
    numbers = count()
    given: dict[str, str] = {}

    def mangle(text: str) -> str:
        if text not in given:
            given[text] = f"{CORPUS[next(numbers) % len(CORPUS)]} {text}"
        return given[text]

    return page_of(made_run(tmp_path_factory.mktemp("hostile"), mangle=mangle), "report.html")


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Return a function that opens a page; afterwards nothing may have been logged or fetched."""
    contexts, noise = [], []

    def open_page(path: Path, *, width: int = 1280) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="light",
            offline=True,
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("request", lambda r: noise.append(r.url) if r.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.wait_for_selector("#list tbody tr")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [line for line in noise if not line.startswith("data:")] == []


def shown(page: Page) -> int:
    """Return how many cells the list says it has."""
    return int(re.match(r"[\d,]+", page.inner_text("#found"))[0].replace(",", ""))  # type: ignore[index]


def test_each_filter_keeps_its_cells(opened: Opened, plain: Path) -> None:
    """48 cells: 3 arms, 2 sessions, 8 facts; the counts follow from how the run is made."""
    page = opened(plain)
    assert shown(page) == 48
    for name, option, cells in (
        ("arm", "roomy", 16),
        ("bucket", "boundary", 18),
        ("kind", "decision", 24),
        ("language", "ja", 24),
        ("outcome", "error", 2),
        ("loss_stage", "lost in summary", 8),
        ("loss_stage", "not lost", 40),
    ):
        page.select_option(f"select[name={name}]", label=option)
        assert shown(page) == cells, (name, option)
        page.select_option(f"select[name={name}]", label="all")


def test_filters_meet_and_clear(opened: Opened, plain: Path) -> None:
    """Two filters keep what both keep; a text filter looks at probe, question and session."""
    page = opened(plain)
    page.select_option("select[name=arm]", label="episodes")
    page.select_option("select[name=language]", label="en")
    assert shown(page) == 8
    page.fill("input[name=text]", "SLOT 3")
    assert shown(page) == 2
    page.click("text=Clear")
    expect(page.locator("#found")).to_have_text(re.compile("^48"))


def test_a_number_of_the_recall_table_lists_its_cells(opened: Opened, plain: Path) -> None:
    """Boundary facts of the second arm: three in each of two sessions."""
    page = opened(plain)
    page.click("a.jump[data-arm=roomy][data-bucket=boundary]")
    assert shown(page) == 6


def test_tables_sort_both_ways_by_number(opened: Opened, plain: Path) -> None:
    """The headings are buttons, and say how the table is sorted."""
    page = opened(plain)
    heading = page.locator("#list th", has_text="tokens")
    heading.get_by_role("button").press("Enter")
    tokens = page.locator("#list td.number").all_inner_texts()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert tokens == sorted(tokens, key=int) and tokens[0] == "100" and tokens[-1] == "170"
    heading.get_by_role("button").press("Enter")
    assert page.locator("#list td.number").first.inner_text() == "170"
    recall = page.locator("table.recall").first
    recall.locator("th button", has_text="all").click()
    assert recall.locator("tbody th").all_inner_texts() == ["roomy", "full", "episodes"]
    recall.locator("th button", has_text="all").click()
    assert recall.locator("tbody th").all_inner_texts()[0] == "episodes"


def test_a_probe_opens_its_path_with_the_value_marked(opened: Opened, plain: Path) -> None:
    """Evidence, artifact, prompt and answer, by keyboard alone; Esc closes, the focus is back."""
    page = opened(plain)
    page.select_option("select[name=arm]", label="roomy")
    page.fill("input[name=text]", "slot 5")
    opener = page.locator("#list button.link").first
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    titles = dialog.locator("h3").all_inner_texts()
    assert [title[0] for title in titles] == list("123456")
    stations = dialog.locator(".station")
    for number in (0, 1, 4, 5):
        assert value(5) in stations.nth(number).locator("mark").all_inner_texts()
    assert set(dialog.locator("mark").all_inner_texts()) == {value(5)}
    assert stations.nth(0).locator(".evidence .said").inner_text().endswith("部品です 😀.")
    assert page.evaluate("document.activeElement.textContent") == "Close"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.textContent") == opener.inner_text()


def test_the_path_of_a_lost_fact_says_where_and_leads_to_the_other_arm(
    opened: Opened, plain: Path
) -> None:
    """The first arm's summary lacks an even fact; the second arm's has it."""
    page = opened(plain)
    page.select_option("select[name=loss_stage]", label="lost in summary")
    page.locator("#list tbody tr").first.locator("td.question").click()
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    assert "written without the value" in dialog.inner_text()
    assert dialog.locator(".station").nth(1).locator("mark").count() == 0
    dialog.locator(".arms button", has_text="roomy").click()
    expect(dialog.locator("[aria-pressed=true]")).to_have_text(re.compile("^roomy"))
    assert dialog.locator(".station").nth(1).locator("mark").count() == 1


def test_hostile_texts_stay_texts(opened: Opened, hostile: Path) -> None:
    """Names, questions, messages, answers and errors full of markup run nothing and make nothing."""
    page = opened(hostile)
    assert page.locator("img, iframe, math, form[action]").count() == 0
    assert shown(page) == 48
    for row in range(6):
        page.locator("#list button.link").nth(row).click()
        page.locator("dialog[open]").wait_for()
        assert page.locator("dialog").locator("img, iframe, a, script, form, math").count() == 0
        page.keyboard.press("Escape")
    text = page.evaluate("document.body.innerText")
    assert sum(piece in text for piece in CORPUS) >= len(CORPUS) // 2
    assert page.evaluate("window.owned === undefined")


def test_a_script_that_got_in_would_not_run(browser: Browser, plain: Path, tmp_path: Path) -> None:
    """The page's own policy allows its scripts by their hash and nothing else."""
    forced = tmp_path / "forced.html"
    got_in = "<script>window.owned=1</script><b id=b onclick='window.owned=1'>b</b></main>"
    forced.write_text(plain.read_text("utf-8").replace("</main>", got_in), "utf-8")
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(forced.as_uri())
    page.click("#b")
    assert page.evaluate("window.owned === undefined")
    assert len([text for text in refused if "Content Security Policy" in text]) == 2
    page.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_sticks_out(opened: Opened, plain: Path, hostile: Path, width: int) -> None:
    """The page scrolls downwards alone, also with long names and with a path open."""
    for path in (plain, hostile):
        page = opened(path, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator("#list button.link").first.click()
        page.locator("dialog[open]").wait_for()
        box = page.locator("dialog").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
        inside = page.evaluate(
            "(d => d.scrollWidth - d.clientWidth)(document.querySelector('dialog'))"
        )
        assert inside <= 0


def test_names_of_arms_are_whole(opened: Opened, hostile: Path) -> None:
    """Arms of a sweep differ in the end of their names: nothing is cut, and the path stays near."""
    page = opened(hostile, width=400)
    cut = page.evaluate(
        "[...document.querySelectorAll('th[scope=row], #list td.name, figcaption')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert cut == 0
    page.locator("#list button.link").first.click()
    page.locator("dialog[open]").wait_for()
    box = page.locator("dialog .arms").bounding_box()
    assert box is not None and box["height"] <= 160


def test_dark_is_dark(opened: Opened, plain: Path) -> None:
    """Ink and paper change places, and keep a contrast of at least 7 to 1."""
    page = opened(plain)
    assert contrast(page) > 7
    page.emulate_media(color_scheme="dark")
    assert contrast(page) < 1 / 7


def contrast(page: Page) -> float:
    """Return the luminance of the paper over that of the ink. Source: WCAG 2.2."""
    colours = page.evaluate("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
    paper, ink = (luminance([int(n) for n in re.findall(r"\d+", c)[:3]]) for c in colours)
    return (paper + 0.05) / (ink + 0.05)


def luminance(rgb: list[int]) -> float:
    parts = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
