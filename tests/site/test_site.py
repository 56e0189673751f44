"""The documentation's site: built without a warning, and opened page by page in a headless browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
#: Sizes of the window: a desktop and a telephone.
WINDOWS = ((1440, 900), (390, 844))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, timeout=600
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("no Chromium")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def pages(site: Path) -> list[Path]:
    """All but what a server answers for a page that it does not have."""
    return sorted(path for path in site.rglob("*.html") if path.name != "404.html")


def test_the_site_has_every_page(site: Path) -> None:
    names = {path.relative_to(site).as_posix() for path in pages(site)}
    assert "index.html" in names
    for spec in (ROOT / "specs").glob("*.energy"):
        assert f"specs/{spec.stem}.html" in names
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert name.replace("README.html", "index.html") in names


@pytest.mark.parametrize("window", WINDOWS, ids=lambda size: f"{size[0]}x{size[1]}")
def test_pages_open_without_an_error(site: Path, browser: Any, window: tuple[int, int]) -> None:
    """From the disk: no message on the console, nothing asked of a network, formulas that take up room."""
    page = browser.new_page(viewport={"width": window[0], "height": window[1]})
    messages: list[str] = []
    page.on("console", lambda message: messages.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: messages.append(f"{page.url}: {error}"))
    page.on("requestfailed", lambda request: _note_failure(request, messages))
    page.on("request", lambda request: _note_request(request.url, messages))
    formulas = 0
    for path in pages(site):
        page.goto(path.as_uri())
        sizes = page.eval_on_selector_all("math", "all => all.map(m => m.getBoundingClientRect().width)")
        formulas += len(sizes)
        assert all(size > 0 for size in sizes), path
        assert page.locator("merror").count() == 0, path
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, f"{path} is {wide} pixels wider than a window of {window[0]}"
    assert formulas > 500
    assert not messages, "\n".join(messages[:20])


def _note_failure(request: Any, messages: list[str]) -> None:
    """Loads that the browser gives up because it goes to the next page are none."""
    if request.failure != "net::ERR_ABORTED":
        messages.append(f"{request.url}: {request.failure}")


def _note_request(url: str, messages: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        messages.append(f"asked for {url}")


def test_every_link_leads_to_a_place(site: Path, browser: Any) -> None:
    """Links to pages and to places in them, as the browser resolves them."""
    page = browser.new_page()
    links: dict[str, set[str]] = {}
    places: dict[Path, set[str]] = {}
    for path in pages(site):
        page.goto(path.as_uri())
        hrefs = page.eval_on_selector_all("a[href], link[href], img[src]", "all => all.map(a => a.href || a.src)")
        links[path.name] = {href for href in hrefs if href.startswith("file:")}
        places[path] = set(page.eval_on_selector_all("[id]", "all => all.map(e => e.id)"))
    broken = []
    for name, hrefs in links.items():
        for href in hrefs:
            url, place = urldefrag(href)
            target = Path(unquote(url.removeprefix("file://")))
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (place and place not in places.get(target, {place})):
                broken.append(f"{name}: {href.removeprefix(site.as_uri())}")
    assert not broken, "\n".join(sorted(set(broken))[:40])


def test_the_search_answers(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("tracking-aep")
    page.locator("a.md-search-result__link").first.wait_for(timeout=20_000)
    assert page.locator("a.md-search-result__link").count() > 1
