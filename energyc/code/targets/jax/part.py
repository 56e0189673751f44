"""A network, or a layer, while its part of a module is being written: records, functions, and the model of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from energyc.code.module.context import Context
from energyc.code.module.names import Identifiers
from energyc.code.plan import ModulePlan
from energyc.code.plan.rims import poles_on_rims
from energyc.code.plan.routines import BLOCK, force_params
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.pure import (
    FunctionWriter,
    fixed_fields,
    function_name,
    is_aimed,
    records,
    state_fields,
)
from energyc.code.targets.jax.nodes import JaxWriter, NumpyCode
from energyc.code.targets.jax.params import param_sets
from energyc.code.targets.jax.sets import bounded, kinks, sets
from energyc.code.tree.expressions import Attribute, Dict, Expr, Name, Number, String, Tuple, call, literal, number
from energyc.code.tree.quotation import quote
from energyc.code.tree.statements import Annotated, Assign, Body, Class, Function, Statement
from energyc.language.settings import Nudge, Relax
from energyc.mathematics.ir import Indicator, Node

#: The keywords of a model, by the routines that it takes.
_MODEL: Mapping[str, str] = {
    "_force": "force",
    "_start": "start",
    "_terms": "terms",
    "_readouts": "readouts",
    "_cost": "cost",
    "_energy_contrast": "contrast",
    "_forces_without_energy": "forces",
    "_nonconservative_force": "nonconservative",
    "_nudge": "nudge",
    "_slopes": "gradients",
    "_weights": "weights",
}


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
        roots = [output.node for routine in context.plan.routines for output in routine.outputs]
        self.writer.poles = poles_on_rims(planned.equations, roots)
        self.functions = FunctionWriter(context, self.writer, constants, dtype)
        self.routines = [prepared.signature.name for prepared in context.prepared]

    def equations(self) -> tuple[list[Function], list[Class]]:
        """The functions, and the records."""
        context, functions = self.context, self.functions
        written, shared = list[Function](), list[Class]()
        if context.block is not None:
            function, record = functions.shared(context.block)
            written.append(function)
            shared.append(record)
        planned = zip(context.prepared, context.plan.routines, strict=True)
        written += [functions.function(prepared, routine) for prepared, routine in planned]
        written += functions_of(param_sets(self.network, context.params))
        context.drop_unread(tuple(written))
        return [functions.prepare(), *written], [*self._records(), *shared]

    def _records(self) -> list[Class]:
        """The records of a network; what is fixed holds what step sizes are multiplied by, where it is chosen."""
        found = records(self.context, {"States": state_fields(self.context), "Fixed": fixed_fields(self.context)})
        if self.network.relax.step is not None:
            return found
        pace = Annotated("pace", quote("Array | float"), Number(1.0))
        return [_with(record, pace) if record.name == "Fixed" else record for record in found]

    # ------------------------------------------------------------ the model

    def model(self, names: Mapping[str, str], *, init: bool = False) -> Expr:
        """The model; ``names`` are those of records and functions where they are not their own."""

        def named(name: str) -> Name:
            return Name(names.get(name, name))

        context, derivation = self.context, self.context.derivation
        own = ["Params", "Clamps", "States", *(["Targets"] if is_aimed(self.network) else [])]
        given: dict[str, Expr] = {"records": call("ej.Records", *map(named, own))}
        given |= {"sets": sets(context), "settings": self.settings()}
        given |= {"init": Name("init")} if init else {}
        given["prepare"] = named("prepare")
        given |= {_MODEL[r]: named(function_name(r)) for r in self.routines if r in _MODEL}
        blocks = [named(function_name(r)) for r in self.routines if r.startswith(BLOCK)]
        given |= {"blocks": Tuple(tuple(blocks))} if blocks else {}
        given |= {"cost_slopes": self._cost_slopes()} if blocks and derivation.blocks.cost_slopes else {}
        given |= {"kinks": kinks(context)} if derivation.proximal else {}
        given |= dict(self._of_contrasts())
        if context.features.needs("correction") and derivation.unproved and derivation.antisymmetric_by_unproved:
            given["nonconservative"] = named("force")
        if self.network.relax.measure == "gradient" and self.network.sloped:
            given["sloped"] = literal(tuple(context.local[name] for name in self.network.sloped))
        flags = {"training": self.network.training, "number": context.step}
        given |= {key: String(context.set[node]) for key, node in flags.items() if node is not None}
        return call("ej.Model", **given)

    def _of_contrasts(self) -> Iterator[tuple[str, Expr]]:
        """What rules differentiate for a contrast of two phases, beside what is written for it."""
        context, derivation = self.context, self.context.derivation
        if not context.features.needs("contrast"):
            return
        further = [n for n in derivation.energy_gradient if n not in derivation.energy_contrast]
        energies = [n for n in self.network.acting if n not in derivation.stopped]
        if further:
            yield "energy_params", literal(tuple(context.params[name] for name in further))
        if further and energies != list(self.network.energies):
            yield "energies", literal(tuple(energies))
        if forces := force_params(derivation):
            yield "force_params", literal(tuple(context.params[name] for name in forces))

    def _cost_slopes(self) -> Dict:
        """The slopes that a squared error adds to D of states."""
        slopes = self.context.derivation.blocks.cost_slopes.items()
        return Dict(tuple((String(self.context.local[name]), number(slope)) for name, slope in slopes))

    def settings(self) -> Expr:
        """``ej.Settings``, with what differs from its defaults."""
        explodes = not bounded(self.context)
        chosen = {**_of_free_phase(self.network.relax, explodes), **_of_nudges(self.network.nudge)}
        return call("ej.Settings", **{"step": self._step(), **chosen})

    def _step(self) -> Expr:
        """The step size of all states, or of each."""
        sizes = [self.network.relax.step_for(name) for name in self.network.states]
        return number(sizes[0]) if len(set(sizes)) == 1 else Tuple(tuple(map(number, sizes)))

    # ------------------------------------------------------------ names and constants

    def names(self) -> dict[str, tuple[str, ...]]:
        """The names of the spec by kind, where fields of records are called otherwise."""
        network, context = self.network, self.context
        params, local = context.params, context.local
        kinds = {"params": network.params, "states": network.states, "clamps": network.clamps}
        kinds |= {"targets": network.targets, "noises": network.noises}
        fields = {kind: [{**local, **params}[name] for name in known] for kind, known in kinds.items()}
        return {kind: tuple(known) for kind, known in kinds.items() if fields[kind] != list(known)}

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


def functions_of(body: Body) -> list[Function]:
    """The functions among statements."""
    return [function for function in body if isinstance(function, Function)]


def _wish(planned: ModulePlan, node: Node) -> str:
    return planned.plan.names.get(node, "mask" if isinstance(node, Indicator) else "position")


def _of_free_phase(relax: Relax, explodes: bool) -> dict[str, Expr]:
    """The settings of a free phase that differ from the defaults."""
    early, inference = relax.exit == "early" and relax.tolerance is not None, relax.exit == "inference"
    first = relax.steps or 0  # before the first look at a tolerance
    if early:
        first = 0 if relax.step is None else min(relax.stride, relax.longest)
    values: dict[str, object] = {"automatic": relax.step is None, "steps": first}
    if relax.tolerance is not None:
        values |= {"tolerance": relax.tolerance, "max_steps": relax.longest, "inference": inference}
        values |= {"patience": relax.patience}
    values |= {"chunk": relax.stride, "measure": relax.measure, "explosion": relax.explosion if explodes else None}
    defaults = {"automatic": False, "inference": False, "patience": 1, "chunk": 25, "measure": "residual"}
    return {name: literal(x) for name, x in values.items() if x is not None and x != defaults.get(name)}


def _of_nudges(nudge: Nudge) -> dict[str, Expr]:
    """The settings of nudged phases that differ from the defaults."""
    values: dict[str, object] = {"beta": nudge.beta, "nudge_steps": nudge.steps}
    if nudge.snapshots is not None and (nudge.steps or 0) >= 2 * nudge.snapshots:
        values |= {"snapshots": nudge.snapshots, "nudge_tolerance": nudge.tolerance, "nudge_max_steps": nudge.longest}
    return {name: literal(x) for name, x in values.items() if x is not None}


def _with(record: Class, field: Annotated) -> Class:
    return Class(record.name, (*record.body, field), record.bases, record.doc)
