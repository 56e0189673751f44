"""Kernels of the adjoint of an equilibrium: the transposed step, at states that stay where they are or that move."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from energyc.code.loops.affine import labels_of
from energyc.code.loops.expressions import unless
from energyc.code.loops.lower import NotLowered
from energyc.code.loops.nest import Buffer, Expr, Kernel, Load, Scalar
from energyc.code.loops.phases import Builder, Equations
from energyc.code.loops.sets import projected, projected_back
from energyc.language.network import State
from energyc.mathematics.expressions import ZERO, Sum
from energyc.mathematics.ir import Input, Node, walk


def adjoint_solve(equations: Equations) -> Kernel:
    """a <- seed + P (a + J^T (step a)), J at states that are given.

    P is the derivative of the proximal step: an entry moves or is held at 0, J being infinite there or not. Raises
    NotLowered where it is no diagonal.
    """
    adjoint = equations.adjoint
    assert adjoint is not None
    network, builder = equations.network, Builder(equations)
    for name, state in network.states.items():
        _check_diagonal(name, state, equations)
    at = builder.states("_back")
    entries = {name: Load(buffer, labels_of(len(buffer.sizes))) for name, buffer in at.items()}
    pushed = {
        name: builder.put(f"{name}_pushed", buffer.sizes, Scalar(f"step_{name}") * entries[name])
        for name, buffer in at.items()
    }
    lowering = builder.lowering({})
    lowering.buffers |= {adjoint.cotangents[name]: buffer for name, buffer in pushed.items()}
    back = list(adjoint.back.values())
    lowering.expect(back)
    lowering.hold(_unmoved(back, adjoint.cotangents.values()))
    lowering.fill(back)
    found = {name: lowering.at(node, labels_of(len(node.dims))) for name, node in adjoint.back.items()}
    builder.asked |= dict(lowering.asked)
    after = []
    for name, buffer in at.items():
        place = entries[name].place
        seed = Load(passed(builder, adjoint.seeds[name], buffer), place)
        through: Expr = Sum((entries[name], found[name])) if name in found else entries[name]
        if name in adjoint.moving:
            moves = Load(passed(builder, adjoint.moving[name], buffer), place)
            through = unless(moves, 0.0, through, ZERO)
        after.append(builder.put(f"next_{buffer.name}", buffer.sizes, Sum((seed, through))))
    doc, scalars = "The adjoint of an equilibrium, iterated.", [f"step_{name}" for name in at]
    return builder.kernel("adjoint", doc, [*at.values()], after, scalars, walk="solve")


def adjoint_phase(equations: Equations) -> Kernel:
    """a <- P^T (a + step (J^T a + dC/dz)) beside z <- P(z + step F(z)), P^T being taken where z moves to.

    Raises NotLowered where no kernel writes P^T, and for kinks.
    """
    adjoint, builder = equations.adjoint, Builder(equations)
    assert adjoint is not None
    if equations.kinks:
        raise NotLowered("kinks move proximally")
    states, beside = builder.states(), builder.states("_back")
    lowering = builder.lowering(states)
    lowering.buffers |= {adjoint.cotangents[name]: buffer for name, buffer in beside.items()}
    force, nudge, back = builder.slopes(lowering, equations.force, equations.nudge, adjoint.back)
    after: dict[str, Buffer] = {}
    after_beside: dict[str, Buffer] = {}
    for name, state in states.items():
        step, place, constraint = (
            Scalar(f"step_{name}"),
            labels_of(len(state.sizes)),
            equations.network.states[name].constraint,
        )
        moved = builder.put(f"moved_{name}", state.sizes, Load(state, place) + step * force[name])
        after[name] = projected(builder.put, f"next_{name}", state.sizes, Load(moved, place), constraint)
        pulls = Sum(tuple(part[name] for part in (back, nudge) if name in part))
        seed = builder.put(f"pulled_{name}", state.sizes, Load(beside[name], place) + step * pulls)
        after_beside[name] = builder.put(f"next_{name}_back", state.sizes, held(builder, name, seed, moved))
    doc = "Steps of the free phase, and of the adjoint beside it."
    at, ends = [*states.values(), *beside.values()], [*after.values(), *after_beside.values()]
    return builder.kernel("adjoining", doc, at, ends, [f"step_{name}" for name in states])


def held(builder: Builder, name: str, seed: Buffer, moved: Buffer | None) -> Expr:
    """P^T of a seed. Raises NotLowered where no kernel writes it."""
    constraint, entry = builder.network.states[name].constraint, Load(seed, labels_of(len(seed.sizes)))
    if constraint is None or moved is None:
        return entry
    back = projected_back(builder.put, moved, seed, constraint)
    if back is None:
        raise NotLowered(f"no kernel goes back through the projection of {name}")
    if constraint.kind in ("box", "nonnegative"):
        return back
    return Load(builder.put(f"held_{seed.name}", seed.sizes, back), entry.place)


def _check_diagonal(name: str, state: State, equations: Equations) -> None:
    """Raise NotLowered where the proximal step of a state has a derivative that mixes its entries."""
    kinks = equations.kinks.get(name)
    if state.constraint is not None and state.constraint.kind not in ("box", "nonnegative"):
        raise NotLowered(f"the projection of {name} mixes entries")
    if kinks is not None and kinks.norm is not None:
        raise NotLowered(f"the kink of {name} mixes entries")


def passed(builder: Builder, node: Input, like: Buffer) -> Buffer:
    """A buffer for each sample that the caller passes, of the sizes of another one."""
    return builder.asked.setdefault(node, Buffer(node.name, like.sizes, True, "given"))


def _unmoved(roots: Sequence[Node], cotangents: Collection[Node]) -> Iterator[Node]:
    """The nodes without cotangents that one with them reads."""
    moving: set[Node] = set(cotangents)
    found: dict[Node, None] = {}
    for node in walk(roots):
        if any(child in moving for child in node.children):
            moving.add(node)
            found.update(dict.fromkeys(node.children))
    return (node for node in found if node not in moving)
