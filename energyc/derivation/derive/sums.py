"""The sums over all steps that gradients through a trajectory read.

A slope ``<cotangent, dF/dtheta>`` linear in what a step changes, as ``x^T bar``, is taken once of the sum over the
steps: one product in the place of one a step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod

from energyc.mathematics.calculus import linear_in, moving, substitute
from energyc.mathematics.ir import Graph, Input, Node, walk

#: Inputs that differ from step to step.
CHANGING = frozenset({"state", "cotangent", "step"})


@dataclass(frozen=True)
class Sums:
    """The sums over the steps, ``terms`` by name; the ``slopes`` are read of the totals, ``inputs``."""

    terms: Mapping[str, Node]
    inputs: Mapping[str, Input]
    slopes: Mapping[str, Node]


def summed_over_steps(
    graph: Graph,
    slopes: Mapping[str, Node],
    names: Mapping[Node, str],
    sizes: Mapping[str, int],
    largest: int,
    whole: Collection[str] = (),
) -> Sums:
    """The slopes that one product of a sum and what is given gives, and those that read nothing but the same sums.

    Nothing of more than ``largest`` entries is added up; ``names`` are those of nodes, ``sizes`` those of dims. Slopes
    of ``whole`` that no such product gives are added up themselves.
    """
    changing = {node for node in walk(slopes.values()) if isinstance(node, Input) and node.kind in CHANGING}
    moves = moving(list(slopes.values()), changing)
    found = {name: linear_in(node, moves) for name, node in slopes.items() if node in moves}

    def fits(nodes: Sequence[Node]) -> bool:
        return all(prod(sizes[dim] for dim in node.dims) <= largest for node in nodes)

    fitting = {name: linear for name, linear in found.items() if fits(linear.arguments)}
    worth = {name for name, linear in fitting.items() if any(factor.batched for factor in linear.factors)}
    kept = {node for name in worth for node in found[name].arguments}
    chosen = {name: linear for name, linear in found.items() if set(linear.arguments) <= kept}
    alone = {name: node for name, node in slopes.items() if name in whole and name not in chosen}
    terms = _named(sorted({*kept, *alone.values()}, key=lambda node: node.number), names)
    inputs = {name: graph.input(name, "sum", node.dims) for name, node in terms.items()}
    totals = {node: inputs[name] for name, node in terms.items()}
    shared: dict[Node, Node] = {node: totals[node] for node in kept}
    products = {name: substitute(graph, slopes[name], shared) for name in chosen}
    return Sums(terms, inputs, products | {name: totals[node] for name, node in alone.items()})


def _named(nodes: Sequence[Node], names: Mapping[Node, str]) -> dict[str, Node]:
    """The sums by name: that of a cotangent's state, or of the let that it belongs to."""
    named: dict[str, Node] = {}
    for node in nodes:
        wish = node.name if isinstance(node, Input) else names.get(node, "part")
        free = (name for k in count(1) if (name := wish if k == 1 else f"{wish}_{k}") not in named)
        named[next(free)] = node
    return named
