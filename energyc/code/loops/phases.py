"""The kernels of a network: steps of its free phase, of a nudged one, and of two that track each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from energyc.code.loops import nest
from energyc.code.loops.affine import labels_of
from energyc.code.loops.arrange import arranged, widened
from energyc.code.loops.couplings import coupled
from energyc.code.loops.expressions import applied, unless
from energyc.code.loops.fuse import Rows, grouped
from energyc.code.loops.lower import Lowering, NotLowered
from energyc.code.loops.nest import Buffer, Expr, Kernel, Load, MatrixProduct, Scalar, Statement, Step, Walk
from energyc.code.loops.sets import LARGEST_SIMPLEX, Shrinking, proximal
from energyc.code.loops.tiles import tiled
from energyc.code.loops.turned import turned
from energyc.derivation.derive import Proximal
from energyc.language.network import Network
from energyc.mathematics.expressions import ZERO, Product, Sum, expression
from energyc.mathematics.functions import scalar_function
from energyc.mathematics.ir import Coefficient, Input, Node

#: A node for each state that has one.
Slopes = Mapping[str, Node]


@dataclass(frozen=True)
class Block:
    """States that move at once: the force on each, D of those that move exactly, and the slopes of dC/dz to add."""

    force: Slopes
    slopes: Mapping[str, Node | float]
    cost_slopes: Mapping[str, float]


@dataclass(frozen=True)
class Adjoint:
    """J^T times vectors by state: the nodes ``back``, of ``cotangents``, and what is passed beside them.

    ``seeds`` are what the adjoint is of; ``moving`` is 1 for an entry that a step moves and 0 for one that is held, of
    the states with a set or a kink.
    """

    back: Slopes
    cotangents: Mapping[str, Input]
    seeds: Mapping[str, Input]
    moving: Mapping[str, Input]


@dataclass(frozen=True)
class Back:
    """A step in reverse: J^T times vectors by state, ``back``, of ``cotangents``; and the ``slopes`` by param.

    ``sums`` are what is added up over steps, for each sample. ``moved`` and ``came`` are of the states that are in a
    set: where a step led them, and where the one before did, neither projected.
    """

    back: Slopes
    sums: Mapping[str, Node]
    slopes: Mapping[str, Node]
    cotangents: Mapping[str, Input]
    moved: Mapping[str, Input]
    came: Mapping[str, Input]


@dataclass(frozen=True)
class Equations:
    """The equations that kernels are made from: nodes by state, after planning.

    ``sizes`` are those of the dims; ``factor`` gives the number of a coefficient, ``roots`` are roots of sizes by the
    names that factors are written with. ``target`` is what the kernels are printed for, by the name that the table of
    functions knows. ``force`` moves the states, ``nudge`` is subtracted from it times beta, ``correction`` is by states
    and ``directions``, ``kinks`` move proximally. ``offered`` are nodes that are computed before a relaxation, with
    their names; ``text`` writes any. ``rows`` is where a group keeps them, ``prefix`` what the kernels' names begin
    with. ``blocks`` are those of a sweep, none where the states move at once. ``adjoint`` is that of the force, where
    a rule solves for it; ``back`` is a step in reverse, where a rule goes back through steps.
    """

    network: Network
    sizes: Mapping[str, int]
    factor: Callable[[Coefficient], float]
    roots: Mapping[str, float]
    target: str
    force: Slopes
    nudge: Slopes = field(default_factory=dict)
    correction: Slopes = field(default_factory=dict)
    directions: Mapping[str, Input] = field(default_factory=dict)
    kinks: Mapping[str, Proximal] = field(default_factory=dict)
    offered: Mapping[Node, str] = field(default_factory=dict)
    names: Mapping[Node, str] = field(default_factory=dict)
    text: Callable[[Node], str] = lambda node: ""
    rows: Rows = "array"
    prefix: str = ""
    blocks: Sequence[Block] = ()
    adjoint: Adjoint | None = None
    back: Back | None = None


class Builder:
    """Collects the steps of one kernel."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.network = equations.network
        self.steps: list[Step] = []
        self.asked: dict[Node, Buffer] = {}
        self.weights: dict[Node, Expr] = {}

    def states(self, suffix: str = "") -> dict[str, Buffer]:
        """A buffer for each state."""
        return {
            name: Buffer(name + suffix, tuple(self.equations.sizes[d] for d in state.node.dims), True, "state")
            for name, state in self.network.states.items()
        }

    def lowering(self, at: Mapping[str, Buffer], along: Mapping[str, Buffer] | None = None) -> Lowering:
        """Lowers nodes at these states, and along these directions."""
        e = self.equations
        given: dict[Node, Buffer] = {self.network.states[name].node: buffer for name, buffer in at.items()}
        given |= {e.directions[name]: buffer for name, buffer in (along or {}).items()}
        lowering = Lowering(e.sizes, e.factor, {**given, **self.asked}, e.offered, e.names, e.text, e.target, e.rows)
        lowering.steps = self.steps
        return lowering

    def slopes(self, lowering: Lowering, *wanted: Slopes) -> list[dict[str, Expr]]:
        """The entries of nodes by state."""
        weights = [node for kinks in self.equations.kinks.values() for node in kinks.weights]
        roots = [*(node for slopes in wanted for node in slopes.values()), *weights]
        lowering.expect(roots)
        lowering.fill(roots)
        found = [{n: lowering.at(node, labels_of(len(node.dims))) for n, node in slopes.items()} for slopes in wanted]
        self.weights = {node: lowering.at(node, labels_of(len(node.dims))) for node in weights}
        self.asked |= dict(lowering.asked)
        return found

    def moved(
        self,
        at: Mapping[str, Buffer],
        forces: Mapping[str, Sequence[Expr]],
        divisors: Mapping[str, Expr] = MappingProxyType({}),
    ) -> dict[str, Buffer]:
        """The states after a step: each moves by its step times its forces, then to its proximal point.

        The step is the one that is set, or one over that of the ``divisors``.
        """
        after = {}
        for name, state in at.items():
            place = labels_of(len(state.sizes))
            step = partial(_by_step, name, divisors.get(name))
            value = Load(state, place) + step(Sum(tuple(forces[name])))
            constraint = self.network.states[name].constraint
            if constraint is not None and constraint.kind == "simplex":
                check_simplex(name, [state.sizes[k] for k in constraint.axes])
            shrinking = self.shrinking(name, step)
            after[name] = proximal(self.put, f"next_{state.name}", state.sizes, value, constraint, shrinking)
        return after

    def shrinking(self, name: str, step: Callable[[Expr], Expr]) -> Shrinking:
        """What the kinks of a state take of it in a step."""
        kinks = self.equations.kinks.get(name)
        if kinks is None:
            return Shrinking()

        def threshold(weight: Node | None) -> Expr:
            return ZERO if weight is None else step(self.weights[weight])

        corners = [(corner.at, threshold(corner.below), threshold(corner.above)) for corner in kinks.corners]
        norm = None if kinks.norm is None else (kinks.norm.axes, threshold(kinks.norm.weight))
        return Shrinking(corners, norm)

    def put(self, name: str, sizes: Sequence[int], expr: Expr, fold: str = "", reduced: Sequence[int] = ()) -> Buffer:
        """A buffer for each sample, and the statement that fills it."""
        target = Buffer(name, tuple(sizes), True)
        self.steps.append(Statement(target, (*sizes, *reduced), expr, fold))  # type: ignore[arg-type]
        return target

    def contrast(self, first: int = 0) -> None:
        """The products from a step on are of a force whose difference between phases is the gradient."""
        self.steps[first:] = [
            replace(step, contrasted=True) if isinstance(step, MatrixProduct) else step for step in self.steps[first:]
        ]

    def kernel(
        self,
        name: str,
        doc: str,
        at: Sequence[Buffer],
        after: Sequence[Buffer],
        scalars: Sequence[str],
        *,
        walk: Walk = "relax",
        totals: Mapping[str, Buffer] = MappingProxyType({}),
        recalled: Sequence[Buffer] = (),
    ) -> Kernel:
        """The kernel that repeats the collected steps; one that solves makes what reads nothing that moves once."""
        for buffer in after:
            buffer.kind = "state"
        e, laid, before = self.equations, dict[str, tuple[Buffer, tuple[int, ...]]](), tuple[nest.Block, ...]()
        steps = arranged(self.steps, e.sizes)
        for param, total in totals.items():
            steps, own, order = widened(steps, total, e.sizes)
            laid[param] = own, order
        if walk == "solve":
            once, steps = _parted(steps, at)
            before = _blocks_of(once, {buffer for step in steps for buffer in step.reads}, e.rows, e.sizes)
        body = _blocks_of(steps, {*after, *(total for total, _ in laid.values())}, e.rows, e.sizes)
        return Kernel(
            e.prefix + name,
            doc,
            tuple(at),
            tuple(after),
            tuple(self.asked.items()),
            tuple(scalars),
            body,
            e.sizes,
            e.roots,
            before,
            walk,
            laid,
            tuple(recalled),
        )


def _parted(steps: Sequence[Step], at: Sequence[Buffer]) -> tuple[list[Step], list[Step]]:
    """The steps that read nothing that moves, and those that do; what adds to a buffer stays beside what fills it."""
    moving: set[Buffer] = set(at)
    count = 0
    while count < len(moving):
        count = len(moving)
        moving |= {step.target for step in steps if not moving.isdisjoint(step.reads)}
    return [step for step in steps if step.target not in moving], [step for step in steps if step.target in moving]


def _blocks_of(
    steps: Sequence[Step], kept: Collection[Buffer], rows: Rows, sizes: Mapping[str, int]
) -> tuple[nest.Block, ...]:
    """The blocks of steps; the buffers ``kept`` are read after the last one.

    A group that keeps its rows in an array makes pairs of thin products along them, one that has them in registers
    products of the rows of many places at once.
    """
    found = grouped(steps, kept, rows)
    return coupled(found, kept) if rows == "array" else turned(tiled(found, kept), kept, sizes)


def check_simplex(name: str, sizes: Sequence[int]) -> None:
    """Raise NotLowered where a state is on a simplex of too many entries."""
    if math.prod(sizes) > LARGEST_SIMPLEX:
        raise NotLowered(f"no kernel projects on a simplex of more than {LARGEST_SIMPLEX} entries, as {name} is")


def _step_sizes(network: Network) -> list[str]:
    return [f"step_{name}" for name in network.states]


def free_phase(equations: Equations) -> Kernel:
    """z <- P(z + step F(z))."""
    builder = Builder(equations)
    states = builder.states()
    (force,) = builder.slopes(builder.lowering(states), equations.force)
    after = builder.moved(states, {name: [entry] for name, entry in force.items()})
    doc = "Steps of the free phase."
    return builder.kernel("free", doc, [*states.values()], [*after.values()], _step_sizes(equations.network))


def settling_phase(equations: Equations) -> Kernel:
    """The same, whose samples stop by themselves."""
    kernel = free_phase(equations)
    return replace(kernel, name=f"{equations.prefix}settled", walk="settle", like=kernel.name)


def nudged_phase(equations: Equations) -> Kernel:
    """z <- P(z + step (F(z) - beta nudge(z)))."""
    builder = Builder(equations)
    states = builder.states()
    force, nudge = builder.slopes(builder.lowering(states), equations.force, equations.nudge)
    builder.contrast()
    forces = {name: [entry, *_nudges(nudge, name, -1.0)] for name, entry in force.items()}
    after = builder.moved(states, forces)
    doc = "Steps of a nudged phase."
    return builder.kernel(
        "nudged", doc, [*states.values()], [*after.values()], ["beta", *_step_sizes(equations.network)]
    )


def sweeps(equations: Equations) -> Kernel:
    """z <- P(z + F(z) / D), block after block, where D is known; else by the step."""
    return _swept(equations, "sweeps", "Sweeps of the free phase, block after block.", nudged=False)


def nudged_sweeps(equations: Equations) -> Kernel:
    """z <- P(z + (F(z) - beta nudge(z)) / (D + beta C)), from the last block to the first; C is the nudge's slope."""
    return _swept(equations, "nudged", "Sweeps of a nudged phase, from the last block to the first.", nudged=True)


def _swept(equations: Equations, name: str, doc: str, *, nudged: bool) -> Kernel:
    builder = Builder(equations)
    states = builder.states()
    at = dict(states)
    for block in reversed(equations.blocks) if nudged else equations.blocks:
        nudge = {n: node for n, node in equations.nudge.items() if nudged and n in block.force}
        slopes = {n: node for n, node in block.slopes.items() if isinstance(node, Node)}
        force, push, computed = builder.slopes(builder.lowering(at), block.force, nudge, slopes)
        forces = {n: [entry, *_nudges(push, n, -1.0)] for n, entry in force.items()}
        divisors = {n: _divisor(block, n, computed.get(n), n in push) for n in block.slopes}
        at |= builder.moved({n: at[n] for n in block.force}, forces, divisors)
    if nudged:
        builder.contrast()
    scalars = [*(["beta"] if nudged else []), *_step_sizes(equations.network)]
    return builder.kernel(name, doc, [*states.values()], [at[n] for n in states], scalars)


def _divisor(block: Block, name: str, computed: Expr | None, pushed: bool) -> Expr:
    """D of a state that moves exactly; where what a nudge adds leaves nothing above 0, D without it."""
    slope = expression(block.slopes[name]) if computed is None else computed
    bend = block.cost_slopes.get(name, 0.0) if pushed else 0.0
    if not bend:
        return slope
    whole = slope + bend * Scalar("beta")
    return unless(applied(scalar_function("step", None), whole), 0.0, whole, slope)


def _by_step(name: str, divisor: Expr | None, value: Expr) -> Expr:
    """A value times the step of a state, or by a divisor."""
    if divisor is None:
        return Scalar(f"step_{name}") * value
    if isinstance(divisor, Product) and not divisor.parts:
        return 1.0 / divisor.coefficient * value
    return value / divisor


def tracking_phases(equations: Equations) -> Kernel:
    """Both nudged phases, each with half of what separates them turned by J_nc - J_nc^T at their midpoint."""
    builder = Builder(equations)
    plus, minus = builder.states("_plus"), builder.states("_minus")
    middle, half = {}, {}
    for name in plus:
        place = labels_of(len(plus[name].sizes))
        up, down = Load(plus[name], place), Load(minus[name], place)
        middle[name] = builder.put(f"{name}_middle", plus[name].sizes, 0.5 * up + 0.5 * down)
        half[name] = builder.put(f"{name}_half", plus[name].sizes, 0.5 * up - 0.5 * down)
    (turn,) = builder.slopes(builder.lowering(middle, half), equations.correction)
    after, own = {}, len(builder.steps)
    turns: dict[str, Expr] = {}
    for name, entry in turn.items():
        sizes = plus[name].sizes
        turns[name] = Load(builder.put(f"turn_{name}", sizes, entry), labels_of(len(sizes)))
    for states, sign in ((plus, -1.0), (minus, 1.0)):
        force, nudge = builder.slopes(builder.lowering(states), equations.force, equations.nudge)
        forces = {
            name: [entry, *_nudges(nudge, name, sign), *([sign * turns[name]] if name in turns else [])]
            for name, entry in force.items()
        }
        after[sign] = builder.moved(states, forces)
    builder.contrast(own)
    doc = "Steps of two nudged phases that track the free one."
    moved = [*after[-1.0].values(), *after[1.0].values()]
    scalars = ["beta", *_step_sizes(equations.network)]
    return builder.kernel("tracking", doc, [*plus.values(), *minus.values()], moved, scalars)


def _nudges(nudge: Mapping[str, Expr], name: str, sign: float) -> list[Expr]:
    return [Product(sign, (Scalar("beta"), nudge[name]))] if name in nudge else []
