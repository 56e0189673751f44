"""A network as one PyTorch module: its own part, and below one line the runtime that it uses, or an import of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from energyc.code.emit.carried import runtime_of
from energyc.code.emit.context import Context, Options, features_of
from energyc.code.emit.imports import import_lines
from energyc.code.emit.layout import escaped, wrapped
from energyc.code.emit.library import free_names
from energyc.code.emit.torch_layers import layered_parts
from energyc.code.emit.torch_param_sets import param_sets
from energyc.code.emit.torch_part import final_class, network_part
from energyc.language.network import Network
from energyc.resources import resource

#: The text of a network's own part, and of the class that users call.
Parts = tuple[str, str]


def torch_module(network: Network, options: Options) -> str:
    """The text of the module: the same network and options give the same bytes."""
    return module(network, options, layered_parts(network, options) if network.blocks else _parts(network, options))


def module(network: Network, options: Options, parts: Parts, further: Collection[str] = ()) -> str:
    """A module of a network's parts and the runtime that they need; ``further`` lines stand at the end of its head."""
    own, classes = parts
    called = {*free_names(own), *free_names(classes)}
    runtime = runtime_of(network, options, f"{own}\n\n\n{classes}")
    read = {*called, *runtime.names}
    about = f"{network.name}: {network.description}" if network.description else network.name
    return _template().render(
        title=escaped("\n".join(wrapped(about))),
        head=_head(network, options, further),
        imports=import_lines(read, _imported(options, called)),
        network=own,
        runtime=runtime.text,
        classes=classes,
    )


def _parts(network: Network, options: Options) -> Parts:
    """The text of the equations of a network without layers, and of the class that users call."""
    context = Context(network, options)
    rules = [rule.module for rule in context.features.rules]
    learning = [f"learning_rules = ({', '.join(rules)}{',' * (len(rules) == 1)})"]
    body = [*learning, *param_sets(context)]
    return network_part(context), final_class(context, "The network: its equations, relaxed and learned.", body)


@cache
def _template() -> Template:
    loader = FileSystemLoader(resource("codegen"))
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template("torch/module.py.j2")


def _imported(options: Options, called: Collection[str]) -> Collection[str]:
    """What is imported from energyc: nothing where the module carries its runtime."""
    return () if options.runtime != "import" else [name for name in called if name != "Fixed"]


def _head(network: Network, options: Options, further: Collection[str]) -> str:
    """Where the module comes from."""
    digest = hashlib.sha256(network.source.text.encode()).hexdigest()
    rules = features_of(network, options.rules).rules
    lines = [
        f"Made by energyc {options.version} from {options.label}",
        f"SHA-256 of the spec: {digest}",
        *wrapped(f"Rules: {', '.join(rule.name for rule in rules)}", "    "),
        f"Passes: {options.passes}",
    ]
    lines += [f"Options: {options.settings}"] if options.settings else []
    return escaped("\n".join([*lines, *further]))
