"""Blocks of states that move one after another, and where the minimiser of a block is a formula.

Where the force on a state, all others held, is ``b - D z`` with D a positive number for each entry, that state is at
rest where ``z = b / D``: in a box at the nearest point of it, on a kink at its soft threshold (docs/rules.md, block
descent).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from energyc.derivation.derive.proximal import Proximal
from energyc.language.network import ConstraintSet, Network, State
from energyc.mathematics.calculus import Signs, readers
from energyc.mathematics.ir import ONE, Add, Einsum, Graph, Input, Node, Stop, walk

#: Why the force on a state is not ``b - D z``.
BENT = "the force on it is not affine in it"
MIXED = "its entries act on one another"
UNSIGNED = "the slope of the force on it is not known to be negative"
#: The sets that are one of each entry.
APART = ("box", "nonnegative")


@dataclass(frozen=True)
class Blocks:
    """The blocks of a network in the order of a sweep, and what is known of the states in them.

    No state of a block acts on another one of it, in the force or in the cost. ``slopes`` has D of each state that
    moves exactly, ``others`` why the rest do not. ``cost_slopes`` has the slope of the cost's gradient where it is one
    number, ``nudged`` are the states that the cost reads.
    """

    network: Network
    order: tuple[tuple[str, ...], ...]
    slopes: Mapping[str, Node]
    others: Mapping[str, str]
    nudged: tuple[str, ...]
    cost_slopes: Mapping[str, float]

    @cached_property
    def numbers(self) -> Mapping[str, float | None]:
        """D of each state that moves exactly where it is one number, else None."""
        return {name: number_of(node, self.network) for name, node in self.slopes.items()}

    def given(self, block: Sequence[str]) -> list[str]:
        """The states of a block whose D is computed."""
        return [name for name in block if name in self.numbers and self.numbers[name] is None]


def blocks_of(
    network: Network, force: Mapping[str, Node], cost_force: Mapping[str, Node], kinks: Mapping[str, Proximal]
) -> Blocks:
    """The blocks of a network with these forces, without the kinks that move proximally."""
    states = {name: state.node for name, state in network.states.items()}
    read = {name: {other for other, node in states.items() if readers([f], {node})} for name, f in force.items()}
    together = {name: {o for o, node in states.items() if readers([f], {node})} for name, f in cost_force.items()}
    slopes, others = dict[str, Node](), dict[str, str]()
    signs = _signs(network)
    for name, state in network.states.items():
        found = _slope_of(network, state, force[name], kinks.get(name), signs)
        if isinstance(found, str):
            others[name] = found
        else:
            slopes[name] = found
    cost_slopes = {}
    for name, node in cost_force.items():
        slope = diagonal_slope(network.graph, node, states[name])
        number = None if isinstance(slope, str) else number_of(slope, network)
        if number is not None:
            cost_slopes[name] = number
    order = _order(read, together, _first(network, force))
    return Blocks(network, order, slopes, others, tuple(n for n in states if n in cost_force), cost_slopes)


def number_of(node: Node, network: Network) -> float | None:
    """The number that a node is everywhere, or None."""
    constant = isinstance(node, Einsum) and not node.operands
    return node.coefficient.number(network.values) if constant else None  # type: ignore[attr-defined]


def _slope_of(network: Network, state: State, force: Node, kinks: Proximal | None, signs: Signs) -> Node | str:
    """D, or why the state does not move exactly."""
    slope = diagonal_slope(network.graph, force, state.node)
    if isinstance(slope, str):
        return slope
    opposite = _negative(network.graph, slope)
    if not signs.positive(opposite):
        return UNSIGNED
    joint = _joint(state.constraint, kinks)
    return (
        f"{joint}, and the slope of the force on it is not one number"
        if joint and number_of(slope, network) is None
        else opposite
    )


def _negative(graph: Graph, node: Node) -> Node:
    """Minus a node, term by term."""
    terms = node.terms if isinstance(node, Add) else ((ONE, node),)
    return graph.add([(-c, term) for c, term in terms], node.dims)


def _joint(constraint: ConstraintSet | None, kinks: Proximal | None) -> str:
    """The set that joins the entries of a state, if any; its nearest point is the minimiser where D is one number."""
    if constraint is not None and constraint.kind not in APART:
        return f"it is kept in a {constraint.kind} set"
    return "a norm of it is in the energies" if kinks is not None and kinks.norm is not None else ""


def _signs(network: Network) -> Signs:
    """The signs of params and states that their sets tell."""
    ranges = {node: (p.low, p.high) for p in network.params.values() for node in (p.node, p.each) if node}
    for state in network.states.values():
        kind = state.constraint.kind if state.constraint else None
        if kind == "box":
            ranges[state.node] = (state.constraint.low, state.constraint.high)  # type: ignore[union-attr]
        elif kind in ("nonnegative", "simplex"):
            ranges[state.node] = (0.0, None)
    return Signs(network.values, ranges)


# ------------------------------------------------------------------ the slope


@dataclass(frozen=True)
class Affine:
    """A node ``b + slope * state``: its axis ``axes[k]`` is axis k of the state, which is spread along the others."""

    slope: Node
    axes: tuple[int, ...]


def diagonal_slope(graph: Graph, root: Node, state: Input) -> Node | str:
    """The node d with ``root = b + d * state``, entry by entry, neither of which reads the state; or why there is none.

    It is read off sums and products, so that it holds identically, also where a derivative would not see a jump.
    """
    reading = readers([root], {state})
    if root not in reading:
        return graph.zero(root.dims)
    found: dict[Node, Affine | str] = {}
    for node in walk([root]):
        if node in reading:
            found[node] = _affine(graph, node, state, reading, found)
    whole = found[root]
    if isinstance(whole, Affine):
        return whole.slope if whole.axes == tuple(range(len(root.dims))) else MIXED
    return whole


def _affine(
    graph: Graph, node: Node, state: Input, reading: Collection[Node], found: Mapping[Node, Affine | str]
) -> Affine | str:
    if node is state:
        return Affine(graph.constant(1, state.dims), tuple(range(len(state.dims))))
    match node:
        case Add():
            return _sum(graph, node, {term: found[term] for _, term in node.terms if term in reading})
        case Einsum():
            return _product(graph, node, [k for k, o in enumerate(node.operands) if o.node in reading], found)
        case Stop():
            return found[node.argument]
    return BENT


def _sum(graph: Graph, node: Add, moving: Mapping[Node, Affine | str]) -> Affine | str:
    parts = [part for part in moving.values() if isinstance(part, Affine)]
    if len(parts) < len(moving):
        return next(part for part in moving.values() if isinstance(part, str))
    if len({part.axes for part in parts}) > 1:
        return MIXED
    slopes = [(c, part.slope) for c, term in node.terms if isinstance(part := moving.get(term), Affine)]
    return Affine(graph.add(slopes, node.dims), parts[0].axes)


def _product(graph: Graph, node: Einsum, moving: Sequence[int], found: Mapping[Node, Affine | str]) -> Affine | str:
    """A product with one factor that reads the state, none of whose labels there is summed over."""
    own = node.operands[moving[0]]
    inner = found[own.node]
    if isinstance(inner, str) or len(moving) > 1:
        return inner if isinstance(inner, str) else BENT
    labels = [own.axes[axis] for axis in inner.axes]
    if not set(labels) <= set(node.out) or len(set(labels)) < len(labels):
        return MIXED
    factors = [(inner.slope if k in moving else o.node, o.axes) for k, o in enumerate(node.operands)]
    slope = graph.einsum(node.coefficient, factors, dict(enumerate(node.labels)), node.out)
    return Affine(slope, tuple(node.out.index(label) for label in labels))


# ------------------------------------------------------------------ the order


def _first(network: Network, force: Mapping[str, Node]) -> list[str]:
    """The states that clamps act on; where there are none, the first one."""
    given = {clamp.node for clamp in network.clamps.values()}
    found = [name for name, node in force.items() if readers([node], given)]
    return found or list(force)[:1]


def _order(
    read: Mapping[str, set[str]], together: Mapping[str, set[str]], first: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    """States by their distance from what is clamped; those of one distance that do not see one another are a block.

    Where no state acts back on one that acts on it, a state comes after all that it reads: one sweep is then enough.
    """
    others = {name: {other for other in seen if other != name} for name, seen in read.items()}
    level = _depths(others) or _distances(others, first)
    blocks: list[list[str]] = []
    place: dict[int, list[list[str]]] = {}
    for name in read:
        own = place.setdefault(level[name], [])
        fits = (block for block in own if not any(_see(name, other, read, together) for other in block))
        block = next(fits, None)
        if block is None:
            own.append([name])
        else:
            block.append(name)
    blocks = [block for at in sorted(place) for block in place[at]]
    return tuple(tuple(block) for block in blocks)


def _see(a: str, b: str, *reads: Mapping[str, set[str]]) -> bool:
    return any(b in read.get(a, ()) or a in read.get(b, ()) for read in reads)


def _depths(others: Mapping[str, set[str]]) -> dict[str, int] | None:
    """For each state the longest chain of states that act on it; None where they act in a circle."""
    depth: dict[str, int] = {}
    while len(depth) < len(others):
        ready = [name for name, seen in others.items() if name not in depth and seen <= depth.keys()]
        if not ready:
            return None
        depth |= {name: max((depth[other] + 1 for other in others[name]), default=0) for name in ready}
    return depth


def _distances(others: Mapping[str, set[str]], first: Collection[str]) -> dict[str, int]:
    """For each state the fewest steps from the first ones to it; those that none leads to are first too."""
    distance, front = dict.fromkeys(first, 0), list(first)
    while front:
        after = [n for n in others if n not in distance and any(_see(n, other, others) for other in front)]
        distance |= dict.fromkeys(after, distance[front[0]] + 1)
        front = after
    return {name: distance.get(name, 0) for name in others}
