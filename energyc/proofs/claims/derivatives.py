"""Bounds on derivatives of any order: how large ``D^k f [v, ..., v]`` can be for directions of norm 1.

A symmetric multilinear form is largest where all its directions are one (Banach 1938), so that one direction is enough.
The form is multiplied out. In each product two of the directions are the ends of a chain of linear maps, and any other
is a tensor of norm at most 1, whose entries lie between -1 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from energyc.mathematics.calculus import tangent
from energyc.mathematics.ir import Input, Node
from energyc.proofs.claims.norms import Norms
from energyc.proofs.claims.products import Product, collected
from energyc.proofs.fields.problem import ForceField, direction_of


@dataclass(frozen=True)
class Form:
    """``D^k f`` along one direction of all states, and once along one of a param, as products; None: too many."""

    products: tuple[Product, ...] | None

    @staticmethod
    def of(base: ForceField, node: Node, order: int, param: Input | None = None) -> Form:
        """The form of a node without dims, of which ``order`` directions are of the states."""
        if param is not None:
            (node,) = tangent(base.graph, [node], {param: direction_of(base.graph, param)})
        ways: dict[Node, Node] = {state: direction_of(base.graph, state) for state in base.states}
        for _ in range(order):
            (node,) = tangent(base.graph, [node], ways)
        products = collected(node, base)
        return Form(None if products is None else tuple(products))

    def bound(self, norms: Norms) -> float:
        """The largest absolute value for directions of norm 1; infinite where no bound is known."""
        return math.inf if self.products is None else sum(_bound(product, norms) for product in self.products)


def ranges_of_directions(base: ForceField, inputs: Sequence[Input]) -> Mapping[Input, tuple[float, float]]:
    """The bounds of the entries of directions of norm 1."""
    return {direction_of(base.graph, node): (-1.0, 1.0) for node in inputs}


def _bound(product: Product, norms: Norms) -> float:
    ways = [f for f in product.factors if isinstance(f.node, Input) and f.node.kind == "direction"]
    if len(ways) == 1:
        return norms.of_functional(product, ways[0])
    return min(norms.of_form(product, first, second).size for first, second in combinations(ways, 2))
