"""The layouts of generated files: the templates of ``codegen``, which have no logic."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

from energyc.code.tree import python
from energyc.code.tree.statements import Body, Class
from energyc.resources import resource
from energyc.runtime import CONTRACT

if TYPE_CHECKING:
    from jinja2 import Template


def laid_out(target: str, about: tuple[str, ...], imports: Body, body: Body) -> str:
    """Return a file in the layout of a target: its docstring, imports, sizes up to the first class, and classes."""
    sizes = tuple(takewhile(lambda statement: not isinstance(statement, Class), body))
    return _layout(target).render(
        head=_text(python.docstring(about, "")),
        imports=_text(python.lines(imports)),
        contract=CONTRACT,
        sizes="".join(f"{line}\n" for line in python.lines(sizes)),
        classes=_text(python.lines(body[len(sizes) :])),
    )


@cache
def _layout(target: str) -> Template:
    """The layout of a target. It loads jinja2, which a module found in the cache does not need."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(resource("codegen"))
    environment = Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.get_template(f"{target}/module.py.j2")


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines)
