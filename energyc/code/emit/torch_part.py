"""A class of a module with its records: the equations of a network, of a layer, or of what is around layers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from energyc.code.emit import torch_class, torch_complex
from energyc.code.emit.context import Context
from energyc.code.emit.layout import broken_lines, escaped, wrapped
from energyc.code.emit.torch_held import held_methods
from energyc.code.emit.torch_methods import MethodWriter
from energyc.code.emit.torch_nodes import TorchWriter
from energyc.mathematics.ir import Node

#: The head of a class, from the writer of its expressions and the constants it keeps: its settings, its constructor.
Head = Callable[[TorchWriter, Mapping[Node, str]], list[str]]


#: Methods of a target, written when it is known what the others are called.
Methods = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class Carried:
    """What a target adds to a class: methods of its equations; classes to inherit from, and lines of the final one."""

    methods: Methods = lambda: iter(())
    bases: tuple[str, ...] = ()
    body: tuple[str, ...] = ()


def network_part(context: Context, further: Methods = lambda: iter(())) -> str:
    """The records and classes that are a network's own; ``further`` are methods of its target."""
    states = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in context.network.states.items())

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> list[str]:
        return [torch_class.settings(context), indented("\n".join(torch_class.init(context, writer, constants)))]

    return equations_part(context, f"States {states}.", head, further)


def equations_part(context: Context, about: str, head: Head, further: Methods = lambda: iter(())) -> str:
    """The records and the class of equations that relax; ``about`` is the first sentence on it."""
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
    equations += further()
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
    own = equations_class(context, about, writer, head, equations)
    return "\n\n\n".join([fixed_record(context), *records, *classes, own])


def equations_class(
    context: Context, about: str, writer: TorchWriter, head: Head, methods: Sequence[str], derived: bool = True
) -> str:
    """The class of equations; ``derived`` says that some of them are."""
    text = "\n\n".join(methods)
    read = set(re.findall(r"self\.(\w+)", text))
    constants = {node: name for node, name in context.constants.items() if name in read}
    first = f'class {context.called.equations}:\n    """{class_doc(context, about, derived)}"""'
    return "\n\n".join(filter(None, [first, *head(writer, constants), indented(text)]))


def fixed_record(context: Context) -> str:
    """The record that ``_prepare`` gives."""
    fields = [(context.local[n], True) for n in context.given]
    fields += [(name, False) for name in context.set.values()]
    fields += [(name, node.batched) for node, name in context.fields.items()]
    return torch_class.record(context.called.fixed, torch_class.what_is_fixed(context), fields, rows=True)


def class_doc(context: Context, about: str, derived: bool = True) -> str:
    """What a class is about, what its equations are written with, and the names of what is ``derived`` from it."""
    network = context.network
    sizes = ", ".join(f"{name} = {size.value}" for name, size in network.sizes.items())
    consts = ", ".join(f"{name} = {const.value:.6g}" for name, const in network.consts.items())
    said = [about, f"Sizes: {sizes}." if sizes else "", f"Consts: {consts}." if consts else ""]
    paragraphs = [line for text in filter(None, said) for line in ("", *wrapped(text))][1:]
    lets = [network.source.slice(q.tree.span) for q in network.lets.values()]
    if lets:
        paragraphs += ["", *(line for text in lets for line in wrapped(text, indent="    "))]
        names = "``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint."
        paragraphs += ["", names] if derived else []
    return escaped(indented("\n".join(paragraphs)).strip() + ("\n    " if len(paragraphs) > 1 else ""))


def final_class(context: Context, doc: str, body: Sequence[str], bases: Sequence[str] | None = None) -> str:
    """The class that users call: the equations, and the runtime's classes that carry them out, or others."""
    named = [*context.features.mixins, context.called.equations, *(context.called.bases if bases is None else bases)]
    head = f"class {context.called.own}({', '.join(named)}):"
    lines = [f"    {line}".rstrip() for line in broken_lines(body)]
    return "\n".join([head, f'    """{doc}"""', *(["", *lines] if body else [])])


def indented(text: str) -> str:
    """The text of a class's body."""
    return textwrap.indent(text, "    ")
