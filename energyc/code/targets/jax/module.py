"""A network as one module of JAX: records, pure functions, and the parts of the runtime that these reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from energyc.code.module.context import Context, Options
from energyc.code.module.symbols import module_names
from energyc.code.plan import ModulePlan, plan_module
from energyc.code.targets.arrays.pure import function_name, is_function
from energyc.code.targets.jax.forms import RULES, written
from energyc.code.targets.jax.initial import init, noise
from energyc.code.targets.jax.layers import layered_module
from energyc.code.targets.jax.part import Part, constant_names, functions_of, needed
from energyc.code.targets.jax.printed import network_class, printed
from energyc.code.targets.jax.reserved import CALLED, PARTS, RECORDS, RESERVED
from energyc.code.tree import facts
from energyc.language.network import StartLaw
from energyc.runtime.rules import RULES as DECLARED

_ROOTS = ("relax", "Network")


def jax_module(planned: ModulePlan, options: Options) -> str:
    """The text. Raises UserError for a network, or rules, without a form."""
    network = planned.network
    asked = planned.features.rules
    rules = written(planned, asked)
    own = replace(options, rules=rules, passes=replace(options.passes, inplace=False))
    made = plan_module(network, rules, own.passes, own.unproved, own.descends, _left_out(planned))
    without = [rule.name for rule in asked if rule.name not in rules]
    return layered_module(made, own, without) if network.blocks else _Module(made, own, without).text()


def _left_out(planned: ModulePlan) -> list[str]:
    """The routines of a plan that no function is made of."""
    plans = planned.layers.values() or [planned]
    names = {prepared.signature.name for each in plans for prepared in each.routines}
    by_steps = ["_step_vjp", "_sums_gradient"] if planned.layers else []  # a layer's steps give slopes by clamps too
    return [*(n for n in names if not is_function(n)), *by_steps, "_sums_clamp_gradient", "_penalty", "_jvp_gradient"]


class _Module:
    """A module while it is being written; ``without`` are rules that were asked for and have no form."""

    def __init__(self, planned: ModulePlan, options: Options, without: Sequence[str]) -> None:
        self.planned, self.network, self.options, self.without = planned, planned.network, options, without
        names = module_names(*RESERVED, *PARTS.words(), *(function_name(r.signature.name) for r in planned.routines))
        constants = constant_names(planned, names)
        called = {*CALLED, *PARTS.words("arrays", "functions"), *constants.values()}
        self.context = Context(planned, options, names=names, words=called)
        self.part = Part(planned, self.context, constants)

    def text(self) -> str:
        """The text of the module."""
        equations, records = self.part.equations()
        first = init(self.network, self.part.writer, self.context.params)
        equations = [*functions_of((*first, *noise(self._noises()))), *equations]
        defined = {function.name for function in equations}
        own = self.context.class_names.own
        network = network_class(self.network, own, self.network.states, self.options.rules, self.network.noises)
        roots = {*(DECLARED[name].module for name in self.options.rules), *_ROOTS}
        roots |= facts.free_names(*equations, network)
        roots |= {"answer"} if self.network.readouts and "implicit" in self.options.rules else set()
        roots |= {"energy"} if self.network.energies else set()
        parts = PARTS.carried([*self.part.files(RULES[name] for name in self.options.rules), "objects"], roots, defined)
        equations = needed(equations, facts.free_names(*parts, network))
        read = facts.free_names(*equations, *parts, network)
        kept = [record for record in records if record.name in read or record.name in RECORDS]
        settings = [each for each in self.part.settings() if facts.assigned(each) & read]
        body = (*self.part.constant_values(read), *kept, *settings, *equations, *parts, network)
        return printed(self.network, self.options, self.without, [self.context.symbols], body)

    def _noises(self) -> dict[str, tuple[StartLaw, Sequence[int]]]:
        """The laws and the sizes of noises by their fields."""
        noises, sizes = self.network.noises, self.context.sizes
        return {self.context.local[n]: (x.law, [sizes[dim] for dim in x.node.dims]) for n, x in noises.items()}
