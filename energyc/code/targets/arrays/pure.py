"""The routines of a plan as pure functions, and the records that they take and give.

``of_library`` reads ``np`` as what the module calls its library, ``jnp`` in JAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from energyc.code.module.context import Context
from energyc.code.module.names import Identifiers
from energyc.code.plan import PlannedRoutine, statements_for
from energyc.code.plan.routines import BLOCK, Prepared, Signature, slope_key, sum_key
from energyc.code.plan.shared import Block
from energyc.code.targets.arrays.methods import Lets, Record, Routines, docstring, needed, unpacked
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.arrays.routines import Codes, last_name
from energyc.code.tree.expressions import Attribute, Constant, Dict, Expr, Name, String, Tuple, call, literal
from energyc.code.tree.prose import wrapped
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Annotated, Assign, Class, Function, Parameter, Return
from energyc.mathematics.ir import Indicator, Node

#: The routines that a module may have; the others are for what it has no form for.
ROUTINES = frozenset(
    """
    _start _terms _force _slopes _readouts _cost _metrics _cost_vjp _force_vjp _clamp_gradient _start_vjp _readout_vjp
    _weights _weights_vjp _energy_gradient _energy_contrast _step_vjp _sums_gradient
    _user_force_gradient _nudge _descent_gradient _correction
    """.split()
)
#: What arguments are.
_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "states": "States",
        "fixed": "Fixed",
        "targets": "Targets",
        "cotangents": "States",
        "directions": "States",
        "plus": "States",
        "minus": "States",
    }
)
_ARRAYS, _SLOPES, _BOTH = quote("dict[str, Array]"), quote("Slopes"), quote("tuple[States, Slopes]")
_NOISE = "np.zeros({shape}, {dtype}) if {x} is None else {x}"
_LETS = quote_body("lets = lets_at(params, states, fixed)")


class FunctionWriter(Routines):
    """Writes the functions of a module; ``constants`` are its constants by name, ``dtype`` is that of the params."""

    def __init__(self, context: Context, writer: ArrayWriter, constants: Mapping[Node, str], dtype: Expr) -> None:
        super().__init__(context, writer)
        self.constants, self.dtype = constants, dtype
        self.library = writer.kind.library

    def own_names(self) -> tuple[dict[Node, Expr], dict[Node, Expr]]:
        """Params are fields of ``params``; a constant that is no truth value takes their dtype."""
        c, own = self.context, Name("params")
        params: dict[Node, Expr] = {p.node: Attribute(own, c.params[n]) for n, p in c.network.params.items()}
        masks: dict[Node, Expr] = {n: Name(name) for n, name in self.constants.items() if isinstance(n, Indicator)}
        others = {n: name for n, name in self.constants.items() if n not in masks}
        form = self.of_library("np.asarray({x}, {dtype})")
        cast = {n: quote(form, x=Name(name), dtype=self.dtype) for n, name in others.items()}
        return {**params, **cast}, masks

    def of_library(self, form: str) -> str:
        """A form of NumPy, of the library that the module imports."""
        return form.replace("np.", f"{self.library}.")

    # ------------------------------------------------------------ functions

    def prepare(self) -> Function:
        """``prepare``: clamps in; clamps and what depends on clamps and params alone out."""
        c = self.context
        clamps: dict[Node, str] = {item.node: c.local[n] for n, item in c.given.items()}
        wishes = {**c.plan.names, **c.fields}
        dtype = self.dtype
        batch = quote("len(clamps[0])") if c.network.clamps else literal(1)
        statements = statements_for(list(c.fields), set(c.plan.constants), c.plan.names, c.options.passes)
        given: dict[Node, Expr] = {node: Name(name) for node, name in clamps.items()}
        given |= {node: Name(name) for node, name in c.set.items()}
        body, _ = self.body(PlannedRoutine("_prepare", statements, ()), given, wishes, batch)
        made = {name: body.named.get(node, name) for node, name in c.fields.items()}
        form = self.of_library(_NOISE)
        before = [
            Assign(x, quote(form, x=x, shape=self._shape(c.network.noises[name].node, batch), dtype=dtype))
            for name, x in ((name, Name(c.local[name])) for name in c.network.noises)
        ]
        if c.network.training is not None:  # an array, of which ~ is the negation
            own, form = Name(c.set[c.network.training]), self.of_library("np.asarray({x})")
            before.append(Assign(own, quote(form, x=own)))
        if c.step is not None:
            before.append(Assign(Name(c.set[c.step]), literal(c.network.extents[c.step.over or ""] - 1)))
        first = Assign(unpacked(tuple(map(Name, clamps.values()))), Name("clamps"))
        returned = Return(call("Fixed", *map(Name, [*clamps.values(), *c.set.values(), *made.values()])))
        lines = needed([first] if clamps else [], [*before, *body.body, returned])
        doc = ("The quantities that no step changes.",)
        parameters = [_params(), Parameter("clamps", Name("Clamps"))]
        if c.network.training is not None:
            parameters.append(Parameter(c.set[c.network.training], Name("bool"), Constant(False)))
        return Function("prepare", tuple(parameters), lines, Name("Fixed"), doc)

    def _shape(self, node: Node, batch: Expr) -> Expr:
        return Tuple((batch, *(literal(self.context.sizes[dim]) for dim in node.dims)))

    def zeros(self) -> Function:
        """``start`` where the spec has none: zeros."""
        c = self.context
        batch = quote("len(fixed[0])") if c.given else literal(1)
        form = self.of_library("np.zeros({shape}, {dtype})")
        shapes = [self._shape(state.node, batch) for state in c.network.states.values()]
        made = [quote(form, shape=shape, dtype=self.dtype) for shape in shapes]
        parameters = (_params(), Parameter("fixed", Name("Fixed")))
        return Function("start", parameters, (Return(call("States", *made)),), Name("States"), ("Zeros.",))

    def shared(self, block: Block) -> tuple[Function, Class]:
        """``lets_at`` and its record; the functions that are written afterwards begin with it."""
        names, loads = self.inputs(Signature("_lets", ("states", "fixed"), "list", "", ()))
        routine, c = PlannedRoutine("_lets", tuple(block.statements), ()), self.context
        body, _ = self.body(routine, names, c.plan.names, quote("len(states[0])"), part_of=block.outputs)
        fields = {node: body.named.get(node) or last_name(names[node]) for node in block.gives}
        *others, last = (function_name(routine) for routine in block.routines)
        doc = f"The lets, and parts of them, that {', '.join(others)} and {last} share."
        lines = needed(loads, [*body.body, Return(call("Lets", *map(Name, fields.values())))])
        parameters = (_params(), Parameter("states", Name("States")), Parameter("fixed", Name("Fixed")))
        self.lets = Lets(block, Record(fields, body.owned))
        record = array_record("Lets", "The lets at some states, and parts of them.", fields.values())
        return Function("lets_at", parameters, lines, Name("Lets"), tuple(wrapped(doc))), record

    def function(self, prepared: Prepared, planned: PlannedRoutine) -> Function:
        """A routine as a function."""
        signature = prepared.signature
        names, loads = self.inputs(signature)
        batched = next((c for c in ("states", "cotangents", "plus") if c in signature.arguments), None)
        batch = self.context.samples_fixed if batched is None else quote("len({x}[0])", x=Name(batched))
        lets = self.lets if self.lets is not None and signature.name in self.lets.block.routines else None
        if lets is not None:
            planned = lets.block.without(planned)
        body, codes = self.body(planned, names, self.context.plan.names, batch, None, lets)
        returned, result = self._returned(signature, planned, codes)
        return Function(
            function_name(signature.name),
            (_params(), *(Parameter(a, self._type(signature, a)) for a in signature.arguments)),
            needed(loads, [*(() if lets is None else _LETS), *body.body, Return(returned)]),
            result,
            docstring(_sentence(signature), self.formulas(signature)),
        )

    @staticmethod
    def _type(signature: Signature, argument: str) -> Expr:
        if argument in ("pulls", "sums"):
            return quote("Sequence[Array]")
        return Name("Readouts" if argument == "cotangents" and signature.of_readouts else _TYPES[argument])

    def _returned(self, signature: Signature, planned: PlannedRoutine, codes: Codes) -> tuple[Expr, Expr]:
        """What a function gives, and the type of that."""
        single = {key: code.expr for key, code in codes[0].items()}
        summed = {key: code.expr for key, code in codes[1].items()}
        match signature.name, signature.gives:
            case "_cost", _:
                return next(iter(single.values())), Name("Array")
            case "_readouts", _:
                return call("Readouts", *single.values()), Name("Readouts")
            case (("_terms" | "_metrics"), _):
                return Dict(tuple((String(key), code) for key, code in single.items())), _ARRAYS
            case (("_weights" | "_slopes"), _):
                return Tuple(tuple(single.values())), quote("tuple[Array, ...]")
            case name, _ if name.startswith(BLOCK):
                return self._block(signature, single), quote("dict[str, Any]")
            case "_step_vjp", _:
                sums = Dict(tuple((String(key), single[key]) for key in map(sum_key, self.context.sums)))
                slopes = Dict((*sums.items, *self._by_name(summed).items))
                return Tuple((self._states(signature, single), slopes), bare=True), _BOTH
            case "_start", _:
                constant = {o.key for o in planned.outputs if self.writer.constant_value(o.node) is not None}
                cast = {k: x.method("astype", self.dtype) if k in constant else x for k, x in single.items()}
                return self._states(signature, cast), Name("States")
            case _, ("list" | "states"):
                return self._states(signature, single), Name("States")
            case _, "dict":
                return self._by_name({**single, **summed}), _SLOPES
        others = {key: code for key, code in single.items() if key not in signature.keys}
        return Tuple((self._states(signature, single), self._by_name({**others, **summed})), bare=True), _BOTH

    def _states(self, signature: Signature, parts: Mapping[str, Expr]) -> Expr:
        """One array a state, zeros where there is none."""
        own = Name(next(a for a in ("states", "cotangents", "fixed") if a in signature.arguments))
        local = self.context.local
        form = self.of_library("np.zeros_like({x})")
        none = {name: quote(form, x=Attribute(own, local[name])) for name in self.context.network.states}
        return call("States", *(parts.get(name, none[name]) for name in none))

    def _block(self, signature: Signature, parts: Mapping[str, Expr]) -> Expr:
        """By each state of a block the force on it, and D where that is ``b - D z``, else None."""
        local, numbers = self.context.local, self.context.derivation.blocks.numbers
        moved = [name for name in signature.keys if name in local]
        slopes = {name: parts.get(slope_key(name), literal(numbers.get(name))) for name in moved}
        return Dict(tuple((String(local[name]), Tuple((parts[name], slopes[name]))) for name in moved))

    def _by_name(self, parts: Mapping[str, Expr]) -> Dict:
        """Slopes by the fields of params and clamps."""
        fields = {**self.context.local, **self.context.params}
        return Dict(tuple((String(fields[key]), code) for key, code in parts.items()))


def is_function(routine: str) -> bool:
    """Whether a module has a function of a routine."""
    return routine in ROUTINES or routine.startswith(BLOCK)


def function_name(routine: str) -> str:
    """``_force_vjp`` is ``force_vjp``; what is read beside slopes has another name."""
    return "named_gradients" if routine == "_slopes" else routine.removeprefix("_")


def _sentence(signature: Signature) -> str:
    """The docstring of a routine, whose states are all there."""
    return signature.doc.replace(", None where the cost does not read a state", "")


def _params() -> Parameter:
    return Parameter("params", Name("Params"))


def array_record(name: str, doc: str, fields: Iterable[str], perhaps: Iterable[str] = ()) -> Class:
    """A NamedTuple of arrays, of which ``perhaps`` some need not be given."""
    body = [Annotated(field, Name("Array")) for field in fields]
    body += [Annotated(field, quote("Array | None"), Constant(None)) for field in perhaps]
    return Class(name, tuple(body), (Name("NamedTuple"),), (doc,))


def records(context: Context) -> list[Class]:
    """The records of a network but for its lets."""
    network, local = context.network, context.local
    states = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in network.states.items())
    made: Sequence[tuple[str, str, Iterable[str]]] = (
        ("Params", "The learned parameters.", context.params.values()),
        ("Targets", "The targets of the cost, a row for each sample.", (local[name] for name in network.targets)),
        ("States", f"{states}, a row for each sample.", (local[name] for name in network.states)),
        ("Fixed", "Clamps, and quantities that depend on clamps and params alone.", _fixed(context)),
        ("Readouts", "The readouts.", (readout_fields(context).values())),
    )
    first, *others = (array_record(name, doc, fields) for name, doc, fields in made)
    return [first, clamps_record(context), *others]


def clamps_record(context: Context, noises: Iterable[str] | None = None) -> Class:
    """That of the clamps, with the fields of noises behind them, which are zero where they are not given."""
    local, network = context.local, context.network
    doc = f"The inputs, a row for each sample{'; noise may be' if context.network.noises or noises else ''}."
    noises = [local[name] for name in network.noises] if noises is None else noises
    return array_record("Clamps", doc, (local[name] for name in network.clamps), noises)


def _fixed(context: Context) -> list[str]:
    return [*(context.local[name] for name in context.given), *context.set.values(), *context.fields.values()]


def readout_fields(context: Context) -> dict[str, str]:
    """The fields of the readouts; names of a spec that are no fields get a near one."""
    chosen = Identifiers()
    return {name: chosen.new(name) for name in context.network.readouts}
