"""A class of a module with its records: the equations of a network, of a layer, or of what is around layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from energyc.code.module.context import Context
from energyc.code.module.runtime import runtime
from energyc.code.module.symbols import definitions
from energyc.code.plan import plan, reached, statements_for
from energyc.code.plan.rims import off_rims
from energyc.code.plan.routines import correction
from energyc.code.plan.shared import Block
from energyc.code.targets.arrays.methods import Lets
from energyc.code.targets.torch import classes as torch_class
from energyc.code.targets.torch import holomorphic
from energyc.code.targets.torch.methods import MethodWriter
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.targets.torch.param_sets import param_sets
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Expr, Name
from energyc.code.tree.prose import wrapped
from energyc.code.tree.statements import Body, Class, Function, Statement
from energyc.mathematics.ir import Node

#: The head of a class, from the writer of its expressions and the constants it keeps: its settings, its constructor.
Head = Callable[[TorchWriter, Mapping[Node, str]], Body]


#: Methods of a target, written when it is known what the others are called.
Methods = Callable[[], Body]


@dataclass(frozen=True)
class Kernels:
    """Members that kernels add to a class: methods, settings, and the classes of the runtime that run them."""

    methods: Methods = tuple
    settings: Body = ()
    bases: tuple[str, ...] = ()


#: A class without kernels.
PLAIN = Kernels()


def network_part(context: Context, kernels: Kernels = PLAIN) -> Body:
    """The records and the class of a network, below the sizes that they read."""
    states = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in context.network.states.items())
    rules = torch_class.learning_rules(context.features.rules)

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
        settings = (*torch_class.settings(context), *rules, *kernels.settings)
        return (*settings, torch_class.init(context, writer, constants))

    bases = kernels.bases or context.class_names.bases
    part = relaxing_part(context, f"States {states}.", head, bases, kernels.methods)
    return (*definitions([context.symbols], part), *part)


def relaxing_part(
    context: Context, about: str, head: Head, bases: tuple[str, ...], further: Methods = tuple
) -> tuple[Class, ...]:
    """The records and the class of what relaxes; ``about`` is the first sentence on it."""
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
    equations += param_sets(context)
    own = network_class(context, about, writer, head, tuple(equations), (*context.features.mixins, *bases))
    return (fixed_record(context), *records, *classes, own)


def shared_method(methods: MethodWriter, block: Block) -> tuple[Function, Class]:
    """``_lets`` and the record that it gives; the methods that are written afterwards begin with it."""
    name, wishes = methods.context.class_names.lets, methods.context.plan.names
    *others, last = block.routines
    doc = f"The lets, and parts of them, that {', '.join(others)} and {last} share."
    function, fields = methods.recorded("_lets", name, doc, block.statements, block.gives, wishes, block.outputs)
    methods.lets = Lets(block, fields)
    return function, torch_class.record(name, "The lets at some states, and parts of them.", fields)


def held_methods(methods: MethodWriter) -> tuple[list[Function], Class]:
    """``_hold`` and ``_held_correction``, and the record that passes between them."""
    context = methods.context
    derivation = context.derivation
    (prepared,), named = off_rims(context.network, [correction(derivation, held=True)], derivation.names)
    planned = plan(
        context.network.graph,
        [prepared.routine],
        sizes=context.network.extents,
        names=named,
        passes=context.options.passes,
        repeated=[prepared.signature.name],
        moving=frozenset({"direction"}),
    )
    made = {*context.names_in_fixed(), *context.constants}
    held = [node for node in planned.fixed if node not in made]
    read = set(reached([o.node for o in planned.routines[0].outputs], {*held, *made}))
    held += [state for state in context.derivation.states.values() if state in read]
    statements = statements_for(held, made, planned.names)
    doc = "The parts of the correction at these states that no direction changes."
    name = context.class_names.held
    hold, fields = methods.recorded("_hold", name, doc, statements, held, context.fixed_names(held))
    names: dict[Node, Expr] = {node: Attribute(Name("held"), field) for node, field in fields.items()}
    method = methods.method(prepared, planned.routines[0], names)
    doc = "The parts of a correction that depend on its states alone."
    return [hold, method], torch_class.record(name, doc, fields)


def _of_the_spec(context: Context, writer: TorchWriter) -> Body:
    """Methods for what only some specs have: numbered steps, noises, ties, blocks."""
    network = context.network
    return (
        *((torch_class.at_step(context),) if context.step is not None else ()),
        *((torch_class.noise(context),) if network.noises else ()),
        *(torch_class.ties(context, writer) if network.ties else ()),
        *(torch_class.blocks(context) if context.features.blocks else ()),
    )


def network_class(
    context: Context,
    about: str,
    writer: TorchWriter,
    head: Head,
    methods: Body,
    bases: Sequence[str],
    derived: bool = True,
) -> Class:
    """The class of a network or of a layer; ``derived`` says that some of its equations are."""
    read = facts.attributes("self", *methods)
    constants = {node: name for node, name in context.constants.items() if name in read}
    doc = class_doc(context, about, derived)
    body = (*head(writer, constants), *methods)
    return Class(context.class_names.own, body, tuple(map(runtime, bases)), doc)


def fixed_record(context: Context) -> Class:
    """The record that ``_prepare`` gives."""
    fields: dict[Node, str] = {item.node: context.local[name] for name, item in context.given.items()}
    fields |= {**context.set, **context.fields}
    return torch_class.record(context.class_names.fixed, torch_class.what_is_fixed(context), fields)


def class_doc(context: Context, about: str, derived: bool = True) -> tuple[str, ...]:
    """The docstring of a class: its subject, the symbols of its equations, and names of what is ``derived`` from it."""
    network = context.network
    consts = ", ".join(f"{name} = {const.value:.6g}" for name, const in network.consts.items())
    said = [about, f"Consts: {consts}." if consts else ""]
    paragraphs = [line for text in filter(None, said) for line in ("", *wrapped(text))][1:]
    lets = [network.source.slice(q.tree.span) for q in network.lets.values()]
    if lets:
        paragraphs += ["", *(line for text in lets for line in wrapped(text, indent="    "))]
        names = "``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint."
        paragraphs += ["", names] if derived else []
    return tuple(paragraphs)
