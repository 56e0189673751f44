"""A network, or a layer, while its part of a module is being written: records, functions, settings, constants."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from energyc.code.module.context import Context
from energyc.code.module.names import Identifiers
from energyc.code.plan import ModulePlan
from energyc.code.plan.routines import BLOCK, force_params, sum_key
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.pure import FunctionWriter, function_name, is_function, records
from energyc.code.targets.arrays.sets import bounded, projections
from energyc.code.targets.jax.code import NumpyCode
from energyc.code.targets.jax.kinks import proximal_steps
from energyc.code.targets.jax.nodes import JaxWriter
from energyc.code.targets.jax.param_sets import param_sets
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Expr, List, Name, Number, Tuple, call, literal, number
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Annotated, Assign, Body, Class, Function, Statement
from energyc.mathematics.ir import Indicator, Node

#: The functions that every network has, whoever reads them.
PUBLIC = frozenset(
    "init noise prepare start terms force readouts cost metrics project project_params project_gradients".split()
)
_BETWEEN: Mapping[str, str] = {
    "_energy_contrast": "energy_contrast(params, plus, minus, fixed)",
    "_energy_gradient": "less(energy_gradient(params, plus, fixed), energy_gradient(params, minus, fixed))",
}
_SLOPES = '''
def energy_slopes(params: Params, plus: States, minus: States, fixed: Fixed) -> list[Slopes]:
    """dE/dtheta at plus less that at minus."""
    return {parts}
'''
_BLOCK = '''
def block(number: int, params: Params, states: States, fixed: Fixed) -> dict[str, Any]:
    """By each state of a block the force on it, and D where that is ``b - D z``, else None."""
    return {functions}[number](params, states, fixed)
'''

_AT_STEP = '''
def at_step(fixed: Fixed, number: Array | int) -> Fixed:
    """What is fixed in one step."""
    return {fixed}
'''


class _ConstantWriter(JaxWriter):
    """Writes what a module computes once, in NumPy as far as it is made of positions."""

    kind: ClassVar[type[Code]] = NumpyCode


class Part:
    """What is written of a network without layers, or of a layer; ``constants`` are its constants by name."""

    def __init__(self, planned: ModulePlan, context: Context, constants: Mapping[Node, str]) -> None:
        self.context, self.network, self.constants = context, planned.equations, constants
        first = next(iter(context.params.values()), None)
        own = Name("params")
        dtype = quote("jnp.result_type(float)") if first is None else Attribute(Attribute(own, first), "dtype")
        self.writer = JaxWriter.of(context)
        self.functions = FunctionWriter(context, self.writer, constants, dtype)
        self.routines = {prepared.signature.name for prepared in context.prepared}

    def equations(self) -> tuple[list[Function], list[Class]]:
        """The functions, and the records."""
        context, functions = self.context, self.functions
        written, shared = list[Function](), list[Class]()
        if context.block is not None:
            function, record = functions.shared(context.block)
            written.append(function)
            shared.append(record)
        planned = zip(context.prepared, context.plan.routines, strict=True)
        written += [functions.function(p, r) for p, r in planned if is_function(p.signature.name)]
        if context.features.blocks:
            names = [prepared.signature.name for prepared in context.prepared]
            ordered = [Name(function_name(r)) for r in names if r.startswith(BLOCK)]
            written += functions_of(quote_body(_BLOCK, functions=Tuple(tuple(ordered))))
        if context.derivation.proximal:
            written = [replace(f, name="smooth_vjp") if f.name == "force_vjp" else f for f in written]
        sets = (*projections(context, "jnp"), *proximal_steps(context), *param_sets(self.network, context.params))
        written += functions_of(sets)
        context.drop_unread(tuple(written))
        first = [functions.prepare()]
        if context.step is not None:
            changed = {context.set[context.step]: Name("number")}
            first += functions_of(quote_body(_AT_STEP, fixed=call("fixed._replace", **changed)))
        if "_start" not in self.routines:
            first.append(functions.zeros())
        return [*first, *written, *self._contrasts()], [*self._records(), *shared]

    def _records(self) -> list[Class]:
        """The records of a network; what is fixed holds what step sizes are multiplied by, where it is chosen."""
        if self.network.relax.step is not None:
            return records(self.context)
        pace = Annotated("pace", quote("Array | float"), Number(1.0))
        return [replace(r, body=(*r.body, pace)) if r.name == "Fixed" else r for r in records(self.context)]

    def _contrasts(self) -> list[Function]:
        """The slopes of energies between two phases, where a rule reads them."""
        parts = [quote(text) for routine, text in _BETWEEN.items() if routine in self.routines]
        return functions_of(quote_body(_SLOPES, parts=List(tuple(parts))))

    # ------------------------------------------------------------ what its settings choose

    def files(self, rules: Iterable[str]) -> list[str]:
        """The files of parts with its phases, in the order of a module; ``rules`` are files of rules."""
        relax, nudge = self.network.relax, self.network.nudge
        kinked, swept = bool(self.context.derivation.proximal), self.context.features.blocks
        snapshots = nudge.snapshots is not None and (nudge.steps or 0) >= 2 * nudge.snapshots
        forces = force_params(self.context.derivation)
        return [
            *(["paced"] if relax.step is None else []),
            "records",
            *(["kinks"] if kinked else []),
            *(["kinked_sweeps"] if kinked and swept else []),
            *(["sweeps"] if swept else []),
            *([f"measured_by_{relax.measure}"] if relax.measure != "residual" else []),
            "steps",
            "exact_steps" if relax.tolerance is None else "inference" if relax.exit == "inference" else "settled",
            "bounded" if bounded(self.context) or relax.explosion is None else "unbounded",
            "gradients",
            "plain_nudge",
            "nudged",
            "snapshots" if snapshots else "pairs",
            "strengths" if nudge.beta is None else "set_strength",
            "contrasted_energies" if forces == () else "contrasted_forces",
            *(["force_params"] if forces else []),
            *(["descended"] if self.context.options.descends else []),
            *(["kinked_back"] if kinked else ["summed"] if "_sums_gradient" in self.routines else []),
            *(["exact_back"] if not kinked and (relax.tolerance is None or relax.exit == "inference") else []),
            *(["trained"] if self.network.training is not None else []),
            "free_run",
            *dict.fromkeys([*rules, "adjoints", "answer"]),
            *("defaults", "functions", "sets", "param_sets", "arrays"),
        ]

    def settings(self) -> list[Assign]:
        """The numbers of the phases."""
        relax, nudge = self.network.relax, self.network.nudge
        steps = relax.steps or 0
        early = relax.exit == "early" and relax.tolerance is not None
        first = min(relax.stride, relax.longest) if early else steps  # before the first look at a tolerance
        first = 0 if early and relax.step is None else first
        params = self.context.params
        sizes = {name: relax.step_for(name) for name in self.network.states if name not in self.network.sloped}
        unnamed = {self.context.local[name]: size for name, size in sizes.items() if size > 0}
        values: dict[str, Expr | None] = {
            "STEP": call("States", *(number(relax.step_for(name)) for name in self.network.states)),
            "STEPS": literal(first),
            "CHUNK": literal(relax.stride),
            "MAX_STEPS": literal(steps if relax.tolerance is None else relax.longest),
            "PATIENCE": literal(relax.patience),
            "UNNAMED": literal(unnamed),
            "TOLERANCE": literal(relax.tolerance or 0.0),
            "EXPLOSION": literal(relax.explosion),
            "BETA": literal(nudge.beta),
            "NUDGE_STEPS": literal(nudge.steps),
            "SNAPSHOTS": literal(nudge.snapshots),
            **self._of_blocks(),
            "SUMS": literal(tuple(map(sum_key, self.context.sums))),
            "FORCE_PARAMS": literal(tuple(params[name] for name in force_params(self.context.derivation) or ())),
        }
        return [Assign(Name(name), value) for name, value in values.items() if value is not None]

    def _of_blocks(self) -> dict[str, Expr]:
        """How many blocks there are, and the slopes that a squared error adds to D of states."""
        if not self.context.features.blocks:
            return {}
        blocks, local = self.context.derivation.blocks, self.context.local
        slopes = {local[name]: slope for name, slope in blocks.cost_slopes.items()}
        return {"BLOCKS": literal(len(blocks.order)), "COST_SLOPES": literal(slopes)}

    def constant_values(self, read: Collection[str]) -> Body:
        """What is computed once a module."""
        writer = _ConstantWriter.of(self.context)
        made = list[Statement]()
        for node, name in self.constants.items():
            if name in read:
                code = writer.define_mask(node) if isinstance(node, Indicator) else writer.define(node)
                made.append(Assign(Name(name), code.expr))
            writer.names[node] = Name(name)
        return tuple(made)


def constant_names(planned: ModulePlan, names: Identifiers) -> dict[Node, str]:
    """Names for the constants of a plan, which are then taken."""
    return {node: names.new(_wish(planned, node).upper()) for node in planned.plan.constants}


def _wish(planned: ModulePlan, node: Node) -> str:
    return planned.plan.names.get(node, "mask" if isinstance(node, Indicator) else "position")


def functions_of(body: Body) -> list[Function]:
    """The functions among statements."""
    return [function for function in body if isinstance(function, Function)]


def needed(equations: Sequence[Function], read: Collection[str]) -> list[Function]:
    """The functions of a network that are its public ones, or that names or such functions read."""
    kept = [function for function in equations if function.name in PUBLIC]
    while True:
        known = {*read}.union(*(facts.reads(function) for function in kept))
        more = [f for f in equations if f.name in known or f in kept]
        if len(more) == len(kept):
            return more
        kept = more
