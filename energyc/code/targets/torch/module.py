"""A network as one PyTorch module: its equations, which read all else of the runtime that the module imports."""

from __future__ import annotations

from energyc.code.module.context import Context, Options
from energyc.code.module.head import TORCH, imports, origin
from energyc.code.module.printed import Printed
from energyc.code.module.runtime import ALIAS
from energyc.code.plan import ModulePlan
from energyc.code.targets.layout import laid_out
from energyc.code.targets.torch.layers import layered_part
from energyc.code.targets.torch.part import network_part
from energyc.code.tree import facts
from energyc.code.tree.statements import Body, Import


def torch_module(planned: ModulePlan, options: Options) -> Printed:
    """The module: the same plan and options give the same bytes."""
    return Printed(module(planned, options, plain_part(planned, options)))


def plain_part(planned: ModulePlan, options: Options) -> Body:
    """The sizes, records and classes of a network that runs as operations of torch."""
    return layered_part(planned, options) if planned.layers else network_part(Context(planned, options))


def module(planned: ModulePlan, options: Options, own: Body, kernels: str = "", further: Body = ()) -> str:
    """The text of a module of a network's ``own`` part.

    ``kernels`` says in its head which kernels it has; ``further`` are imports beside those of torch and the runtime.
    """
    rules, of_kernels = [rule.name for rule in planned.features.rules], [f"Kernels: {kernels}"] if kernels else []
    about = origin(planned.network, rules, options, of_kernels)
    imported = imports(facts.free_names(*own), TORCH, Import("energyc", ("runtime",), ALIAS), further)
    return laid_out("torch", about, imported, own)
