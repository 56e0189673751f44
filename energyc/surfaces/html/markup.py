"""Elements of HTML and SVG, and whole pages. Text is escaped where it enters, and nowhere else."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

#: The elements that have no end tag.
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "path", "rect", "circle", "line", "polyline"})

#: The styles of a page of text.
PAGE = ("page.css", "verdict.css", "diagram.css")

Content = str | Markup | Iterable["Content"] | None


def tag(name: str, /, *content: Content, **attributes: object) -> Markup:
    """Return an element. Strings are escaped, ``Markup`` is not; an attribute None or False is left out.

    In the name of an attribute ``_`` stands for ``-``; one more at its end tells it from a word of Python.
    """
    start = Markup("<") + name + _attributes(attributes)
    if name in _VOID:
        return start + Markup("/>" if name in _SVG else ">")
    return start + Markup(">") + joined(content) + Markup("</") + name + Markup(">")


_SVG = frozenset({"path", "rect", "circle", "line", "polyline"})


def _attributes(attributes: dict[str, object]) -> Markup:
    pairs = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    written = (
        Markup(' {}="{}"').format(name, "" if value is True else value)
        for name, value in pairs
        if value is not None and value is not False
    )
    return Markup("").join(written)


def joined(content: Content) -> Markup:
    """Return content one after the other, strings escaped."""
    if content is None:
        return Markup("")
    if isinstance(content, str):
        return escape(content)
    return Markup("").join(map(joined, content))


def data(identifier: str, value: Any) -> Markup:
    """Return JSON for scripts of the page, from which no text can break out."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup('<script type="application/json" id="{}">').format(identifier) + Markup(safe) + Markup("</script>")


@cache
def asset(name: str) -> str:
    """Return a file of this package: a style or a script."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def style(*names: str, within: str = "") -> Markup:
    """Return styles of this package as an element, for all of a page or ``within`` what a selector finds."""
    text = "\n".join(map(asset, names))
    return tag("style", Markup(f"{within} {{\n{text}}}" if within else text))


def page(title: str, *body: Content, styles: Iterable[str] = PAGE, scripts: Iterable[str] = ()) -> str:
    """Return a whole page. A policy in its head forbids every request and every script that is not its own."""
    texts = [asset(name) for name in scripts]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(texts)),
        tag("title", title),
        style(*styles),
    ]
    own = [tag("script", Markup(text)) for text in texts]
    parts = [Markup("<!doctype html>"), Markup('<html lang="en">'), tag("head", head), tag("body", body, own)]
    return str(Markup("\n").join([*parts, Markup("</html>")])) + "\n"


def _policy(scripts: Iterable[str]) -> str:
    """Return what a page may load and run: pictures inside of it, and scripts with these texts."""
    hashes = [b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = "".join(f" 'sha256-{digest}'" for digest in hashes)
    return "default-src 'none'; img-src data:; style-src 'unsafe-inline'" + (
        f"; script-src{allowed}" if allowed else ""
    )
