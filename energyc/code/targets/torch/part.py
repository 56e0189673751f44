"""A class of a module with its records: the equations of a network, of a layer, or of what is around layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from energyc.code.module.context import Context
from energyc.code.module.symbols import definitions
from energyc.code.targets.torch import classes as torch_class
from energyc.code.targets.torch import holomorphic
from energyc.code.targets.torch.held import held_methods
from energyc.code.targets.torch.lets import shared_method
from energyc.code.targets.torch.methods import MethodWriter
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.tree import facts
from energyc.code.tree.expressions import Name
from energyc.code.tree.prose import wrapped
from energyc.code.tree.statements import Body, Class, Statement
from energyc.mathematics.ir import Node

#: The head of a class, from the writer of its expressions and the constants it keeps: its settings, its constructor.
Head = Callable[[TorchWriter, Mapping[Node, str]], Body]


#: Methods of a target, written when it is known what the others are called.
Methods = Callable[[], Body]


@dataclass(frozen=True)
class Carried:
    """The additions of a target: methods of the equations; for the final class, its bases and its body."""

    methods: Methods = tuple
    bases: tuple[str, ...] = ()
    body: Body = ()


def network_part(context: Context, further: Methods = tuple) -> Body:
    """The records and classes that are a network's own; ``further`` are methods of its target."""
    states = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in context.network.states.items())

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
        return (*torch_class.settings(context), torch_class.init(context, writer, constants))

    part = equations_part(context, f"States {states}.", head, further)
    return (*definitions([context.symbols], part), *part)


def equations_part(context: Context, about: str, head: Head, further: Methods = tuple) -> Body:
    """The records and the class of equations that relax; ``about`` is the first sentence on it."""
    writer = TorchWriter.of(context)
    methods = MethodWriter(context, writer)
    equations, records, classes = list[Statement](), list[Class](), list[Class]()
    if context.block is not None:
        shared, record = shared_method(methods, context.block)
        equations.append(shared)
        records.append(record)
    planned = zip(context.prepared, context.plan.routines, strict=True)
    equations += [methods.method(p, r) for p, r in planned if not p.signature.complex]
    if context.features.needs("held-correction"):
        held, record = held_methods(methods)
        equations += held
        records.append(record)
    equations += further()
    context.drop_unread(tuple(equations))
    equations.insert(0, methods.prepare(context.fields))
    if context.features.needs("holomorphic"):
        equations += torch_class.extended(context)
        classes.append(holomorphic.extension(context))
    equations += _of_the_spec(context, writer)
    own = equations_class(context, about, writer, head, tuple(equations))
    return (fixed_record(context), *records, *classes, own)


def _of_the_spec(context: Context, writer: TorchWriter) -> Body:
    """Methods for what only some specs have: numbered steps, noises, ties, constraints."""
    network = context.network
    constrained = any(state.constraint is not None for state in network.states.values())
    return (
        *((torch_class.at_step(context),) if context.step is not None else ()),
        *((torch_class.noise(context),) if network.noises else ()),
        *(torch_class.ties(context, writer) if network.ties else ()),
        *(torch_class.projections(context) if constrained else ()),
        *(torch_class.blocks(context) if context.features.blocks else ()),
    )


def equations_class(
    context: Context, about: str, writer: TorchWriter, head: Head, methods: Body, derived: bool = True
) -> Class:
    """The class of equations; ``derived`` says that some of them are."""
    read = facts.attributes("self", *methods)
    constants = {node: name for node, name in context.constants.items() if name in read}
    doc = class_doc(context, about, derived)
    return Class(context.class_names.equations, (*head(writer, constants), *methods), doc=doc)


def fixed_record(context: Context) -> Class:
    """The record that ``_prepare`` gives."""
    fields: dict[Node, str] = {item.node: context.local[name] for name, item in context.given.items()}
    fields |= {**context.set, **context.fields}
    return torch_class.record(context.class_names.fixed, torch_class.what_is_fixed(context), fields, rows=True)


def class_doc(context: Context, about: str, derived: bool = True) -> tuple[str, ...]:
    """The docstring of a class: its subject, the symbols of its equations, and names of what is ``derived`` from it."""
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
    return tuple(paragraphs)


def final_class(context: Context, doc: str, body: Body, bases: tuple[str, ...] | None = None) -> Class:
    """The class that users call: the equations, and the runtime's classes that carry them out, or others."""
    named = [
        *context.features.mixins,
        context.class_names.equations,
        *(context.class_names.bases if bases is None else bases),
    ]
    return Class(context.class_names.own, body, tuple(map(Name, named)), (doc,))
