"""A network as one PyTorch module that needs nothing but torch."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterable

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from energyc.emit import (
    torch_access,
    torch_class,
    torch_complex,
    torch_functions,
    torch_index,
    torch_initial,
    torch_nodes,
    torch_routines,
    torch_sets,
)
from energyc.emit.context import Context, Options
from energyc.emit.layout import safe, wrapped
from energyc.emit.torch_held import held_methods
from energyc.emit.torch_methods import MethodWriter
from energyc.emit.torch_nodes import TorchWriter
from energyc.resolve.network import Network
from energyc.resources import resource

HELPERS = {
    **torch_initial.HELPERS,
    **torch_functions.HELPERS,
    **torch_nodes.HELPERS,
    **torch_access.HELPERS,
    **torch_index.HELPERS,
    **torch_routines.HELPERS,
    **torch_sets.HELPERS,
    **torch_complex.HELPERS,
}
REQUIRES = {**torch_sets.REQUIRES, **torch_complex.REQUIRES}


def torch_module(network: Network, options: Options) -> str:
    """The text of the module: the same network and options give the same bytes."""
    context = Context(network, options, HELPERS)
    writer = TorchWriter(network.extents, network.values, context.letters)
    methods = MethodWriter(context, writer)
    equations = [methods.method(p, r) for p, r in zip(context.prepared, context.plan.routines, strict=True)]
    records = []
    if context.features.held:
        held, record = held_methods(methods)
        equations += held
        records.append(record)
    context.drop_unread("\n\n".join(equations))
    equations, records = [methods.prepare(context.fields), *equations], [_fixed(context), *records]
    extensions = []
    if context.features.holomorphic:
        extended, needed = torch_complex.extension(context)
        extensions.append(extended)
        writer.needed |= needed
    equations += ["\n".join(torch_class.ties(context, writer)), "\n".join(torch_class.projections(context, writer))]
    text = "\n\n".join([*equations, *extensions])
    used = {node: name for node, name in context.constants.items() if re.search(rf"self\.{name}\b", text)}
    init = "\n".join(torch_class.init(context, writer, used))
    return _rendered(context, records, writer.needed, extensions, _indented(init), _indented("\n\n".join(equations)))


def _fixed(context: Context) -> str:
    """The record that ``_prepare`` gives."""
    fields = [(context.local[n], True) for n in context.network.clamps]
    fields += [(name, node.batched) for node, name in context.fields.items()]
    return torch_class.record("Fixed", "The clamps, and what depends on clamps and params alone.", fields, rows=True)


def _rendered(
    context: Context, records: list[str], needed: Iterable[str], extensions: list[str], init: str, equations: str
) -> str:
    loader = FileSystemLoader(resource("codegen"))
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    features, network = context.features, context.network
    facts = {
        "features": features,
        "constrained": any(state.constraint is not None for state in network.states.values()),
        "explosion": network.relax.explosion is not None,
    }

    def part(name: str) -> str:
        return environment.get_template(f"torch/parts/{name}.py.j2").render(facts).rstrip("\n")

    functions = [*(HELPERS[name] for name in _closure(needed)), *map(part, features.functions), *extensions]
    runtime = [part(name) for name in features.parts]
    about = context.network.description
    module = environment.get_template("torch/module.py.j2").render(
        title=safe("\n".join(wrapped(f"{context.network.name}: {about}" if about else context.network.name))),
        head=_head(context),
        imports=_imports("\n".join([*functions, *runtime, equations, init])),
        records="\n\n\n".join([part("records"), *records]),
        functions="\n\n\n".join(functions),
        class_name=context.class_name,
        class_doc=_class_doc(context),
        constants=torch_class.settings(context),
        init=init,
        equations=equations,
        runtime="\n\n".join(runtime),
    )
    return module.rstrip() + "\n"


def _closure(needed: Iterable[str]) -> list[str]:
    """Helper functions with those they call, in a fixed order."""
    needed = sorted(needed)
    wanted = {*needed}
    for name in needed:
        wanted.update(REQUIRES.get(name, ()))
    return [name for name in HELPERS if name in wanted]


def _head(context: Context) -> str:
    """Where the module comes from."""
    options = context.options
    digest = hashlib.sha256(context.network.source.text.encode()).hexdigest()
    lines = [
        f"Made by energyc {options.version} from {options.label}",
        f"SHA-256 of the spec: {digest}",
        f"Rules: {', '.join(context.features.rules)}",
        f"Passes: {options.passes}",
    ]
    return safe("\n".join([*lines, f"Options: {options.settings}"] if options.settings else lines))


def _imports(text: str) -> str:
    """The imports that a text needs."""

    def used(pattern: str) -> bool:
        return re.search(pattern, text) is not None

    names = [name for name in ("Callable", "Iterable", "Iterator", "Mapping", "Sequence") if used(rf"\b{name}\b")]
    lines = [f"import {name}" for name in ("cmath", "itertools", "math") if used(rf"\b{name}\.")]
    lines += [f"from collections.abc import {', '.join(sorted({*names, 'Sequence'}))}", "from typing import NamedTuple"]
    lines += ["", "import torch", *(["import torch.nn.functional as F"] if used(r"\bF\.") else [])]
    lines += ["from torch import Tensor, nn"]
    if used(r"\bonce_differentiable\b"):
        lines.append("from torch.autograd.function import once_differentiable")
    return "\n".join(lines)


def _class_doc(context: Context) -> str:
    """The states, what the equations below are written with, and how what is derived from it is called."""
    network = context.network
    shapes = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in network.states.items())
    sizes = ", ".join(f"{name} = {size.value}" for name, size in network.sizes.items())
    consts = ", ".join(f"{name} = {const.value:.6g}" for name, const in network.consts.items())
    said = [f"States {shapes}.", f"Sizes: {sizes}." if sizes else "", f"Consts: {consts}." if consts else ""]
    paragraphs = [line for text in filter(None, said) for line in ("", *wrapped(text))][1:]
    lets = [network.source.slice(q.tree.span) for q in network.lets.values()]
    if lets:
        paragraphs += ["", *(line for text in lets for line in wrapped(text, indent="    "))]
        paragraphs += ["", "``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint."]
    return safe(_indented("\n".join(paragraphs)).strip() + ("\n    " if len(paragraphs) > 1 else ""))


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


__all__ = ["HELPERS", "Options", "torch_module"]
