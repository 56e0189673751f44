"""The documentation's site: built without a warning, and opened page by page in a headless browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from benchmarks.gallery import GALLERY
from tests.drawing import share
from tests.quick import few

ROOT = Path(__file__).resolve().parents[2]
BROWSER = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
#: Sizes of the window: a desktop and a telephone.
WINDOWS = ((1440, 900), (390, 844))

#: Pages that are opened in the default tests; the slow ones open all.
MAIN = (
    "index.html", "gallery.html", "tutorial.html", "for-ep-papers.html", "for-hardware.html", "for-layers.html",
    "rules.html", "specs/index.html", "specs/hopfield.html", "errors/index.html", "benchmarks/index.html",
)  # fmt: skip
#: What readers ask for, and the pages one of which has to be among the first three that the search finds.
QUERIES = {
    "equilibrium propagation nudge": {"rules.html"},
    "install": {"index.html", "tutorial.html", "editors.html"},
    "hopfield layer torch": {"for-layers.html"},
    "train on my own data": {"data.html", "training.html"},
    "spice netlist": {"hardware.html", "for-hardware.html"},
    "does not settle": {"training.html", "verify.html"},
    "predictive coding": {"rules.html", "specs/predictive_coding.html", "for-ep-papers.html"},
    "asymmetric jacobian proof": {"conservativeness.html", "certificates.html"},
    "resume a run": {"training.html"},
    "deep equilibrium model": {"for-layers.html", "specs/deq.html"},
}
#: Specs whose derivation stands in the quick site: one with layers, one without.
DERIVED = ("hopfield", "thick")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, strict, with the derivations of few specs: these take half of the time."""
    pytest.importorskip("material")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    from website import pages

    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        derivation = pages._derivation
        patch.setattr(pages, "_derivation", lambda name: derivation(name) if name in DERIVED else iter(()))
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the whole site, as ``make docs`` makes it."""
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


@pytest.mark.slow
def test_the_site_has_every_page(quick: Path) -> None:
    names = {path.relative_to(quick).as_posix() for path in pages(quick)}
    assert names >= {*MAIN}
    for spec in (ROOT / "specs").glob("*.energy"):
        assert f"specs/{spec.stem}.html" in names
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert name.replace("README.html", "index.html") in names


@pytest.mark.slow
def test_the_gallery_is_a_card_for_each_system(quick: Path) -> None:
    for name, count in (("gallery", len(GALLERY)), ("index", 8)):
        text = (quick / f"{name}.html").read_text(encoding="utf-8")
        cards = re.findall(r'<div class="card">\s*<p><img alt="[^"]+" loading="lazy" src="pictures/(\w+)\.png"', text)
        assert len(cards) == count and set(cards) <= set(GALLERY)
        assert all(f'href="specs/{card}.html"' in text for card in cards)


def test_the_figures_of_the_home_page_were_measured() -> None:
    """Each stands, or follows from figures that stand, in the place that is linked."""
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    results = (ROOT / "benchmarks" / "log" / "results.md").read_text(encoding="utf-8")
    table = (ROOT / "benchmarks" / "results" / "against.md").read_text(encoding="utf-8")
    head, *_ = (line for line in table.splitlines() if line.startswith("| |"))
    (row,) = (line for line in table.splitlines() if line.startswith("| hopfield, B = 128: centered-ep"))
    found = dict(zip(head.split("|"), row.replace("*", "").split("|"), strict=True))
    kernels, autograd = (float(found[f" {name} "]) for name in ("energyc, kernels", "torch, autograd"))
    assert f"**{autograd / kernels:.1f} times**" in home and f"{kernels} against {autograd} ms" in home
    assert "| tracking-aep | 1, 2e-11 | beta^2.00 | 1, 2e-9 |" in results and "**2·10<sup>-9</sup>**" in home
    assert "| 0.987, 16 % |" in results and "it is 16 %" in home
    for number in ("97.21 %", "97.12 %"):
        assert number in results and number in home
    for command in re.findall(r"^`((?:energyc|python -m) [^`]+)`", home, re.MULTILINE):
        assert command in results + (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8"), command


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_main_pages_open(quick: Path, browser: Any, scheme: str) -> None:
    """At three widths, without a message, wider than no window; on the home page no code is cut at 1440."""
    page = browser.new_page(color_scheme=scheme)
    messages = listening(page)
    for name in MAIN:
        page.goto((quick / name).as_uri())
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert beyond(page) <= 1, f"{name} is wider than a window of {width}"
            if name == "index.html" and width == 1440:
                cut = page.eval_on_selector_all("pre > code", "all => all.map(c => c.scrollWidth - c.clientWidth)")
                assert len(cut) >= 4 and max(cut) <= 0, cut
                install = page.locator(".hero pre").bounding_box()
                assert install["y"] + install["height"] < 600
    assert not messages, "\n".join(messages[:20])
    page.close()


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("query", few(QUERIES, ["equilibrium propagation nudge"]))
def test_the_search_finds_what_is_meant(quick: Path, searching: Any, query: str) -> None:
    links = searching(query)
    found = [Path(unquote(link).removeprefix("file://")).relative_to(quick).as_posix() for link in links]
    assert set(found[:3]) & QUERIES[query], found[:6]
    if query == "equilibrium propagation nudge":
        assert found[0] == "rules.html"


@pytest.fixture(scope="module")
def searching(quick: Path, browser: Any) -> Iterator[Any]:
    """The addresses of the pages that the search of the site finds, the best first."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto((quick / "index.html").as_uri())
    page.keyboard.press("/")

    def search(query: str) -> list[str]:
        results = page.locator("a.md-search-result__link")
        page.keyboard.press("Control+a")
        page.keyboard.press("Backspace")
        results.first.wait_for(state="detached", timeout=60_000)
        page.keyboard.type(query)
        results.first.wait_for(timeout=60_000)
        links: list[str] = []
        for _ in range(40):  # while it was typed, the beginning was looked for
            before, links = links, page.eval_on_selector_all("a.md-search-result__link", "all => all.map(a => a.href)")
            if links and links == before:
                break
            page.wait_for_timeout(400)
        return list(dict.fromkeys(urldefrag(link)[0].split("?")[0] for link in links))

    yield search
    page.close()


@pytest.mark.slow
def test_pages_open_without_an_error(site: Path, browser: Any) -> None:
    """From the disk: no message on the console, nothing asked of a network, formulas that take up room."""
    page = browser.new_page()
    messages = listening(page)
    all_pages = pages(site)
    opened, formulas = share(all_pages), 0
    for path in opened:
        page.goto(path.as_uri())
        for width, height in WINDOWS:
            page.set_viewport_size({"width": width, "height": height})
            sizes = page.eval_on_selector_all("math", "all => all.map(m => m.getBoundingClientRect().width)")
            formulas += len(sizes)
            assert all(size > 0 for size in sizes), path
            assert beyond(page) <= 1, f"{path} is wider than a window of {width}"
        assert page.locator("merror").count() == 0, path
    assert formulas > (500 * len(WINDOWS) if opened == all_pages else 0)
    assert not messages, "\n".join(messages[:20])


def beyond(page: Any) -> float:
    """How many pixels a page is wider than its window, once it lies there: what slides aside takes a moment."""
    wide = 0.0
    for _ in range(20):
        wide = float(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
        if wide <= 1:
            break
        page.wait_for_timeout(100)
    return wide


def listening(page: Any) -> list[str]:
    """The messages of a page from now on, and what it asks of a network."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: messages.append(f"{page.url}: {error}"))
    page.on("requestfailed", lambda request: _note_failure(request, messages))
    page.on("request", lambda request: _note_request(request.url, messages))
    return messages


def _note_failure(request: Any, messages: list[str]) -> None:
    """Loads that the browser gives up because it goes to the next page are none."""
    if request.failure != "net::ERR_ABORTED":
        messages.append(f"{request.url}: {request.failure}")


def _note_request(url: str, messages: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        messages.append(f"asked for {url}")


class Links(HTMLParser):
    """The addresses that a page refers to, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.base = path, path.as_uri()
        self.addresses: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "base" and given.get("href"):
            self.base = urljoin(self.base, str(given["href"]))
        if place := given.get("id"):
            self.places.add(place)
        address = given.get("src" if tag == "img" else "href") if tag in ("a", "link", "img") else None
        if address and (whole := urljoin(self.base, address)).startswith("file:"):
            self.addresses.add(whole)


@pytest.mark.slow
def test_every_link_leads_to_a_place(site: Path) -> None:
    """Links to pages and to places in them."""
    found = {path: Links(path) for path in pages(site)}
    assert sum(len(links.addresses) for links in found.values()) > 1000
    broken = []
    for path, links in found.items():
        for address in links.addresses:
            url, place = urldefrag(address)
            target = Path(unquote(url.removeprefix("file://")))
            target = target / "index.html" if target.is_dir() else target
            known = found[target].places if target in found else {place}
            if not target.exists() or (place and unquote(place) not in known):
                broken.append(f"{path.name}: {address.removeprefix(site.as_uri())}")
    assert not broken, "\n".join(sorted(set(broken))[:40])
