"""Pages and cards from the templates of this package. Text is escaped where it enters a template."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from energyc.language.diagnostics import UserError
from energyc.surfaces.charts import Chart, is_number
from energyc.surfaces.charts.canvas import svg

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"


def render(template: str, **content: object) -> str:
    """Return a page, a card or a picture; strings of its content are escaped, ``Markup`` is not."""
    return _environment().get_template(template).render(content)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"asset": asset, "digest": _digest, "picture": picture}
    return made


@cache
def asset(name: str) -> Markup:
    """Return a style or a script of this package."""
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


def _digest(script: str) -> Markup:
    """Return what a page's policy says of a script of its own."""
    return Markup(f"'sha256-{b64encode(hashlib.sha256(asset(script).encode()).digest()).decode()}'")


def picture(chart: Chart, shown: int | None = None) -> Markup:
    """Return a chart as SVG; without a point, or without matplotlib, a line that says so."""
    if not any(is_number(y) for each in chart.series for y in each.y):
        return Markup('<p class="nothing">no {} yet</p>').format(chart.y_label)
    try:
        return Markup(svg(chart, shown))
    except UserError as missing:
        return Markup('<p class="nothing">{}: {}</p>').format(chart.y_label, missing.message)
