"""The statements of each routine in order, the quantities that routines share, and the operations of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.code.plan.contract import Contractor, is_view
from energyc.code.plan.separate import separate
from energyc.code.plan.statics import MOVING_KINDS, Statics
from energyc.derivation.derive import Derivation, Output, Routine
from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import Add, Einsum, Graph, Indicator, Input, Map, Node, Position, walk
from energyc.mathematics.ir.flops import step_flops
from energyc.mathematics.sparse import compressed


@dataclass(frozen=True)
class Passes:
    """The passes of a plan.

    ``hoist`` computes what depends only on clamps and params once per relaxation. ``share`` computes in one method what
    several routines at the same states begin with. ``separate`` writes tables of sums over several indices, and their
    sines and cosines, as products over fewer, where that costs less. ``segments`` keeps what a guard as ``dst[e] == n``
    lets through by e, so that no table of n by e is made.
    """

    hoist: bool = True
    share: bool = True
    separate: bool = True
    segments: bool = True

    @staticmethod
    def plain() -> Passes:
        """No optimisation, only the correct order."""
        return Passes(hoist=False, share=False, separate=False, segments=False)


@dataclass(frozen=True)
class PlannedRoutine:
    """A routine's statements in order, and its outputs."""

    name: str
    statements: tuple[Node, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Plan:
    """The computation of a module.

    ``constants`` are computed once, ``fixed`` once per relaxation, the routines at each call. ``names`` holds the
    names of nodes: lets, their tangents and their adjoints.
    """

    routines: tuple[PlannedRoutine, ...]
    constants: tuple[Node, ...]
    fixed: tuple[Node, ...]
    names: Mapping[Node, str]


def plan(
    graph: Graph,
    routines: Sequence[Routine],
    *,
    sizes: Mapping[str, int],
    names: Mapping[Node, str],
    passes: Passes,
    repeated: Iterable[str],
    moving: frozenset[str] = MOVING_KINDS,
) -> Plan:
    """Plan routines jointly; ``repeated`` names those that run at every step, for which hoisting pays off.

    ``moving`` are the kinds of inputs that change from step to step.
    """
    statics = Statics(moving)
    if passes.separate:
        routines, separated = separate(graph, routines, Contractor(graph, sizes, statics))
        names = {separated.get(node, node): name for node, name in names.items()}
    if passes.segments:
        routines, names = _compressed(graph, routines, sizes, names)
    contractor = Contractor(graph, sizes, statics, frozenset(names))
    planned = [_with(r, contractor.rewrite(o.node for o in r.outputs)) for r in routines]
    new_names = contractor.renamed(names)
    stepping = [o.node for r in planned if r.name in set(repeated) for o in r.outputs]
    constants = _constants(o.node for r in planned for o in r.outputs)
    fixed = _hoisted(statics, stepping, constants) if passes.hoist else ()
    computed = {*constants, *fixed}
    scheduled = tuple(_scheduled(routine, computed, new_names) for routine in planned)
    return Plan(scheduled, constants, fixed, new_names)


def _compressed(
    graph: Graph, routines: Sequence[Routine], sizes: Mapping[str, int], names: Mapping[Node, str]
) -> tuple[list[Routine], Mapping[Node, str]]:
    """Each routine with its sparse tables kept by their entries: what one computes in full, another may not."""
    found: list[Routine] = []
    renamed: dict[Node, str] = {}
    for routine in routines:
        made = compressed(graph, [output.node for output in routine.outputs], sizes, names)
        found.append(_with(routine, made.roots))
        renamed = {**made.names, **renamed}
    return found, renamed


def _with(routine: Routine, nodes: Sequence[Node]) -> Routine:
    """A routine with other nodes for its outputs."""
    return Routine(routine.name, tuple(replace(o, node=n) for o, n in zip(routine.outputs, nodes, strict=True)))


def _constants(roots: Iterable[Node]) -> tuple[Node, ...]:
    """Indicators and positions that read no input; they are computed when the module is created."""
    leaves = {n for n in walk(roots) if isinstance(n, Indicator | Position) and not n.children}
    return tuple(sorted(leaves, key=lambda node: node.number))


def _hoisted(statics: Statics, roots: Sequence[Node], constants: Sequence[Node]) -> tuple[Node, ...]:
    computed = set(constants)
    return tuple(node for node in statics.frontier(roots) if node not in computed and not is_trivial(node))


def is_trivial(node: Node) -> bool:
    """Whether a node is too cheap to store: an input, a number, or a scaling or transposition of one."""
    if isinstance(node, Input):
        return True
    if is_view(node):
        return is_trivial(node.operands[0].node)
    return _is_number(node)


def _is_number(node: Node) -> bool:
    """Whether a node is one number everywhere, also as a sum or product of numbers."""
    if isinstance(node, Add) or (isinstance(node, Einsum) and not node.contracted):
        return all(_is_number(part) for part in node.children)
    return False


def _scheduled(routine: Routine, computed: set[Node], names: Mapping[Node, str]) -> PlannedRoutine:
    roots = [output.node for output in routine.outputs]
    return PlannedRoutine(routine.name, statements_for(roots, computed, names), routine.outputs)


def statements_for(roots: Sequence[Node], computed: set[Node], names: Mapping[Node, str]) -> tuple[Node, ...]:
    """The nodes that get their own line on the way to the roots, in order, except those in ``computed``.

    They have a name, are read more than once, or are too large to be inlined.
    """
    order = list(reached(roots, computed))
    uses = Counter(child for node in order for child in node.children)
    uses.update(roots)
    separate = {*names, *roots}
    merged = _merged_sums(order, uses, separate)
    terms = {_viewed(child) for node in order if isinstance(node, Add) for child in node.children}
    depth: dict[Node, int] = {}
    statements = []
    for node in order:
        depth[node] = 1 + max((depth.get(child, 0) for child in node.children), default=0)
        if node not in merged and _needs_line(node, uses[node], depth[node] - (node in terms), separate):
            statements.append(node)
            depth[node] = 0
    return tuple(statements)


def _viewed(node: Node) -> Node:
    """The node below any transpositions and scalings of a term."""
    while is_view(node):
        node = node.operands[0].node
    return node


def _merged_sums(order: Sequence[Node], uses: Mapping[Node, int], separate: set[Node]) -> set[Node]:
    """Sums that only another sum reads, once: their terms become terms of that sum."""
    inner = (child for node in order if isinstance(node, Add) for child in node.children)
    return {child for child in inner if isinstance(child, Add) and uses[child] == 1 and child not in separate}


def _needs_line(node: Node, uses: int, depth: int, separate: set[Node]) -> bool:
    if is_trivial(node):
        return False
    return node in separate or uses > 1 or depth > 3 or not _is_inlinable(node)


def _is_inlinable(node: Node) -> bool:
    return isinstance(node, Map) or (isinstance(node, Einsum) and len(node.operands) <= 2)


def reached(roots: Sequence[Node], computed: set[Node]) -> Iterable[Node]:
    """The nodes needed for the roots, children first; nodes in ``computed`` are not entered."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node not in seen and node not in computed:
            seen.add(node)
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))


def force_flops(derivation: Derivation) -> int:
    """Count the operations of one step of the force that depend on a state; of a sparse table, those of its entries."""
    network = derivation.network
    force = Routine("force", tuple(Output(name, node) for name, node in derivation.smooth.items()))
    contractor = Contractor(network.graph, network.extents, Statics())
    (planned,), _ = separate(network.graph, [force], contractor)
    forces = compressed(network.graph, [output.node for output in planned.outputs], network.extents).roots
    moving = depends(forces, set(derivation.states.values()))
    return step_flops([node for node in walk(forces) if node in moving], network.extents)
