"""The routines of a module as methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from energyc.code.module.context import ClassNames
from energyc.code.module.runtime import runtime
from energyc.code.plan import PlannedRoutine
from energyc.code.plan.routines import Prepared, Signature
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.methods import EarlyReturn, Outputs, Routines, docstring, needed
from energyc.code.targets.arrays.routines import last_name
from energyc.code.tree import facts
from energyc.code.tree.expressions import Constant, Dict, Expr, List, Name, Number, String, Tuple, call
from energyc.code.tree.prose import wrapped
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Assign, Function, If, Parameter, Return
from energyc.mathematics.ir import Node

_RESULTS: Mapping[str, Expr] = MappingProxyType(
    {
        "list": quote("list[Tensor]"),
        "states": quote("list[Tensor | None]"),
        "dict": quote("dict[str, Tensor]"),
        "both": runtime("Pullback"),
    }
)
_SELF = Parameter("self")
_LETS = quote_body("lets = self._lets(states, fixed)")


class MethodWriter(Routines):
    """Writes the methods of one class with one writer of expressions."""

    def prepare(self, fixed: Mapping[Node, str]) -> Function:
        """``_prepare``: clamps in, clamps and what depends on clamps and params alone out, under the names given."""
        c = self.context
        record = Name(c.class_names.fixed)
        body, values = self.fixed(fixed, Name("batch"))
        parameters = (_SELF, *(Parameter(c.local[name], Name("Tensor")) for name in c.given))
        doc = ("The quantities that depend on clamps and params alone.",)
        lines = facts.live([*self._set(), *body, Return(call(record, *values))])
        return Function("_prepare", parameters, lines, record, doc)

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
    ) -> tuple[Function, dict[Node, str]]:
        """A method that computes statements at states, and gives those that are ``kept`` in a record.

        They have the names in ``wishes``, else such as say what they are in the outputs that they are ``part_of``.
        """
        c = self.context
        names, loads = self.inputs(Signature(name, ("states", "fixed"), "list", "", ()))
        routine = PlannedRoutine(name, tuple(statements), ())
        body, _ = self.body(routine, names, wishes, quote("len(states[0])"), part_of=part_of)
        fields = {node: body.named.get(node) or last_name(names[node]) for node in kept}
        returned = Return(call(record, *map(Name, fields.values())))
        parameters = (_SELF, Parameter("states", runtime("Tensors")), Parameter("fixed", Name(c.class_names.fixed)))
        lines = needed(loads, [*body.body, returned])
        return Function(name, parameters, lines, Name(record), tuple(wrapped(doc))), fields

    def method(self, prepared: Prepared, planned: PlannedRoutine, given: Mapping[Node, Expr] | None = None) -> Function:
        """A routine as a method; ``given`` are names of what it finds made beside its inputs."""
        signature = prepared.signature
        names, loads = self.inputs(signature)
        batched = next((c for c in ("states", "cotangents", "directions", "plus") if c in signature.arguments), None)
        batch = self.context.samples_fixed if batched is None else quote("len({x}[0])", x=Name(batched))
        split = signature.split and any(output.summed for output in planned.outputs)
        early = _early_return(signature) if split else None
        lets = self.lets if self.lets is not None and signature.name in self.lets.block.routines else None
        if lets is not None:
            planned = lets.block.without(planned)
        body, codes = self.body(planned, {**names, **(given or {})}, self.context.plan.names, batch, early, lets)
        return Function(
            signature.name,
            _parameters(signature, self.context.class_names),
            needed(loads, [*(() if lets is None else _LETS), *body.body, _returned(signature, *codes)]),
            _RESULTS[signature.gives],
            docstring(signature.doc, self.formulas(signature)),
        )


def _parameters(signature: Signature, names: ClassNames) -> tuple[Parameter, ...]:
    kinds: dict[str, Expr] = {"fixed": Name(names.fixed), "held": Name(names.held)}
    given = [Parameter(a, kinds.get(a, runtime("Tensors"))) for a in signature.arguments]
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
