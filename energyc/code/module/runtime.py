"""How a generated module names the runtime: ``from energyc import runtime as rt``, and ``rt.NAME`` from there on."""

from __future__ import annotations

from functools import cache

from energyc.code.tree.expressions import Attribute, Call, Expr, Hole, Name
from energyc.code.tree.node import Node
from energyc.code.tree.quotation import filled, quote
from energyc.runtime import FUNCTIONS, GENERATED

#: The name of the runtime in a generated module.
ALIAS = "rt"


def runtime(name: str) -> Attribute:
    """``rt.name``, or ``rt.ops.name`` of a function. Raises KeyError for what the runtime does not export."""
    if name in FUNCTIONS:
        return Attribute(Attribute(Name(ALIAS), FUNCTIONS[name]), name)
    if name not in GENERATED:
        raise KeyError(f"energyc.runtime exports no {name} to generated modules")
    return Attribute(Name(ALIAS), name)


def formed(form: str, u: Expr) -> Expr:
    """A torch form of the table of functions for an argument; the helpers that it calls are the runtime's."""
    made = filled(_template(form), {"u": u, "atom": u})
    assert isinstance(made, Expr)
    return made


@cache
def _template(form: str) -> Node:
    return _through_runtime(quote(form, u=Hole("u"), atom=Hole("atom")))


def _through_runtime(node: Node) -> Node:
    node = node.mapped(_through_runtime)
    match node:
        case Call(Name(name), arguments, keywords) if name in FUNCTIONS:
            return Call(runtime(name), arguments, keywords)
    return node
