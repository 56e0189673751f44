"""The correction of frozen AEP in two methods: what its states decide is computed once, the rest at each step."""

from __future__ import annotations

from energyc.code.plan import plan, reached, statements_for
from energyc.code.plan.rims import off_rims
from energyc.code.plan.routines import correction
from energyc.code.targets.torch.classes import record
from energyc.code.targets.torch.methods import MethodWriter
from energyc.code.tree.expressions import Attribute, Expr, Name
from energyc.code.tree.statements import Class, Function
from energyc.mathematics.ir import Node


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
    return [hold, method], record(name, doc, fields)
