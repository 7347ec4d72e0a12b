"""The page in a real browser: it sorts, searches, shows its pictures, and reads well everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess

import numba
import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from test_valuation import by_hand

pytest.importorskip("jinja2", reason="Jinja2 is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason=f"no browser: none of {', '.join(NAMES)} is in PATH"),
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="pages are the same with the compiler off"),
]

N = 120
SCREENS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def browser():
    asked = subprocess.run([CHROMIUM, "--version"], capture_output=True, text=True, timeout=60, check=False)
    if asked.returncode:  # what some systems put there only says how to install one
        pytest.skip(f"{CHROMIUM} does not start: {asked.stderr.strip()}")
    with playwright.sync_playwright() as started:
        # Root, as in many containers, has no sandbox.
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(N) < 0.1, np.nan, rng.normal(0, 100, N).round(2)),
            "city": rng.choice(["Graz", "Bonn", "Łódź", "a place with a name that is far too long " * 4], N),
        }
    )


@pytest.fixture(scope="module")
def valuation():
    rng = np.random.default_rng(1)
    names = [f"id {k}" for k in range(N)]
    return by_hand(rng.normal(0.01, 0.02, N), rng.uniform(0.001, 0.02, N), player_names=names)


@pytest.fixture(scope="module")
def plain(tmp_path_factory, valuation, frame):
    path = tmp_path_factory.mktemp("report") / "plain.html"
    valuation.to_html(path, X=frame, y=["yes", "no"] * (N // 2))
    return path


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A page with every section."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(0, 1, (40, 2)) + y[:, None]
    game = osv.NearestNeighborGame(X[:20], y[:20], X[20:], y[20:], position_weight="uniform")
    history = osv.History(osv.RelativeChange(1e-9) | osv.MaxPermutations(300))
    valuation = osv.sample_values(game, "partial_ordinal", "mc", stopping=history, random_state=0)
    path = tmp_path_factory.mktemp("report") / "full.html"
    valuation.to_html(path, X=X[:20], game=game, history=history)
    return path


@pytest.fixture
def visit(browser):
    """Open a page; what goes wrong in it, or leaves it, fails the test at the end."""
    contexts, trouble = [], []

    def go(path, screen="desktop", scheme="light", **more):
        context = browser.new_context(viewport=SCREENS[screen], color_scheme=scheme, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == path.as_uri() or trouble.append(request.url))
        page.goto(path.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert not trouble


def cells(page, title):
    """The cells of a column as they stand in the page."""
    heads = page.locator("#rows thead th").all_inner_texts()
    at = [head.strip() for head in heads].index(title) + 1
    return page.locator(f"#rows tbody td:nth-child({at})").all_inner_texts()


def numbers(page, title):
    return [float("nan") if x == "–" else float(x.replace("\u2212", "-")) for x in cells(page, title)]  # noqa: RUF001


def head(page, title):
    return page.locator("#rows thead button", has_text=re.compile(f"^{re.escape(title)}$"))


def status(page):
    return page.locator("#status").inner_text()


def search(page, words):
    before = page.locator("#rows tbody").inner_html()
    page.locator("#search").fill(words)
    page.wait_for_function("before => document.querySelector('#rows tbody').innerHTML !== before", arg=before)


class TestTable:
    def test_begins_with_the_suspects(self, visit, plain, valuation):
        page = visit(plain)
        suspects = valuation.suspects().index.tolist()
        others = [f"id {k}" for k in valuation.ranking()[::-1] if f"id {k}" not in suspects]
        assert cells(page, "row") == (suspects + others)[:25]
        assert status(page) == f"1 to 25 of {N}"
        assert page.locator("#rows tbody tr.suspect").count() == len(suspects) > 0
        assert page.locator("#rows td.interval circle").count() == 25

    def test_sorts_by_numbers_with_what_is_missing_last(self, visit, plain, frame):
        page = visit(plain)
        page.locator("#size").select_option("250")
        known = np.sort(frame["size"].dropna())
        for ascending in (True, False):
            head(page, "size").click()
            shown = numbers(page, "size")
            assert shown[: len(known)] == (known if ascending else known[::-1]).tolist()
            assert np.isnan(shown[len(known) :]).all()
            sorted_heads = page.locator("#rows th[aria-sort]")
            assert sorted_heads.count() == 1
            assert sorted_heads.get_attribute("aria-sort") == ("ascending" if ascending else "descending")
            assert sorted_heads.inner_text().strip() == "size"

    def test_the_keyboard_is_enough(self, visit, plain, valuation):
        page = visit(plain)
        page.locator("#search").focus()
        names = []
        for _ in range(12):
            page.keyboard.press("Tab")
            names.append(page.evaluate("document.activeElement.textContent.trim()"))
            if names[-1] == "value":
                break
        assert names[-1] == "value"
        page.keyboard.press("Enter")
        page.keyboard.press("Space")
        best = valuation.ranking()[:25]
        assert cells(page, "row") == [f"id {k}" for k in best]
        assert page.locator("#rows th[aria-sort=descending]").inner_text().strip() == "value"

    def test_searches_in_all_columns(self, visit, plain, frame, valuation):
        page = visit(plain)
        graz = (frame["city"] == "Graz").to_numpy()
        search(page, "gRaZ")
        assert status(page).endswith(f"of {graz.sum()} found in {N}")
        assert set(cells(page, "city")) == {"Graz"}
        both = graz & (np.arange(N) % 2 == 1)
        search(page, " graz  no ")
        assert status(page).endswith(f"of {both.sum()} found in {N}")
        place = int(np.flatnonzero(both)[0])
        search(page, f"graz no id {place}")
        assert f"id {place}" in cells(page, "row")
        search(page, "nowhere to be found")
        assert status(page) == "Nothing found"
        assert page.locator("#rows tbody tr").count() == 0
        assert page.locator("#next").is_disabled()
        search(page, "")
        assert status(page) == f"1 to 25 of {N}"
        page.locator("#suspects").check()
        assert status(page).endswith(f"of {len(valuation.suspects())} found in {N}")

    def test_without_a_script(self, visit, plain):
        page = visit(plain, java_script_enabled=False)
        assert page.locator("#rows tbody tr").count() == 25
        assert page.locator("noscript p").is_visible()
        assert not page.locator("#controls").is_visible()


class TestLooks:
    @pytest.mark.parametrize("screen", ["desktop", "phone"])
    def test_pictures_are_seen(self, visit, full, screen):
        page = visit(full, screen)
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        pictures = page.locator("figure > svg")
        assert pictures.count() == 5
        for k in range(5):
            box = pictures.nth(k).bounding_box()
            assert box["width"] > 300
            assert box["height"] > 150
        lines = page.evaluate(
            "[...document.querySelectorAll('polyline')]"
            ".map(line => [line.getBoundingClientRect().width, getComputedStyle(line).stroke])"
        )
        assert len(lines) == 6 + 2 + 1 + 3
        assert min(width for width, _ in lines) > 50
        assert all(stroke.startswith("rgb(") for _, stroke in lines)
        sizes = page.evaluate(
            "[...document.querySelectorAll('figure > svg .tick')].map(text => text.getBoundingClientRect())"
            ".map(box => [box.left, box.right, box.height])"
        )
        assert min(height for *_, height in sizes) > 9, "labels can be read"
        assert min(left for left, *_ in sizes) >= 0
        assert max(right for _, right, _ in sizes) <= SCREENS[screen]["width"]

    @pytest.mark.parametrize("name", ["plain", "full"])
    def test_a_phone_has_to_scroll_downwards_only(self, visit, request, name):
        page = visit(request.getfixturevalue(name), "phone")
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        outside = page.evaluate(
            "[...document.querySelectorAll('h1, h2, p, dd, td, figure, .scroll, .controls, input, pre')]"
            ".filter(part => part.getBoundingClientRect().right > 390.5)"
            ".map(part => part.outerHTML.slice(0, 80))"
        )
        assert outside == []
        inside = page.evaluate(
            "[...document.querySelectorAll('.scroll, pre')].filter(box => box.scrollWidth > box.clientWidth)"
            ".map(box => box.outerHTML.slice(0, 80))"
        )
        assert inside == []

    def test_whose_row_it_is_stays_in_sight(self, visit, plain):
        page = visit(plain)
        table = page.locator("#rows").locator("..")
        assert table.evaluate("box => box.scrollWidth > box.clientWidth")
        table.evaluate("box => { box.scrollLeft = 300; }")
        name = page.locator("#rows tbody td").first.bounding_box()
        assert abs(name["x"] - table.bounding_box()["x"]) < 3

    def test_what_few_want_to_know_is_folded_away(self, visit, full):
        page = visit(full)
        for name in ("settings", "convergence", "cite"):
            content = page.locator(f"#{name} > :not(summary)").first
            assert not content.is_visible()
            page.locator(f"#{name} > summary").click()
            assert content.is_visible()
