"""The layouts of generated files: the templates of ``codegen``, which have no logic."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from energyc.resources import resource

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def layout(target: str) -> Template:
    """Return the layout of a target's module. It loads jinja2, which a module found in the cache does not need."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(resource("codegen"))
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template(f"{target}/module.py.j2")
