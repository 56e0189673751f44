"""Closed forms."""

from __future__ import annotations

from energyc.ir import Function, Node
from energyc.resolve.context import Context
from energyc.resolve.lower import Lowering
from energyc.syntax import ast


def make_potential(context: Context, lowering: Lowering, tree: ast.Function, body: Node) -> Function | None:
    """The function whose slope is ``body``."""
    return Function(tree.name.text, None, body, None)
