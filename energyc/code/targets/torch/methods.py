"""The routines of a module as methods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from energyc.code.module.context import ClassNames, Context
from energyc.code.plan import PlannedRoutine, statements_for
from energyc.code.plan.routines import Prepared, Signature
from energyc.code.plan.shared import Block
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.routines import Codes, RoutineWriter, last_name
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Constant, Dict, Expr, List, Name, Number, String, Tuple, call
from energyc.code.tree.prose import wrapped
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Assign, Body, Function, If, Parameter, Return, Statement
from energyc.derivation.derive import Output
from energyc.derivation.notation import left_side
from energyc.mathematics.ir import Node

#: An early return, from the expressions of what is not summed.
EarlyReturn = Callable[[Mapping[str, Code]], Body]

_RESULTS: Mapping[str, Expr] = MappingProxyType(
    {
        "list": quote("list[Tensor]"),
        "states": quote("list[Tensor | None]"),
        "dict": quote("dict[str, Tensor]"),
        "both": quote("tuple[list[Tensor | None], dict[str, Tensor]]"),
    }
)
_SELF = Parameter("self")
_LETS = quote_body("lets = self._lets(states, fixed)")
#: Outputs of routines.
Outputs = Sequence[Output]


@dataclass(frozen=True)
class Record:
    """The fields of a record by their nodes; the tensors of ``owned`` nodes are nobody else's."""

    fields: Mapping[Node, str]
    owned: Collection[Node]


@dataclass(frozen=True)
class Lets:
    """The block that routines share, and the record in which they find it."""

    block: Block
    record: Record

    @property
    def names(self) -> dict[Node, Expr]:
        """How they call what is in it."""
        return {node: Attribute(Name("lets"), field) for node, field in self.record.fields.items()}


class MethodWriter:
    """Writes the methods of one class with one writer of expressions."""

    def __init__(self, context: Context, writer: TorchWriter) -> None:
        self.context = context
        self.writer = writer
        self.lets: Lets | None = None  #: What routines share, once its method is written.

    def prepare(self, fixed: Mapping[Node, str]) -> Function:
        """``_prepare``: clamps in, clamps and what depends on clamps and params alone out, under the names given."""
        c = self.context
        clamps: dict[Node, str] = {item.node: c.local[n] for n, item in c.given.items()}
        wishes = {**c.plan.names, **fixed}
        statements = statements_for(list(fixed), set(c.plan.constants), c.plan.names, c.options.passes)
        given: dict[Node, Expr] = {node: Name(name) for node, name in {**clamps, **c.set}.items()}
        body, _ = self._body(PlannedRoutine("_prepare", statements, ()), given, wishes, Name("batch"))
        made = [*clamps.values(), *c.set.values(), *(body.named.get(node, name) for node, name in fixed.items())]
        record = Name(c.class_names.fixed)
        returned = Return(call(record, *map(Name, made)))
        parameters = (_SELF, *(Parameter(name, Name("Tensor")) for name in clamps.values()))
        doc = ("What depends on clamps and params alone.",)
        return Function("_prepare", parameters, facts.live([*self._set(), *body.body, returned]), record, doc)

    def _set(self) -> Iterator[Assign]:
        """Sets what is neither given nor computed; outside of a relaxation the step is the last one."""
        step, sizes = self.context.step, self.context.network.extents
        for node, name in self.context.set.items():
            last = step is not None and node is step
            value = Number(sizes[step.over or ""] - 1) if step is not None and last else quote("self.training")
            yield Assign(Name(name), quote("torch.tensor({value}, device=self.device)", value=value))

    def recorded(
        self,
        name: str,
        record: str,
        doc: str,
        statements: Sequence[Node],
        kept: Sequence[Node],
        wishes: Mapping[Node, str],
        part_of: Outputs = (),
    ) -> tuple[Function, Record]:
        """A method that computes statements at states, and gives those that are ``kept`` in a record.

        They have the names in ``wishes``, else such as say what they are in the outputs that they are ``part_of``.
        """
        c = self.context
        names, loads = self._inputs(Signature(name, ("states", "fixed"), "list", "", ()))
        routine = PlannedRoutine(name, tuple(statements), ())
        body, _ = self._body(routine, names, wishes, quote("len(states[0])"), part_of=part_of)
        fields = {node: body.named.get(node) or last_name(names[node]) for node in kept}
        returned = Return(call(record, *map(Name, fields.values())))
        parameters = (_SELF, Parameter("states", Name("Tensors")), Parameter("fixed", Name(c.class_names.fixed)))
        lines = _needed(loads, [*body.body, returned])
        return Function(name, parameters, lines, Name(record), tuple(wrapped(doc))), Record(fields, body.owned)

    def method(self, prepared: Prepared, planned: PlannedRoutine, given: Mapping[Node, Expr] | None = None) -> Function:
        """A routine as a method; ``given`` are names of what it finds made beside its inputs."""
        signature = prepared.signature
        names, loads = self._inputs(signature)
        batched = next((c for c in ("states", "cotangents", "directions", "plus") if c in signature.arguments), None)
        batch = self.context.samples_fixed if batched is None else quote("len({x}[0])", x=Name(batched))
        split = signature.split and any(output.summed for output in planned.outputs)
        early = _early_return(signature) if split else None
        lets = self.lets if self.lets is not None and signature.name in self.lets.block.routines else None
        if lets is not None:
            planned = lets.block.without(planned)
        body, codes = self._body(planned, {**names, **(given or {})}, self.context.plan.names, batch, early, lets)
        return Function(
            signature.name,
            _parameters(signature, self.context.class_names),
            _needed(loads, [*(() if lets is None else _LETS), *body.body, _returned(signature, *codes)]),
            _RESULTS[signature.gives],
            docstring(signature.doc, self._formulas(signature)),
        )

    def _body(
        self,
        routine: PlannedRoutine,
        names: Mapping[Node, Expr],
        wishes: Mapping[Node, str],
        batch: Expr,
        early: EarlyReturn | None = None,
        lets: Lets | None = None,
        part_of: Outputs = (),
    ) -> tuple[RoutineWriter, Codes]:
        own, masks = self.context.own_names()
        self.writer.masks.update(masks)
        shared = {} if lets is None else lets.names
        with self.writer.scope({**own, **names, **shared}):
            body = RoutineWriter(self.writer, self.context.globals.child(), wishes, self.context.options.passes, batch)
            if lets is not None:
                body.finds(lets.record.fields, lets.record.owned)
            return body, body.write(routine, early, part_of)

    def _inputs(self, signature: Signature) -> tuple[dict[Node, Expr], list[Assign]]:
        """The names of a method's inputs, and the statements that take them out of their containers."""
        c, d = self.context, self.context.derivation
        tables: dict[str, dict[str, Node]] = {
            "states": dict(d.states),
            "targets": {n: t.node for n, t in c.network.targets.items()},
            "cotangents": dict(d.readout_cotangents if signature.of_readouts else d.cotangents),
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

    def _formulas(self, signature: Signature) -> list[str]:
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
    """A docstring of a sentence and formulas."""
    return (*wrapped(doc), *(["", *formulas] if formulas else []))


def unpacked(names: tuple[Expr, ...]) -> Tuple:
    """The left side that takes a sequence apart."""
    return Tuple(names, bare=len(names) > 1)


def _parameters(signature: Signature, names: ClassNames) -> tuple[Parameter, ...]:
    kinds = {"fixed": names.fixed, "held": names.held}
    given = [Parameter(a, Name(kinds.get(a, "Tensors"))) for a in signature.arguments]
    given += [Parameter("params", Name("bool"), Constant(True))] if signature.split else []
    return (_SELF, *given)


def _early_return(signature: Signature) -> EarlyReturn:
    """Where the caller wants no slopes by params."""
    return lambda codes: (If(quote("not params"), (_returned(signature, codes, {}),)),)


def _returned(signature: Signature, codes: Mapping[str, Code], summed: Mapping[str, Code]) -> Return:
    listed = List(tuple(codes[key].expr if key in codes else Constant(None) for key in signature.keys))
    if signature.gives in ("list", "states"):
        return Return(listed)
    keyed = codes if signature.gives == "dict" else {k: c for k, c in codes.items() if k not in signature.keys}
    items = Dict(tuple((String(key), code.expr) for key, code in {**keyed, **summed}.items()))
    return Return(items if signature.gives == "dict" else Tuple((listed, items), bare=True))


def _needed(loads: Sequence[Assign], body: Sequence[Statement]) -> Body:
    """A body without what nothing reads; an unpacking has ``_`` for such names."""
    kept = facts.live(body)
    read = facts.reads(*kept)
    return (*(_trimmed(load, read) for load in loads if facts.assigned(load) & read), *kept)


def _trimmed(load: Assign, read: set[str]) -> Assign:
    assert isinstance(load.target, Tuple)
    names = (name if facts.reads(name) & read else Name("_") for name in load.target.items)
    return replace(load, target=unpacked(tuple(names)))
