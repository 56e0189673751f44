"""A network as one PyTorch module: its own part, and below one line the runtime that it uses, or an import of it."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Collection

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from energyc.emit import torch_class, torch_complex
from energyc.emit.context import Context, Options
from energyc.emit.imports import import_lines
from energyc.emit.layout import broken_lines, escaped, wrapped
from energyc.emit.library import free_names, library
from energyc.emit.torch_held import held_methods
from energyc.emit.torch_methods import MethodWriter
from energyc.emit.torch_nodes import TorchWriter
from energyc.resolve.network import Network
from energyc.resources import resource


def torch_module(network: Network, options: Options) -> str:
    """The text of the module: the same network and options give the same bytes."""
    context = Context(network, options)
    own, learning = _own_part(context), _learning(context)
    called = {*free_names(own), *free_names(learning), "EnergyNetwork"}
    definitions = library().closure(called, without=["Fixed"]) if options.runtime == "copy" else []
    read = called.union(*(definition.reads for definition in definitions))
    about = f"{network.name}: {network.description}" if network.description else network.name
    return _template().render(
        title=escaped("\n".join(wrapped(about))),
        head=_head(context),
        imports=import_lines(read, _imported(context, called)),
        network=own,
        runtime="\n\n\n".join(definition.text for definition in definitions),
        class_name=context.class_name,
        equations_name=context.equations_name,
        learning=_indented(learning).strip(),
    )


def _template() -> Template:
    loader = FileSystemLoader(resource("codegen"))
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template("torch/module.py.j2")


def _imported(context: Context, called: Collection[str]) -> Collection[str]:
    """What is imported from energyc: nothing where the module carries its runtime."""
    return () if context.options.runtime == "copy" else [name for name in called if name != "Fixed"]


def _own_part(context: Context) -> str:
    """The records and classes that are the network's own."""
    network = context.network
    writer = TorchWriter(network.extents, network.values, context.letters)
    methods = MethodWriter(context, writer)
    planned = zip(context.prepared, context.plan.routines, strict=True)
    equations = [methods.method(p, routine) for p, routine in planned if not p.signature.complex]
    records, classes = [], []
    if context.features.needs("held-correction"):
        held, record = held_methods(methods)
        equations += held
        records.append(record)
    context.drop_unread("\n\n".join(equations))
    equations.insert(0, methods.prepare(context.fields))
    if context.features.needs("holomorphic"):
        equations.append(torch_class.extended())
        classes.append(torch_complex.extension(context))
    if context.step is not None:
        equations.append(torch_class.at_step(context))
    if network.noises:
        equations.append(torch_class.noise(context, writer))
    if network.ties:
        equations.append(torch_class.ties(context, writer))
    if any(state.constraint is not None for state in network.states.values()):
        equations.append(torch_class.projections(context))
    return "\n\n\n".join([_fixed(context), *records, *classes, _equations_class(context, writer, equations)])


def _equations_class(context: Context, writer: TorchWriter, methods: list[str]) -> str:
    text = "\n\n".join(methods)
    constants = {node: name for node, name in context.constants.items() if re.search(rf"self\.{name}\b", text)}
    init = "\n".join(torch_class.init(context, writer, constants))
    head = f'class {context.equations_name}:\n    """{_class_doc(context)}"""\n\n{torch_class.settings(context)}'
    return "\n\n".join([head, _indented(init), _indented(text)])


def _learning(context: Context) -> str:
    """What the network's class says beside its equations."""
    rules = [rule.module for rule in context.features.rules]
    lines = broken_lines([f"learning_rules = ({', '.join(rules)}{',' * (len(rules) == 1)})"])
    return "\n".join([*lines, "_step_ = newton_step"] if context.features.newton else lines)


def _fixed(context: Context) -> str:
    """The record that ``_prepare`` gives."""
    fields = [(context.local[n], True) for n in context.given]
    fields += [(name, False) for name in context.set.values()]
    fields += [(name, node.batched) for node, name in context.fields.items()]
    return torch_class.record("Fixed", torch_class.what_is_fixed(context), fields, rows=True)


def _head(context: Context) -> str:
    """Where the module comes from."""
    options = context.options
    digest = hashlib.sha256(context.network.source.text.encode()).hexdigest()
    lines = [
        f"Made by energyc {options.version} from {options.label}",
        f"SHA-256 of the spec: {digest}",
        f"Rules: {', '.join(rule.name for rule in context.features.rules)}",
        f"Passes: {options.passes}",
    ]
    return escaped("\n".join([*lines, f"Options: {options.settings}"] if options.settings else lines))


def _class_doc(context: Context) -> str:
    """The states, what the equations below are written with, and the names of what is derived from it."""
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
    return escaped(_indented("\n".join(paragraphs)).strip() + ("\n    " if len(paragraphs) > 1 else ""))


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
