"""A real browser without a network, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")


class Opened:
    """A page that is open, with what it complained about and what it asked the network for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def fits(self) -> bool:
        """Whether the window need not be scrolled sideways."""
        widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        whole, shown = self.page.evaluate(widths)
        return bool(whole <= shown)


@contextmanager
def opened(path: Path, width: int = 1280) -> Iterator[Opened]:
    """Open a file in Chromium; the test is skipped where it, or playwright, is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = Opened(browser.new_page(viewport={"width": width, "height": 900}))
        found.page.goto(path.as_uri())
        yield found
        browser.close()
    assert found.requests == [path.as_uri()]
    assert found.complaints == []
