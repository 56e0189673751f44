"""The routines of a plan as pure functions, and the records that they take and give.

``of_library`` reads ``np`` as what the module calls its library, ``jnp`` in JAX.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from energyc.code.module.context import Context
from energyc.code.module.names import Identifiers
from energyc.code.plan import PlannedRoutine
from energyc.code.plan.routines import BLOCK, Prepared, Signature, slope_key
from energyc.code.plan.shared import Block
from energyc.code.targets.arrays.methods import Lets, Routines, docstring, needed, unpacked
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.arrays.routines import Codes, last_name
from energyc.code.tree.expressions import Attribute, Constant, Dict, Expr, Name, String, Tuple, call, literal
from energyc.code.tree.prose import wrapped
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Annotated, Assign, Class, Function, Parameter, Return
from energyc.language.network import Network
from energyc.mathematics.ir import Indicator, Node

#: What functions of routines are called, where the routine's own name says less.
_NAMES: Mapping[str, str] = MappingProxyType({"_slopes": "named_gradients"})
#: What arguments are.
_TYPES: Mapping[str, str] = MappingProxyType(
    {"states": "States", "fixed": "Fixed", "targets": "Targets", "plus": "States", "minus": "States"}
)
_BY_NAME = quote("dict[str, Array]")
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
        clamps, dtype = tuple(Name(c.local[name]) for name in c.given), self.dtype
        batch = quote("len(clamps[0])") if c.network.clamps else literal(1)
        body, values = self.fixed(c.fields, batch)
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
        first = Assign(unpacked(clamps), Name("clamps"))
        lines = needed([first] if clamps else [], [*before, *body, Return(call("Fixed", *values))])
        doc = ("The quantities that no step changes.",)
        parameters = [_params(), Parameter("clamps", Name("Clamps"))]
        if c.network.training is not None:
            parameters.append(Parameter(c.set[c.network.training], Name("bool"), Constant(False)))
        return Function("prepare", tuple(parameters), lines, Name("Fixed"), doc)

    def _shape(self, node: Node, batch: Expr) -> Expr:
        return Tuple((batch, *(literal(self.context.sizes[dim]) for dim in node.dims)))

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
        self.lets = Lets(block, fields)
        record = array_record("Lets", {field: shape(node) for node, field in fields.items()})
        return Function("lets_at", parameters, lines, Name("Lets"), tuple(wrapped(doc))), record

    def function(self, prepared: Prepared, planned: PlannedRoutine) -> Function:
        """A routine as a function."""
        signature = prepared.signature
        names, loads = self.inputs(signature)
        batched = next((c for c in ("states", "plus") if c in signature.arguments), None)
        batch = self.context.samples_fixed if batched is None else quote("len({x}[0])", x=Name(batched))
        lets = self.lets if self.lets is not None and signature.name in self.lets.block.routines else None
        if lets is not None:
            planned = lets.block.without(planned)
        body, codes = self.body(planned, names, self.context.plan.names, batch, None, lets)
        returned, result = self._returned(signature, planned, codes)
        return Function(
            function_name(signature.name),
            (_params(), *(Parameter(a, Name(_TYPES[a])) for a in signature.arguments)),
            needed(loads, [*(() if lets is None else _LETS), *body.body, Return(returned)]),
            result,
            docstring(signature.doc, self.formulas(signature)),
        )

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
                return Dict(tuple((String(key), code) for key, code in single.items())), _BY_NAME
            case (("_weights" | "_slopes"), _):
                return Tuple(tuple(single.values())), quote("tuple[Array, ...]")
            case name, _ if name.startswith(BLOCK):
                return self._block(signature, single), quote("dict[str, Any]")
            case "_start", _:
                constant = {o.key for o in planned.outputs if self.writer.constant_value(o.node) is not None}
                cast = {k: x.method("astype", self.dtype) if k in constant else x for k, x in single.items()}
                return self._states(signature, cast), Name("States")
            case _, "dict":
                return self._by_name({**single, **summed}), _BY_NAME
        return self._states(signature, single), Name("States")

    def _states(self, signature: Signature, parts: Mapping[str, Expr]) -> Expr:
        """One array a state, zeros where there is none."""
        own = Name(next(a for a in ("states", "fixed") if a in signature.arguments))
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
        """Slopes by the fields of params."""
        return Dict(tuple((String(self.context.params[key]), code) for key, code in parts.items()))


def function_name(routine: str) -> str:
    """``_force`` is ``force``."""
    return _NAMES.get(routine, routine.removeprefix("_"))


def _params() -> Parameter:
    return Parameter("params", Name("Params"))


def array_record(name: str, fields: Mapping[str, str], perhaps: Mapping[str, str] = MappingProxyType({})) -> Class:
    """A NamedTuple of arrays by their names, with their shapes; some ``perhaps`` need not be given."""
    body = [Annotated(field, Name("Array"), comment=own) for field, own in fields.items()]
    body += [Annotated(field, quote("Array | None"), Constant(None), own) for field, own in perhaps.items()]
    doc = () if body else ("Nothing.",)
    return Class(name, tuple(body), (Name("NamedTuple"),), doc)


def shape(node: Node, *copies: str) -> str:
    """``[batch, J]``; nothing for one number. ``copies`` are dims behind the batch."""
    dims = [*(["batch"] if node.batched else []), *copies, *node.dims]
    return f"[{', '.join(dims)}]" if dims else ""


def records(
    context: Context, others: Mapping[str, Mapping[str, str]], noises: Mapping[str, str] | None = None
) -> list[Class]:
    """The records of a network: of its inputs, ``others`` with their fields, and of its readouts, where it has any.

    There are targets where a function takes them, though they may be none.
    """
    network, local = context.network, context.local
    params = {context.params[name]: shape(param.node) for name, param in network.params.items()}
    targets = {local[name]: shape(target.node) for name, target in network.targets.items()}
    answers = {field: shape(network.readouts[name].node) for name, field in readout_fields(context).items()}
    made = {**({"Targets": targets} if is_aimed(network) else {}), **others}
    made |= {"Readouts": answers} if answers else {}
    first = [array_record("Params", params), clamps_record(context, noises)]
    return [*first, *(array_record(name, fields) for name, fields in made.items())]


def is_aimed(network: Network) -> bool:
    """Whether a function of a network takes targets."""
    return network.cost is not None or bool(network.reported)


def state_fields(context: Context) -> dict[str, str]:
    """The fields of the states, with their shapes."""
    return {context.local[name]: shape(state.node) for name, state in context.network.states.items()}


def clamps_record(context: Context, noises: Mapping[str, str] | None = None) -> Class:
    """That of the clamps, with the fields of noises behind them, which are zero where they are not given."""
    local, network = context.local, context.network
    own = {local[name]: shape(noise.node) for name, noise in network.noises.items()}
    clamps = {local[name]: shape(clamp.node) for name, clamp in network.clamps.items()}
    return array_record("Clamps", clamps, own if noises is None else noises)


def fixed_fields(context: Context) -> dict[str, str]:
    """The fields of what is fixed: clamps, and what depends on these and on params."""
    given = {context.local[name]: shape(item.node) for name, item in context.given.items()}
    made = {name: shape(node) for node, name in context.fields.items()}
    return given | dict.fromkeys(context.set.values(), "") | made


def readout_fields(context: Context) -> dict[str, str]:
    """The fields of the readouts; names of a spec that are no fields get a near one."""
    chosen = Identifiers()
    return {name: chosen.new(name) for name in context.network.readouts}
