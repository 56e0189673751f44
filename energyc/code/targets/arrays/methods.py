"""The routines of a module with one writer of expressions: bodies, inputs, formulas, whatever they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.code.module.context import Context
from energyc.code.plan import PlannedRoutine, statements_for
from energyc.code.plan.routines import Signature
from energyc.code.plan.shared import Block
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.arrays.routines import Codes, RoutineWriter
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Expr, Name, Tuple
from energyc.code.tree.prose import one_line, wrapped
from energyc.code.tree.statements import Assign, Body, Statement
from energyc.derivation.derive import Output
from energyc.derivation.notation import left_side
from energyc.mathematics.ir import Node

#: An early return, from the expressions of what is not summed.
EarlyReturn = Callable[[Mapping[str, Code]], Body]
#: Outputs of routines.
Outputs = Sequence[Output]


@dataclass(frozen=True)
class Lets:
    """The block that routines share, and the record in which they find it: its fields by their nodes."""

    block: Block
    fields: Mapping[Node, str]

    @property
    def names(self) -> dict[Node, Expr]:
        """How they call what is in it."""
        return {node: Attribute(Name("lets"), field) for node, field in self.fields.items()}


class Routines:
    """The routines of one class or module, by one writer of expressions."""

    def __init__(self, context: Context, writer: ArrayWriter) -> None:
        self.context = context
        self.writer = writer
        self.lets: Lets | None = None  #: What routines share, once its method is written.

    def own_names(self) -> tuple[dict[Node, Expr], dict[Node, Expr]]:
        """How routines call params and constants; and constants as truth values."""
        return self.context.own_names()

    def body(
        self,
        routine: PlannedRoutine,
        names: Mapping[Node, Expr],
        wishes: Mapping[Node, str],
        batch: Expr,
        early: EarlyReturn | None = None,
        lets: Lets | None = None,
        part_of: Outputs = (),
    ) -> tuple[RoutineWriter, Codes]:
        own, masks = self.own_names()
        self.writer.masks.update(masks)
        shared = {} if lets is None else lets.names
        with self.writer.scope({**own, **names, **shared}):
            body = RoutineWriter(self.writer, self.context.globals.child(), wishes, batch)
            if lets is not None:
                body.finds(lets.fields)
            return body, body.write(routine, early, part_of)

    def fixed(self, fixed: Mapping[Node, str], batch: Expr) -> tuple[Body, tuple[Expr, ...]]:
        """The statements of what depends on clamps and params alone, and the values of its record, ``fixed`` last."""
        c = self.context
        given: dict[Node, str] = {item.node: c.local[name] for name, item in c.given.items()}
        given |= c.set
        statements = statements_for(list(fixed), set(c.plan.constants), c.plan.names)
        names: dict[Node, Expr] = {node: Name(name) for node, name in given.items()}
        body, _ = self.body(PlannedRoutine("_prepare", statements, ()), names, {**c.plan.names, **fixed}, batch)
        made = [*given.values(), *(body.named.get(node, name) for node, name in fixed.items())]
        return tuple(body.body), tuple(map(Name, made))

    def inputs(self, signature: Signature) -> tuple[dict[Node, Expr], list[Assign]]:
        """The names of a method's inputs, and the statements that take them out of their containers."""
        c, d = self.context, self.context.derivation
        tables: dict[str, dict[str, Node]] = {
            "states": dict(d.states),
            "targets": {n: t.node for n, t in c.network.targets.items()},
            "cotangents": dict(d.cotangents),
            "directions": dict(d.directions),
            "plus": dict(d.plus),
            "minus": dict(d.minus),
            "sums": dict(d.sums.inputs) if c.sums else {},
            "pulls": dict(d.pulls),
        }
        called = {"states": c.local, "targets": c.local, "cotangents": c.cotangents, "directions": c.directions}
        called |= {"plus": c.plus, "minus": c.minus, "sums": c.sums, "pulls": c.pulls}
        names = c.names_in_fixed() if "fixed" in signature.arguments else {}
        loads = []
        for container, table in tables.items():
            if container in signature.arguments and table:
                local = {node: Name(called[container][n]) for n, node in table.items()}
                names.update(local)
                loads.append(Assign(unpacked(tuple(local.values())), Name(container)))
        return names, loads

    # ------------------------------------------------------------ formulas

    def formulas(self, signature: Signature) -> list[str]:
        """The equations of what a routine computes: the spec's own, or derived ones in its notation."""
        c, d, name = self.context, self.context.derivation, signature.name
        written = {
            "_terms": [q.tree for q in c.network.energies.values()],
            "_families": [q.tree for q in c.network.energies.values() if q.is_family],
            "_readouts": [q.tree for q in c.network.readouts.values()],
            "_cost": [q.tree for q in c.network.costs.values()],
            "_metrics": [q.tree for q in c.network.reported.values()],
        }
        if name in written:
            texts = (c.network.source.slice(tree.span) for tree in written[name])
            return [line for text in texts for line in wrapped(text, indent="    ")]
        derived = {
            "_force": ("F_{}", d.smooth),
            "_slopes": ("grad({})", d.slopes),
            "_cost_force": ("dC/d{}", d.cost_force),
            "_cost_vjp": ("dC/d{}", {**d.cost_force, **d.cost_gradient}),
            "_energy_gradient": ("dE/d{}", {n: x for n, x in d.energy_gradient.items() if n in signature.keys}),
            "_energy_contrast": ("c_{}", d.energy_contrast),
            "_nudge": ("n_{}", d.nudge if d.descends else {}),
            "_descent_gradient": ("dE/d{}", {n: x for n, x in d.descent_gradient.items() if n in signature.keys}),
            "_clamped": ("{}", d.clamped),
            "_predictions": ("{}", d.predicted if name == "_predictions" else {}),
        }
        label, nodes = derived.get(name, ("", {}))
        flows = c.network.flows.values() if name == "_force" else ()
        texts = (c.network.source.slice(flow.tree.span) for flow in flows)
        as_written = [line for text in texts for line in wrapped(text, indent="    ")]
        return as_written + [line for n, node in nodes.items() for line in self._formula(label.format(n), node)]

    def _formula(self, label: str, node: Node) -> list[str]:
        notation = self.context.notation
        text = f"{left_side(label, notation.indices(node))} = {notation.text(node)}"
        return wrapped(text, indent="    ")


def docstring(doc: str, formulas: Sequence[str]) -> tuple[str, ...]:
    """A docstring of a sentence and formulas; one short formula of the spec stands in the sentence."""
    line = one_line(doc, formulas)
    return (line,) if line else (*wrapped(doc), *(["", *formulas] if formulas else []))


def unpacked(names: tuple[Expr, ...]) -> Tuple:
    """The left side that takes a sequence apart."""
    return Tuple(names, bare=len(names) > 1)


def needed(loads: Sequence[Assign], body: Sequence[Statement]) -> Body:
    """A body without what nothing reads; an unpacking has ``_`` for such names."""
    kept = facts.live(body)
    read = facts.reads(*kept)
    return (*(_trimmed(load, read) for load in loads if facts.assigned(load) & read), *kept)


def _trimmed(load: Assign, read: set[str]) -> Assign:
    assert isinstance(load.target, Tuple)
    names = (name if facts.reads(name) & read else Name("_") for name in load.target.items)
    return replace(load, target=unpacked(tuple(names)))
