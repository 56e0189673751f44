"""Looks for the convex kinks of energies that a state moves by their proximal operator, not by their gradient.

A kink is found in the force of an energy, where it is a jump: ``-l sign(z)`` is that of ``l abs(z)``. It is taken where
it is in one entry of one state alone, of a weight that is nowhere negative and reads consts and params alone. So every
sum of pieces that are affine in one number is found, however it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from energyc.derivation.derive.proximal import Corner, Kinks, Norm, Proximal, Staying
from energyc.language.network import ConstraintSet, Network
from energyc.mathematics.calculus import Monomial, Signs, depends, monomials
from energyc.mathematics.ir import ONE, Add, Einsum, Graph, Input, Map, Node, walk

#: Functions with a jump at 0, by the value of their sides.
JUMPS = {"sign": (-1, 1), "step": (0, 1), "above": (0, 1), "reached": (0, 1)}
#: Jumps that a spec's ``where`` does not make: at others what is selected may meet.
PLAIN = frozenset({"sign", "step"})
MIX = "it is not where a single entry of the state passes a number"
WEIGHT = "its factor is not known to be nowhere negative, as that of a param `in nonnegative` is"
CONCAVE = "it is not convex"


#: Functions that may leave a jump in a force, and the root of a square.
KINKED = frozenset({"abs", "relu", "sqrt", *JUMPS})


def may_have_kinks(network: Network, energy: str) -> bool:
    """Whether an energy has a function with a kink, at a glance."""
    maps = (node.function for node in walk([network.acting[energy].node]) if isinstance(node, Map))
    return any(f.slope is None and (f.name in KINKED or f.exponent == Fraction(1, 2)) for f in maps)


def kinks_of(network: Network, forces: Mapping[str, Mapping[str, Node]]) -> Kinks:
    """The kinks of a network, some of whose acting energies have these forces, by energy and state."""
    taken: dict[str, list[Corner | Norm]] = {}
    smooth: dict[tuple[str, str], Node] = {}
    staying: list[Staying] = []
    for energy, by_state in forces.items():
        for state, force in by_state.items():
            found = Search(network, energy, state).of(force)
            together = [*taken.get(state, ()), *found.kinks] if found.kinks else []
            why = found.why or _no_operator(network, state, together)
            if found.kinks and found.smooth is not None and not why:
                taken.setdefault(state, []).extend(found.kinks)
                smooth[energy, state] = found.smooth
            staying += [Staying(energy, state, reason) for reason in (why, found.left) if reason]
    proximal = {
        state: _joined(state, kinks, network.graph, network.states[state].constraint) for state, kinks in taken.items()
    }
    return Kinks(proximal, tuple(staying), smooth)


@dataclass(frozen=True)
class Found:
    """The kinks in a force and the rest of it; ``why`` none is taken, and why others are ``left``."""

    kinks: tuple[Corner | Norm, ...] = ()
    smooth: Node | None = None
    why: str = ""
    left: str = ""


class Search:
    """Looks for kinks in the force of one energy on one state."""

    def __init__(self, network: Network, energy: str, state: str) -> None:
        self.network, self.graph, self.energy = network, network.graph, energy
        self.state: Input = network.states[state].node
        self.states = {own.node for own in network.states.values()}
        bounds = {node: (p.low, p.high) for p in network.params.values() for node in (p.node, p.each) if node}
        self.signs = Signs(network.values, bounds)

    def of(self, force: Node) -> Found:
        """The kinks of a force."""
        moving = depends([force], self.states)
        jumping: set[Node] = {
            n for n in walk([force]) if n in moving and isinstance(n, Map) and n.function.name in JUMPS
        }
        norms: set[Node] = {n for n in walk([force]) if isinstance(n, Map) and self._norm_axes(n) is not None}
        if not jumping and not norms:
            return Found()
        parts = monomials(force, {*jumping, *norms})
        if parts is None:
            return Found(why="it stands in too long a sum of products")
        return self._sorted(parts, moving, jumping, norms, force)

    def _sorted(
        self, parts: list[Monomial], moving: set[Node], jumping: set[Node], norms: set[Node], force: Node
    ) -> Found:
        kinks, smooth, whys, own = list[Corner | Norm](), list[Node](), list[str](), False
        for part in parts:
            kink = self._norm(part, moving, norms) or self._corner(part, moving, jumping)
            if isinstance(kink, Corner | Norm):
                kinks.append(kink)
                continue
            whys += [kink] if kink else []
            own |= any(self._affine(n.argument) is not None for n in self._read(part, jumping))
            smooth.append(part.node(self.graph))
        if own and kinks:
            return Found(why="a part of the same energy jumps in the same entries")
        rest = self.graph.add([(ONE, node) for node in smooth], force.dims)
        left = "; ".join(dict.fromkeys(whys))
        return Found(tuple(kinks), rest, "" if kinks else left, left if kinks else "")

    def _read(self, part: Monomial, nodes: set[Node]) -> Iterator[Map]:
        yield from (n for n in walk([node for node, _ in part.factors]) if n in nodes and isinstance(n, Map))

    def _corner(self, part: Monomial, moving: set[Node], jumping: set[Node]) -> Corner | str | None:
        """The corner whose force is a monomial; else why it stays, or None where it has no kink to speak of."""
        places = [k for k, (node, _) in enumerate(part.factors) if node in jumping]
        if len(places) != 1:
            return None
        (k,) = places
        node, axes = part.factors[k]
        assert isinstance(node, Map)
        rest, affine = part.without(k), self._affine(node.argument)
        if any(other in moving for other, _ in rest.factors):
            return None
        plain = node.function.name in PLAIN
        if affine is None or axes != part.out:
            return MIX if plain else None
        if any(self._given(other) for other, _ in rest.factors):
            return WEIGHT
        slope, shift = affine
        sign = self.signs.side(rest.node(self.graph))
        if sign == 0:
            return WEIGHT
        if sign * slope > 0:
            return CONCAVE if plain else None
        weight = self.graph.scale(-1 if sign < 0 else 1, rest.node(self.graph))
        low, _ = JUMPS[node.function.name]
        below = weight if low or slope < 0 else None
        above = weight if low or slope > 0 else None
        return Corner(self.energy, -shift / slope + 0.0, below, above)

    def _norm(self, part: Monomial, moving: set[Node], norms: set[Node]) -> Norm | str | None:
        """The norm whose force is a monomial; else why it stays, or None where there is none."""
        places = [k for k, (node, _) in enumerate(part.factors) if node in norms]
        if len(places) != 1:
            return None
        node, axes = part.factors[places[0]]
        assert isinstance(node, Map) and isinstance(node.argument, Einsum)
        rest = part.without(places[0])
        own = next((k for k, factor in enumerate(rest.factors) if factor == (self.state, part.out)), None)
        reduced = self._norm_axes(node) or ()
        kept = tuple(k for k in range(len(self.state.dims)) if k not in reduced)
        if own is None or axes != tuple(part.out[k] for k in kept):
            return None
        rest = rest.without(own)
        along = {part.out[k] for k in reduced}
        if any(other in moving or self._given(other) or along & set(a) for other, a in rest.factors):
            return None
        if self.signs.side(rest.node(self.graph)) >= 0:
            return WEIGHT
        root = node.argument.coefficient.power(Fraction(-1, 2))
        weight = self.graph.scale(-1, rest.node(self.graph))
        return None if root is None else Norm(self.energy, reduced, self.graph.scale(root, weight))

    def _norm_axes(self, node: Map) -> tuple[int, ...] | None:
        """The axes of the state along which a node is one over a norm; None where it is not."""
        inside = node.argument
        if node.function.name != "power" or node.function.exponent != Fraction(-1, 2):
            return None
        if not isinstance(inside, Einsum) or len(inside.operands) != 2 or inside.coefficient.value <= 0:
            return None
        first, second = inside.operands
        if first != second or first.node is not self.state or len(set(first.axes)) != len(first.axes):
            return None
        kept = tuple(k for k, a in enumerate(first.axes) if a in inside.out)
        if tuple(first.axes[k] for k in kept) != inside.out or len(kept) == len(first.axes):
            return None
        return tuple(k for k in range(len(first.axes)) if k not in kept)

    def _affine(self, node: Node) -> tuple[float, float] | None:
        """The slope and the shift of a node that is affine in the same entry of the state, or None."""
        values = self.network.values
        if node is self.state:
            return 1.0, 0.0
        match node:
            case Einsum(operands=()):
                return 0.0, node.coefficient.number(values)
            case Einsum(operands=(operand,)) if operand.axes == node.out and not node.contracted:
                inner, factor = self._affine(operand.node), node.coefficient.number(values)
                return inner and (factor * inner[0], factor * inner[1])
            case Add():
                found = [(c.number(values), self._affine(term)) for c, term in node.terms]
                parts = [(c * inner[0], c * inner[1]) for c, inner in found if inner is not None]
                slope, shift = sum(a for a, _ in parts), sum(b for _, b in parts)
                return (slope, shift) if len(parts) == len(found) and slope else None
        return None

    def _given(self, node: Node) -> bool:
        """Whether a node reads what is given for each sample, or what changes from step to step."""
        return any(isinstance(n, Input) and n.kind != "param" for n in walk([node]))


def _no_operator(network: Network, state: str, kinks: Collection[Corner | Norm]) -> str:
    """Why the kinks of a state and its set have no proximal operator that is known in closed form; empty: they have."""
    constraint = network.states[state].constraint if kinks else None
    norms = [kink for kink in kinks if isinstance(kink, Norm)]
    kind = constraint.kind if constraint else None
    if kind not in (None, "box", "nonnegative"):
        return f"{state} is kept in a {kind} set, with which it has no known proximal operator"
    if norms and kind == "box":
        return f"{state} is kept in a box, with which a norm has no known proximal operator"
    if len(norms) > 1:
        return f"another norm of {state} is in the energies, with which it has no known proximal operator"
    if norms and any(isinstance(kink, Corner) and kink.at != 0 for kink in kinks):
        return f"a norm and a kink of {state} off 0 have no known proximal operator together"
    return ""


def _joined(state: str, kinks: Collection[Corner | Norm], graph: Graph, constraint: ConstraintSet | None) -> Proximal:
    """The kinks of a state, those at one number as one."""
    corners: dict[float, list[Corner]] = {}
    for kink in kinks:
        if isinstance(kink, Corner):
            corners.setdefault(kink.at, []).append(kink)
    norm = next((kink for kink in kinks if isinstance(kink, Norm)), None)
    return Proximal(state, tuple(_one(corners[at], graph) for at in sorted(corners)), norm, constraint)


def _one(corners: Collection[Corner], graph: Graph) -> Corner:
    """Corners at one number as one."""
    first, *others = corners
    if not others:
        return first
    sides = ([c.below for c in corners], [c.above for c in corners])
    below, above = ([node for node in side if node is not None] for side in sides)
    names = ", ".join(dict.fromkeys(corner.energy for corner in corners))
    return Corner(names, first.at, graph.plus(*below) if below else None, graph.plus(*above) if above else None)
