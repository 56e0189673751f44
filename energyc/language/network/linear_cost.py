"""A network under a linear cost, by which a layer is nudged with what comes back to its rest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from energyc.language.network.declarations import DataInput
from energyc.language.network.equations import Quantity
from energyc.language.network.network import Network
from energyc.language.syntax import ast
from energyc.mathematics.ir import ONE, Graph, Node


def under_linear_cost(network: Network) -> Network:
    """The same network with the cost <g, z>; g is a target for each state, ``g_z`` for z."""
    graph, span = network.graph, network.tree.name.span
    taken = {*network.clamps, *network.params, *network.states, *network.lets, *network.noises}
    states = {_free(f"g_{name}", taken): state.node for name, state in network.states.items()}
    targets = {name: graph.input(name, "target", node.dims) for name, node in states.items()}
    products = [(ONE, _product(graph, targets[name], node)) for name, node in states.items()]
    name = ast.Name(span, _free("linear", taken))
    tree = ast.Equation(span, "cost", ast.Left(span, name, None), ast.Apply(span, name, False, None, None, None))
    cost = Quantity(name.text, graph.add(products, ()), (), tree)
    given = {name: DataInput(node, None, span) for name, node in targets.items()}
    return replace(network, targets=given, cost=cost, costs={cost.name: cost}, linear_cost=True)


def _product(graph: Graph, a: Node, b: Node) -> Node:
    """The sum over all entries of the product of two tensors of the same dims."""
    axes = range(len(a.dims))
    return graph.einsum(ONE, [(a, axes), (b, axes)], dict(enumerate(a.dims)), ())


def _free(name: str, taken: Collection[str]) -> str:
    """A name that nothing has."""
    while name in taken:
        name += "'"
    return name
