"""A network as one module of JAX: records, pure functions, and the model of ``energyc.jax`` that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from energyc.code.module.context import Context, Options
from energyc.code.module.symbols import module_names
from energyc.code.plan import ModulePlan, plan_module
from energyc.code.plan.routines import BLOCK
from energyc.code.targets.arrays.pure import function_name
from energyc.code.targets.jax.forms import written
from energyc.code.targets.jax.layers import layered_module
from energyc.code.targets.jax.params import init, noise
from energyc.code.targets.jax.part import Part, constant_names, functions_of
from energyc.code.targets.jax.printed import bound, module_text, network_class
from energyc.code.targets.jax.reserved import CALLED, RESERVED
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Name, Tuple
from energyc.code.tree.statements import Assign, Body
from energyc.language.network import StartLaw


def jax_module(planned: ModulePlan, options: Options) -> str:
    """The text. Raises UserError for a network, or rules, without a form."""
    network = planned.network
    asked = planned.features.rules
    rules = written(planned, asked)
    own = replace(options, rules=rules)
    made = plan_module(network, rules, own.passes, own.unproved, own.descends, autograd=True)
    without = [rule.name for rule in asked if rule.name not in rules]
    return layered_module(made, own, without) if network.blocks else _Module(made, own, without).text()


class _Module:
    """A module while it is being written; ``without`` are rules that were asked for and are unsupported in JAX."""

    def __init__(self, planned: ModulePlan, options: Options, without: Sequence[str]) -> None:
        self.planned, self.network, self.options, self.without = planned, planned.network, options, without
        blocks = [function_name(r.signature.name) for r in planned.routines if r.signature.name.startswith(BLOCK)]
        names = module_names(*RESERVED, *blocks)
        constants = constant_names(planned, names)
        self.context = Context(planned, options, names=names, words={*CALLED, *constants.values()})
        self.part = Part(planned, self.context, constants)

    def text(self) -> str:
        """The text of the module."""
        written, records = self.part.equations()
        first = init(self.network, self.part.writer, self.context.params)
        equations = [*functions_of((*first, *noise(self._noises()))), *written]
        constants = self.part.constant_values(facts.free_names(*equations))
        model = Assign(Name("MODEL"), self.part.model({}, init=True))
        rules = self.options.rules
        network = network_class(self.context.class_names.own, rules, self.part.names())
        functions = (*bound(rules, self._bound()), *self._methods())
        body = (*records, *equations, model, *functions, network)
        return module_text(self.network, self.options, self.without, [self.context.symbols], constants, body)

    def _bound(self) -> list[str]:
        """The functions of ``energyc.jax`` that the module has beside its rules."""
        answers = ["answer"] if self.network.readouts and "implicit" in self.options.rules else []
        return ["relax", "step", "residual", *answers]

    def _methods(self) -> Body:
        """The methods of the model that the module has as functions."""
        kept = any(state.constraint is not None for state in self.network.states.values())
        names = [*(["energy"] if self.network.energies else []), *(["project"] if kept else [])]
        methods = [Attribute(Name("MODEL"), name) for name in names]
        if len(names) < 2:
            return tuple(Assign(Name(name), method) for name, method in zip(names, methods, strict=True))
        return (Assign(Tuple(tuple(map(Name, names)), bare=True), Tuple(tuple(methods), bare=True)),)

    def _noises(self) -> dict[str, tuple[StartLaw, Sequence[int]]]:
        """The laws and the sizes of noises by their fields."""
        noises, sizes = self.network.noises, self.context.sizes
        return {self.context.local[n]: (x.law, [sizes[dim] for dim in x.node.dims]) for n, x in noises.items()}
