"""The kernels of a trajectory: steps with all states kept, and steps back through them with the slopes by params."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from energyc.code.loops.adjoints import held, passed
from energyc.code.loops.affine import labels_of
from energyc.code.loops.expressions import scaled
from energyc.code.loops.lower import Lowering, NotLowered
from energyc.code.loops.nest import Buffer, Expr, Kernel, Load, Scalar, Scatter
from energyc.code.loops.phases import Builder, Equations, free_phase
from energyc.code.loops.sets import projected
from energyc.mathematics.expressions import Sum
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Node


def recorded_phase(equations: Equations) -> Kernel:
    """y <- P(y) + step F(P(y)), of which each y is kept: z = P(y) are the states before the steps of a free phase."""
    back = equations.back
    assert back is not None
    if not back.moved:
        return replace(free_phase(equations), name=f"{equations.prefix}recorded", walk="record", like=_free(equations))
    builder = Builder(equations)
    moving = {
        name: Buffer(f"moved_{name}" if name in back.moved else name, buffer.sizes, True, "state")
        for name, buffer in builder.states().items()
    }
    states = _on_sets(builder, moving)
    (force,) = builder.slopes(builder.lowering(states), equations.force)
    after = [
        builder.put(f"next_{moving[name].name}", buffer.sizes, _stepped(name, buffer, force[name]))
        for name, buffer in states.items()
    ]
    doc = "Steps of the free phase that are kept, before they are projected."
    scalars = [f"step_{name}" for name in states]
    return builder.kernel("recorded", doc, [*moving.values()], after, scalars, walk="record")


def _free(equations: Equations) -> str:
    return f"{equations.prefix}free"


def _stepped(name: str, state: Buffer, force: Expr) -> Expr:
    return Load(state, labels_of(len(state.sizes))) + Scalar(f"step_{name}") * force


def _on_sets(builder: Builder, moving: Mapping[str, Buffer]) -> dict[str, Buffer]:
    """The states, of buffers where those that are in a set are not projected yet."""
    found = {}
    for name, buffer in moving.items():
        constraint, value = builder.network.states[name].constraint, Load(buffer, labels_of(len(buffer.sizes)))
        own = None if constraint is None else projected(builder.put, name, buffer.sizes, value, constraint)
        found[name] = own or buffer
    return found


def steps_back(equations: Equations) -> Kernel:
    """lambda <- P lambda + J^T (step P lambda) at kept states, and the slopes by params of step P lambda, added up.

    P is the derivative of the projection. Raises NotLowered where no kernel writes it, and for kinks.
    """
    back, network, builder = equations.back, equations.network, Builder(equations)
    assert back is not None
    if equations.kinks:
        raise NotLowered("kinks move proximally")
    at = builder.states("_back")
    nodes = {name: back.came.get(name, state.node) for name, state in network.states.items()}
    kept = {name: passed(builder, nodes[name], buffer) for name, buffer in at.items()}
    moved = {name: passed(builder, node, at[name]) for name, node in back.moved.items()}
    pulled = {name: held(builder, name, buffer, moved.get(name)) for name, buffer in at.items()}
    pushed = {
        name: builder.put(f"{name}_pushed", buffer.sizes, Scalar(f"step_{name}") * pulled[name])
        for name, buffer in at.items()
    }
    lowering = builder.lowering(_on_sets(builder, kept))
    lowering.buffers |= {back.cotangents[name]: buffer for name, buffer in pushed.items()}
    roots = [*back.back.values(), *back.sums.values()]
    lowering.expect([*roots, *back.slopes.values()])
    lowering.fill(roots)
    lowering.fill(child for node in back.slopes.values() for child in node.children)
    entries = {name: lowering.at(node, labels_of(len(node.dims))) for name, node in back.back.items()}
    terms = {name: lowering.at(node, labels_of(len(node.dims))) for name, node in back.sums.items()}
    totals: dict[str, Buffer] = {}
    for name, node in back.slopes.items():
        totals[name] = Buffer(f"slope_{name}", lowering.extents(node), False, "total")
        add_up(lowering, node, totals[name])
    builder.asked |= dict(lowering.asked)
    sums = {name: Buffer(f"{name}_sum", lowering.extents(node), True, "state") for name, node in back.sums.items()}
    after = [
        builder.put(f"next_{buffer.name}", buffer.sizes, Sum((pulled[n], *([entries[n]] if n in entries else []))))
        for n, buffer in at.items()
    ]
    after += [
        builder.put(f"next_{buffer.name}", buffer.sizes, Load(buffer, labels_of(len(buffer.sizes))) + terms[name])
        for name, buffer in sums.items()
    ]
    return builder.kernel(
        "backward",
        "Steps of the free phase in reverse.",
        [*at.values(), *sums.values()],
        after,
        [f"step_{name}" for name in at],
        walk="go_back",
        totals=totals,
        recalled=[*kept.values(), *moved.values()],
    )


# ------------------------------------------------------------------ totals over samples


def add_up(lowering: Lowering, node: Node, total: Buffer, coefficient: Coefficient = ONE) -> None:
    """The steps that add a node, times a coefficient, to a total of its sizes.

    A product of two tensors is one matrix product whose terms are those of all samples.
    """
    if node not in lowering.buffers and lowering.uses[node] <= 1:
        if isinstance(node, Add):
            for factor, term in node.terms:
                add_up(lowering, term, total, coefficient * factor)
            return
        if isinstance(node, Einsum):
            _add_up_product(lowering, node, total, coefficient)
            return
    _scatter(lowering, node, total, coefficient)


def _add_up_product(lowering: Lowering, node: Einsum, total: Buffer, coefficient: Coefficient) -> None:
    if lowering.solution(node).never:
        return
    product = lowering.product(node, coefficient, total)
    if product is not None:
        lowering.steps.append(product)
    elif _ends_at_its_places(lowering, node) and total.size > 1:
        solved = lowering.solution(node)
        lowering.hold_narrow(node)
        entry = scaled(lowering.factor(coefficient), lowering.term(node))
        place = solved.out if solved.scatters else labels_of(len(node.dims))
        lowering.steps.append(Scatter(total, tuple(solved.extents), tuple(place), entry, "sum", lowering.text(node)))
    else:
        _scatter(lowering, node, total, coefficient)


def _ends_at_its_places(lowering: Lowering, node: Einsum) -> bool:
    """Whether what is summed lies, along its last axis, as its total does: then a sum of its own would jump."""
    solved = lowering.solution(node)
    last = [place[-1] for _, place in solved.operands if place]
    return bool(solved.scatters) or all(label < solved.plain for index in last for label in index.axes())


def _scatter(lowering: Lowering, node: Node, total: Buffer, coefficient: Coefficient) -> None:
    """Each sample's own entries are added to the total."""
    place = labels_of(len(node.dims))
    entry = scaled(lowering.factor(coefficient), lowering.at(node, place))
    lowering.steps.append(Scatter(total, lowering.extents(node), place, entry, "sum", lowering.text(node)))
