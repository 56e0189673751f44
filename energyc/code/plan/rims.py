"""Directions that are 0 where a slope is infinite: a product of both is 0.

A state that its set holds on the rim has the direction 0, and the cotangent 0. There the slope of a function may be
infinite, as that of ``sqrt(p)`` at p = 0, and 0 times infinity is no number. In what is linear in a direction ``v``, a
function f of u that has a pole at u = 0 is therefore taken at ``u + [v == 0]``: its value there counts nothing. Where
``v`` is not 0 nothing changes, so that a slope which is infinite in an entry that moves stays infinite.

Values are as their limits on the rim: ``u * u^-1`` is 1, and ``u * log(u)`` is 0 where u is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.code.plan.routines import Prepared
from energyc.derivation.derive import Output, Routine
from energyc.language.network import Network
from energyc.mathematics.calculus import readers
from energyc.mathematics.calculus.substitute import rebuilt
from energyc.mathematics.ir import Add, Einsum, Graph, Input, Map, Node, Operand, walk
from energyc.proofs.conservativeness.forces import ranges_of
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.singular import is_singular

#: The kinds of inputs in which derivatives are linear.
DIRECTIONS = ("cotangent", "direction")


def off_rims(
    network: Network, prepared: Sequence[Prepared], names: Mapping[Node, str]
) -> tuple[list[Prepared], Mapping[Node, str]]:
    """Routines in which no direction that is 0 meets an infinite slope, and the names of their nodes."""
    roots = [output.node for each in prepared for output in each.routine.outputs]
    poles = poles_on_rims(network, roots)
    if not poles:
        return list(prepared), names
    new = _Products(network.graph, roots, poles).rewritten()
    routines = [replace(each, routine=_with(each.routine, new)) for each in prepared]
    return routines, {new.get(node, node): name for node, name in names.items()}


def _with(routine: Routine, new: Mapping[Node, Node]) -> Routine:
    return Routine(routine.name, tuple(_moved(output, new) for output in routine.outputs))


def _moved(output: Output, new: Mapping[Node, Node]) -> Output:
    return replace(output, node=new[output.node])


def poles_on_rims(network: Network, roots: Iterable[Node]) -> set[Node]:
    """The functions with a pole at 0 whose argument may be 0 on the rim of the set of a state."""
    held = {state.node for state in network.states.values() if state.constraint is not None}
    nodes = list(walk(roots))
    reading = readers(nodes, held) if held else set()
    maps = [node for node in nodes if isinstance(node, Map) and node in reading and is_singular(node)]
    enclosures = Enclosures(network.graph, network.values, ranges_of(network), list(held))
    return {node for node in maps if _may_touch(enclosures, node)}


def _may_touch(enclosures: Enclosures, node: Map) -> bool:
    """Whether an argument may be 0 and is nowhere negative, as that of a root or a logarithm has to be."""
    argument, exponent = enclosures.range(node.argument), node.function.exponent
    one_sided = exponent is None or exponent.denominator > 1
    return not argument.positive and (argument.nonnegative or one_sided)


class _Apart(Exception):
    """A pole is below a sum or another operation that mixes entries."""


@dataclass(frozen=True)
class _Products:
    """The products of a direction and a function with a pole, below some roots."""

    graph: Graph
    roots: Sequence[Node]
    poles: set[Node]

    def rewritten(self) -> dict[Node, Node]:
        """Each node below the roots with its products changed."""
        order = list(walk(self.roots))
        linear = readers(order, {node for node in order if isinstance(node, Input) and node.kind in DIRECTIONS})
        infinite = readers(order, self.poles)
        new: dict[Node, Node] = {}
        for node in order:
            made = rebuilt(self.graph, node, new)
            if isinstance(node, Einsum) and node in infinite:
                moving = [o for o in node.operands if o.node in linear]
                made = self._product(node, moving[0], infinite, new) if len(moving) == 1 else made
                made = self._in_the_limit(made) if isinstance(made, Einsum) else made
            new[node] = made
        return new

    def _in_the_limit(self, node: Einsum) -> Node:
        """A product with ``u`` and a power or the logarithm of u, as its limit is where u is 0."""
        factors, graph = list(node.operands), self.graph
        for operand in node.operands:
            pole = operand.node
            if not isinstance(pole, Map) or (own := Operand(pole.argument, operand.axes)) not in factors:
                continue
            if pole.function.named("log"):
                none = graph.map("reached", graph.scale(-1, pole.argument))
                factors[factors.index(operand)] = Operand(
                    graph.map("log", graph.plus(pole.argument, none)), operand.axes
                )
            elif (exponent := pole.function.exponent) is not None and exponent < 0:
                factors.remove(own)
                factors[factors.index(operand)] = Operand(graph.power(pole.argument, exponent + 1), operand.axes)
        labels = dict(enumerate(node.labels))
        return graph.einsum(node.coefficient, [(o.node, o.axes) for o in factors], labels, node.out)

    def _product(self, node: Einsum, moving: Operand, infinite: set[Node], new: Mapping[Node, Node]) -> Node:
        """A product of one direction, with its other factors finite where that is 0."""
        factors = []
        for operand in node.operands:
            if operand is not moving and operand.node in infinite:
                operand = self._factor(operand, Operand(new[moving.node], moving.axes), node.labels, infinite)
                factors.append((operand.node, operand.axes))
            else:
                factors.append((new[operand.node], operand.axes))
        return self.graph.einsum(node.coefficient, factors, dict(enumerate(node.labels)), node.out)

    def _factor(self, factor: Operand, direction: Operand, labels: Sequence[str], infinite: set[Node]) -> Operand:
        """A factor finite where a direction is 0; as it stands where they share no entries."""
        whole = max(factor.axes, direction.axes, key=len)
        if len(set(whole)) < len(whole) or not {*factor.axes, *direction.axes} <= set(whole):
            return factor
        dims, place = tuple(labels[k] for k in whole), {label: k for k, label in enumerate(whole)}
        graph = self.graph
        none = graph.map("reached", graph.scale(-1, graph.map("abs", direction.node)))
        zero = graph.spread(none, dims, [place[a] for a in direction.axes])
        try:
            return Operand(self._finite(factor.node, [place[a] for a in factor.axes], zero, infinite), whole)
        except _Apart:
            return factor

    def _finite(self, node: Node, axes: Sequence[int], zero: Node, infinite: set[Node]) -> Node:
        """A node spread over the dims of ``zero``, with its poles moved away where that is 1."""
        graph, dims = self.graph, zero.dims
        if node not in infinite:
            return graph.spread(node, dims, axes)
        match node:
            case Map() if node in self.poles and node.argument not in infinite:
                return graph.map(node.function, graph.plus(graph.spread(node.argument, dims, axes), zero))
            case Map():
                return graph.map(node.function, self._finite(node.argument, axes, zero, infinite))
            case Add():
                return graph.add([(c, self._finite(n, axes, zero, infinite)) for c, n in node.terms], dims)
            case Einsum() if not node.contracted:
                at = dict(zip(node.out, axes, strict=True))
                own = [self._finite(o.node, [at[a] for a in o.axes], zero, infinite) for o in node.operands]
                return graph.product(*own, coefficient=node.coefficient)
        raise _Apart
