"""A network as one module of JAX: records, pure functions, and the parts of the runtime that these reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from energyc.code.module.context import Context, Options
from energyc.code.module.symbols import definitions, module_names
from energyc.code.plan import ModulePlan, plan_module
from energyc.code.plan.routines import force_params
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.head import head
from energyc.code.targets.arrays.parts import carried, words
from energyc.code.targets.arrays.pure import ROUTINES, FunctionWriter, function_name, records
from energyc.code.targets.arrays.sets import bounded, projections
from energyc.code.targets.jax.code import JaxCode, NumpyCode
from energyc.code.targets.jax.forms import RULES, written
from energyc.code.targets.jax.initial import init
from energyc.code.targets.jax.nodes import JaxWriter
from energyc.code.targets.jax.param_sets import param_sets
from energyc.code.tree import facts, python
from energyc.code.tree.expressions import Attribute, Dict, Expr, List, Name, String, call, literal, number
from energyc.code.tree.prose import wrapped
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Assign, Blank, Body, Class, Function, Import, Statement
from energyc.mathematics.ir import Indicator, Node
from energyc.runtime.rules import RULES as DECLARED

#: What a module imports where it reads the name: the module it comes from, and whether it is a part of that.
_IMPORTS: Mapping[str, tuple[str, bool]] = {
    "math": ("math", False),
    "Callable": ("collections.abc", True),
    "Mapping": ("collections.abc", True),
    "Sequence": ("collections.abc", True),
    "Any": ("typing", True),
    "ClassVar": ("typing", True),
    "NamedTuple": ("typing", True),
    "jax": ("jax", False),
    "jnp": ("jax.numpy", False),
    "np": ("numpy", False),
    "Array": ("jax", True),
    "lax": ("jax", True),
    "gmres": ("jax.scipy.sparse.linalg", True),
    "DTypeLike": ("jax.typing", True),
}
_RECORDS = ("Params", "Clamps", "Targets", "States", "Fixed", "Readouts", "Lets")
_CONSTANTS = "STEP STEPS CHUNK MAX_STEPS TOLERANCE BETA NUDGE_STEPS SNAPSHOTS EXPLOSION FORCE_PARAMS".split()
_OWN = (
    "init prepare lets_at params clamps states fixed targets cotangents directions plus minus lets at gradients".split()
)
_ROOTS = ("relax", "Network")
#: The functions that every module has, whoever reads them.
_PUBLIC = frozenset(
    "init prepare start terms force readouts cost metrics project project_params project_gradients".split()
)
#: The folder of what a module carries beside its equations.
_PARTS = Path(__file__).parent / "parts"
_STANDARD = frozenset({"math", "collections.abc", "typing"})
_BETWEEN: Mapping[str, str] = {
    "_energy_contrast": "energy_contrast(params, plus, minus, fixed)",
    "_energy_gradient": "less(energy_gradient(params, plus, fixed), energy_gradient(params, minus, fixed))",
}
_SLOPES = '''
def energy_slopes(params: Params, plus: States, minus: States, fixed: Fixed) -> list[Slopes]:
    """dE/dtheta at plus less that at minus."""
    return {parts}
'''


class _ConstantWriter(JaxWriter):
    """Writes what a module computes once, in NumPy as far as it is made of positions."""

    kind: ClassVar[type[Code]] = NumpyCode


def jax_module(planned: ModulePlan, options: Options) -> str:
    """The text. Raises UserError for a network, or rules, without a form."""
    network = planned.network
    asked = planned.features.rules
    rules = written(network, planned.derivation, asked)
    own = replace(options, rules=rules, passes=replace(options.passes, inplace=False))
    made = plan_module(network, rules, own.passes, own.unproved, own.descends, _left_out(planned))
    return _Module(made, own, [rule.name for rule in asked if rule.name not in rules]).text()


def _left_out(planned: ModulePlan) -> list[str]:
    """The routines of a plan that no function is made of."""
    names = {prepared.signature.name for prepared in planned.routines} - ROUTINES
    return [*names, "_step_vjp", "_sums_gradient", "_sums_clamp_gradient", "_penalty"]


class _Module:
    """A module while it is being written; ``without`` are rules that were asked for and have no form."""

    def __init__(self, planned: ModulePlan, options: Options, without: Sequence[str]) -> None:
        self.planned, self.network, self.options, self.without = planned, planned.network, options, without
        reserved = {*_RECORDS, *_CONSTANTS, *_OWN, *_PUBLIC, *_IMPORTS, *words(_PARTS), *map(function_name, ROUTINES)}
        names = module_names(*reserved)
        self.constants = {node: names.new(_wish(planned, node).upper()) for node in planned.plan.constants}
        called = {*_RECORDS, *_OWN, *_IMPORTS, *words(_PARTS, "arrays", "functions"), *self.constants.values()}
        self.context = Context(planned, options, names=names, words=called)
        first = next(iter(self.context.params.values()), None)
        own = Name("params")
        dtype = quote("jnp.result_type(float)") if first is None else Attribute(Attribute(own, first), "dtype")
        self.writer = JaxWriter.of(self.context)
        self.functions = FunctionWriter(self.context, self.writer, self.constants, dtype)
        self.routines = {prepared.signature.name for prepared in self.context.prepared}

    def text(self) -> str:
        """The text of the module."""
        equations, records = self._equations()
        defined = {function.name for function in equations}
        network = self._class()
        roots = {*self._rules(), *_ROOTS, *facts.free_names(*equations, network)}
        roots |= {"answer"} if self.network.readouts and "implicit" in self.options.rules else set()
        roots |= {"energy"} if self.network.energies else set()
        parts = carried(_PARTS, self._files(), roots, defined)
        equations = self._needed(equations, (*parts, network))
        read = facts.free_names(*equations, *parts, network)
        kept = [record for record in records if record.name in read or record.name in _RECORDS]
        settings = [each for each in self._settings() if facts.assigned(each) & read]
        body = (*self._constants(read), *kept, *settings, *equations, *parts, network)
        imported = _imports(facts.free_names(*body))
        sizes = definitions([self.context.symbols], body)
        without = [f"Without, as they have no form in JAX yet: {', '.join(self.without)}"] * bool(self.without)
        about = head(self.network, self.options.rules, self.options, [line for t in without for line in wrapped(t)])
        lines = [*python.docstring(about, ""), "", "from __future__ import annotations", ""]
        return "\n".join([*lines, *python.lines((*imported, *sizes, *body))]) + "\n"

    # ------------------------------------------------------------ equations

    def _equations(self) -> tuple[list[Function], list[Class]]:
        """The functions of the network, and its records."""
        context, functions = self.context, self.functions
        written, shared = list[Function](), list[Class]()
        if context.block is not None:
            function, record = functions.shared(context.block)
            written.append(function)
            shared.append(record)
        planned = zip(context.prepared, context.plan.routines, strict=True)
        written += [functions.function(p, r) for p, r in planned if p.signature.name in ROUTINES]
        written += _functions((*projections(context, JaxCode.library), *param_sets(self.network, context.params)))
        context.drop_unread(tuple(written))
        first = [*_functions(init(self.network, self.writer, context.params)), functions.prepare()]
        if "_start" not in self.routines:
            first.append(functions.zeros())
        return [*first, *written, *self._contrasts()], [*records(context), *shared]

    def _contrasts(self) -> list[Function]:
        """The slopes of energies between two phases, where a rule reads them."""
        parts = [quote(text) for routine, text in _BETWEEN.items() if routine in self.routines]
        return _functions(quote_body(_SLOPES, parts=List(tuple(parts))))

    @staticmethod
    def _needed(equations: Sequence[Function], others: Sequence[Statement]) -> list[Function]:
        """The functions of the network, and of those for rules the ones that something reads."""
        kept = [function for function in equations if function.name in _PUBLIC]
        while True:
            read = facts.free_names(*others).union(*(facts.reads(function) for function in kept))
            more = [f for f in equations if f.name in read or f in kept]
            if len(more) == len(kept):
                return more
            kept = more

    # ------------------------------------------------------------ what its settings choose

    def _rules(self) -> list[str]:
        """The functions of the rules."""
        return [DECLARED[name].module for name in self.options.rules]

    def _files(self) -> list[str]:
        """The files of parts in the order of the module."""
        relax, nudge = self.network.relax, self.network.nudge
        snapshots = nudge.snapshots is not None and (nudge.steps or 0) >= 2 * nudge.snapshots
        forces = force_params(self.context.derivation)
        return [
            "records",
            "steps",
            "exact_steps" if relax.tolerance is None else "settled",
            "bounded" if bounded(self.context) or relax.explosion is None else "unbounded",
            "gradients",
            "plain_nudge",
            "nudged",
            "snapshots" if snapshots else "pairs",
            "strengths" if nudge.beta is None else "set_strength",
            "contrasted_energies" if forces == () else "contrasted_forces",
            *(["force_params"] if forces else []),
            *(["descended"] if self.options.descends else []),
            *dict.fromkeys([*(RULES[name] for name in self.options.rules), "adjoints", "answer"]),
            *("defaults", "functions", "sets", "param_sets", "arrays", "objects"),
        ]

    def _settings(self) -> list[Assign]:
        """The numbers of the phases."""
        relax, nudge = self.network.relax, self.network.nudge
        steps = relax.steps or 0
        params = self.context.params
        values: dict[str, Expr | None] = {
            "STEP": call("States", *(number(relax.step_for(name)) for name in self.network.states)),
            "STEPS": literal(steps),
            "CHUNK": literal(relax.stride),
            "MAX_STEPS": literal(steps if relax.tolerance is None else relax.longest),
            "TOLERANCE": literal(relax.tolerance or 0.0),
            "EXPLOSION": literal(relax.explosion),
            "BETA": literal(nudge.beta),
            "NUDGE_STEPS": literal(nudge.steps),
            "SNAPSHOTS": literal(nudge.snapshots),
            "FORCE_PARAMS": literal(tuple(params[name] for name in force_params(self.context.derivation) or ())),
        }
        return [Assign(Name(name), value) for name, value in values.items() if value is not None]

    def _constants(self, read: Iterable[str]) -> Body:
        """What is computed once a module."""
        writer = _ConstantWriter.of(self.context)
        made = list[Statement]()
        for node, name in self.constants.items():
            if name in read:
                code = writer.define_mask(node) if isinstance(node, Indicator) else writer.define(node)
                made.append(Assign(Name(name), code.expr))
            writer.names[node] = Name(name)
        return tuple(made)

    def _class(self) -> Class:
        """The network as an object."""
        network = self.network
        kinds = {"params": network.params, "states": network.states, "clamps": network.clamps}
        names = {kind: tuple(known) for kind, known in {**kinds, "targets": network.targets}.items()}
        rules = Dict(tuple((String(name), Name(DECLARED[name].module)) for name in self.options.rules))
        body = (Assign(Name("names"), literal(names)), Assign(Name("rules"), rules))
        doc = ("The network with params of its own.",)
        return Class(self.context.class_names.own, body, (Name("Network"),), doc)


def _wish(planned: ModulePlan, node: Node) -> str:
    return planned.plan.names.get(node, "mask" if isinstance(node, Indicator) else "position")


def _functions(body: Body) -> list[Function]:
    return [function for function in body if isinstance(function, Function)]


def _imports(read: Iterable[str]) -> Body:
    """The imports of the names that are read, the standard library first."""
    known = {name: _IMPORTS[name] for name in read if name in _IMPORTS}
    paragraphs = []
    for standard in (True, False):
        chosen = {name: m for name, m in known.items() if (m[0] in _STANDARD) == standard}
        whole = sorted((module, name) for name, (module, part) in chosen.items() if not part)
        parts: dict[str, list[str]] = {}
        for name, (module, part) in chosen.items():
            if part:
                parts.setdefault(module, []).append(name)
        paragraphs.append(
            [
                *(Import(module, alias=None if module == name else name) for module, name in whole),
                *(Import(module, tuple(sorted(parts[module]))) for module in sorted(parts)),
            ]
        )
    return tuple(statement for group in paragraphs if group for statement in (*group, Blank()))[:-1]
