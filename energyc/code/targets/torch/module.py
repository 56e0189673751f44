"""A network as one PyTorch module: its own part, and below one line the runtime that it uses, or an import of it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from energyc.code.module.carried import runtime_of
from energyc.code.module.context import Context, Options
from energyc.code.module.imports import imports
from energyc.code.module.printed import Printed
from energyc.code.plan import ModulePlan
from energyc.code.targets.arrays.head import head
from energyc.code.targets.torch.classes import learning_rules
from energyc.code.targets.torch.layers import layered_parts
from energyc.code.targets.torch.param_sets import param_sets
from energyc.code.targets.torch.part import final_class, network_part
from energyc.code.tree import facts, python
from energyc.code.tree.statements import Body
from energyc.resources import resource

#: A network's own part, and the class that users call.
Parts = tuple[Body, Body]


def torch_module(planned: ModulePlan, options: Options) -> Printed:
    """The module: the same plan and options give the same bytes."""
    return Printed(module(planned, options, parts_of(planned, options)))


def parts_of(planned: ModulePlan, options: Options) -> Parts:
    """The parts of a network that runs as operations of torch."""
    return layered_parts(planned, options) if planned.layers else _parts(planned, options)


def module(planned: ModulePlan, options: Options, parts: Parts, kernels: str = "") -> str:
    """A module of a network's parts and the runtime that they need; ``kernels`` says in its head which it has."""
    own, classes = parts
    called = facts.free_names(*own, *classes)
    runtime = runtime_of(planned.network, options, (*own, *classes))
    rules, of_kernels = [rule.name for rule in planned.features.rules], [f"Kernels: {kernels}"] if kernels else []
    about = head(planned.network, rules, options, of_kernels)
    imported = imports(called | facts.free_names(*runtime), _imported(options, called))
    return _template().render(
        head="\n".join(python.docstring(about, "")),
        network=_text((*imported, *own)),
        runtime=_text(runtime),
        classes=_text(classes),
    )


def _text(body: Body) -> str:
    return "\n".join(python.lines(body))


@cache
def _template() -> Template:
    loader = FileSystemLoader(resource("codegen"))
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template("torch/module.py.j2")


def _parts(planned: ModulePlan, options: Options) -> Parts:
    """The equations of a network without layers, and the class that users call."""
    context = Context(planned, options)
    body = (*learning_rules(context.features.rules), *param_sets(context))
    return network_part(context), (final_class(context, "The network: its equations, relaxed and learned.", body),)


def _imported(options: Options, called: Collection[str]) -> Collection[str]:
    """The names that are imported from energyc: none where the module carries its runtime."""
    return () if options.runtime != "import" else [name for name in called if name != "Fixed"]
