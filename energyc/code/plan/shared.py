"""The block of assignments that several routines begin with: a method of its own computes it, once a call.

Force, VJP, correction and energies read the same lets at the same states. A block holds the assignments that all of
its routines need, and nothing that one of them does without: no routine computes more than before, and none keeps more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from energyc.code.plan.late import summed_late
from energyc.code.plan.planner import Plan, PlannedRoutine, reached
from energyc.code.plan.routines import Prepared, Signature
from energyc.code.plan.statics import MOVING_KINDS, Statics
from energyc.derivation.derive import Output
from energyc.mathematics.ir import Add, Einsum, Map, Node, walk

#: Lines that a block costs beside what it gives and its calls: heads and docstrings of a record and a method.
_COST = 11
#: The fewest lines that a block saves: with less, a reader has one more place to look at and little for it.
_WORTH = 10


@dataclass(frozen=True)
class Block:
    """The assignments that these routines share, in order; ``gives`` are those that are read outside of it.

    ``outputs`` are those of one of the routines: what the assignments are for.
    """

    routines: tuple[str, ...]
    statements: tuple[Node, ...]
    gives: tuple[Node, ...]
    outputs: tuple[Output, ...]

    def without(self, routine: PlannedRoutine) -> PlannedRoutine:
        """A routine without the assignments that it shares."""
        own = tuple(node for node in routine.statements if node not in set(self.statements))
        return replace(routine, statements=own)


def _lines(nodes: Iterable[Node]) -> int:
    """The lines that some assignments take: a sum is added up term by term."""
    return sum(len(node.terms) if isinstance(node, Add) else 1 for node in nodes)


def shared_block(plan: Plan, prepared: Sequence[Prepared]) -> Block | None:
    """The block that saves most lines; None where none saves enough."""
    search = _Search(
        {r.name: r for r, p in zip(plan.routines, prepared, strict=True) if _is_at_states(p.signature)},
        {*plan.constants, *plan.fixed},
    )
    found = [block for names in search.candidates() if (block := search.block(names)) is not None]
    best = max(found, key=search.saved, default=None)
    return best if best is not None and search.saved(best) >= _WORTH else None


def _is_at_states(signature: Signature) -> bool:
    return {"states", "fixed"} <= set(signature.arguments) and not signature.complex


class _Search:
    """The assignments that routines at the same states could share, beside what is ``computed`` before."""

    def __init__(self, routines: Mapping[str, PlannedRoutine], computed: set[Node]) -> None:
        self.routines, self.computed = routines, computed
        self.lines = {name: frozenset(routine.statements) for name, routine in routines.items()}
        of_states, others = Statics(frozenset({"state"})), Statics(MOVING_KINDS - {"state", "step"})
        self.shareable = {name: set(filter(others.static, _needed(r))) for name, r in routines.items()}
        self.moving = of_states.moving

    def candidates(self) -> list[tuple[str, ...]]:
        """The sets of routines that share enough lines to be looked at, in the order of their names."""
        users: dict[Node, list[str]] = {}
        for name, nodes in self.shareable.items():
            for node in nodes:
                users.setdefault(node, []).append(name)
        exact = {tuple(names) for names in users.values()}
        sets = exact | {tuple(n for n in a if n in b) for a, b in combinations(exact, 2)}
        return sorted(n for n in sets if len(n) > 1 and (len(n) - 1) * _lines(self._common(n)) > len(n) + _COST)

    def saved(self, block: Block) -> int:
        """The lines of a module that a block saves."""
        before = sum(_lines(self.lines[name].intersection(block.statements)) for name in block.routines)
        return before - _lines(block.statements) - len(block.gives) - len(block.routines) - _COST

    def _common(self, names: Sequence[str]) -> set[Node]:
        return set.intersection(*(self.shareable[name] for name in names))

    def block(self, names: tuple[str, ...]) -> Block | None:
        """The lines that these routines share and write alike; None where none of them depends on the states."""
        chosen = self._written_alike(names)
        if not any(map(self.moving, chosen)):
            return None
        first = self.routines[names[0]].outputs
        ordered = tuple(node for node in reached([o.node for o in first], self.computed) if node in chosen)
        read = {node for name in names for node in self._read_outside(name, chosen)}
        return Block(names, ordered, tuple(node for node in ordered if node in read), first)

    def _written_alike(self, names: Sequence[str]) -> set[Node]:
        """The common lines, such that nothing inside a line of one routine is a line of another one."""
        chosen, refused = self._common(names), set[Node]()
        readers = _readers(o.node for name in names for o in self.routines[name].outputs)
        while True:
            inside = self._inside(chosen, chosen)
            apart = {node for node in inside if any(node in self.lines[name] for name in names)}
            if not apart:
                return chosen
            small = {n for n in self._spread(chosen) & apart - refused if _may_have_a_line(n, readers[n])}
            refused |= apart - small
            chosen |= small
            refused |= {node for node in chosen if not refused.isdisjoint(self._inside({node}, chosen))}
            chosen -= refused

    def _spread(self, chosen: set[Node]) -> set[Node]:
        """The nodes inside of lines that have more axes than they have: to keep such a node costs nothing."""
        return {n for line in chosen for n in self._inside({line}, chosen) if len(n.dims) < len(line.dims)}

    def _inside(self, roots: set[Node], chosen: set[Node]) -> set[Node]:
        """The nodes that are computed inside the lines of ``roots``, where those of ``chosen`` have lines."""
        known = self.computed | chosen
        return set(reached([child for root in roots for child in root.children], known))

    def _read_outside(self, name: str, chosen: set[Node]) -> Iterator[Node]:
        """The nodes of a block that a routine reads beside it."""
        roots = [output.node for output in self.routines[name].outputs]
        yield from chosen.intersection(roots)
        for node in reached(roots, self.computed | chosen):
            yield from chosen.intersection(node.children)


def _needed(routine: PlannedRoutine) -> set[Node]:
    """The lines of a routine that it needs for what is not summed over the batch, where it gives any such."""
    plain = [o.node for o in routine.outputs if not o.summed] or [o.node for o in routine.outputs]
    return set(walk(plain)) & set(routine.statements) - summed_late(routine.statements, routine.outputs)


def _readers(roots: Iterable[Node]) -> Mapping[Node, list[Node]]:
    """The nodes that read each node."""
    found: dict[Node, list[Node]] = {}
    for node in walk(roots):
        for child in node.children:
            found.setdefault(child, []).append(node)
    return found


def _may_have_a_line(node: Node, readers: Sequence[Node]) -> bool:
    """Whether it changes no result to give a node a line of its own: an entry-by-entry factor of products."""
    by_entry = isinstance(node, Map) or (isinstance(node, Einsum) and not node.contracted)
    return by_entry and all(isinstance(reader, Einsum) for reader in readers)
