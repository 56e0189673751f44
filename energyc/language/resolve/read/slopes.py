"""``grad(E1 + E2, q[n, d])``: the gradient of energies by a let or a state, in a flow."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.language.diagnostics import Label, did_you_mean, listed, quoted
from energyc.language.network import Slope
from energyc.language.resolve.context import Scope, Tensor
from energyc.language.resolve.read.arguments import match_arguments
from energyc.language.resolve.read.places import read_places
from energyc.language.resolve.terms import Bad, Element, Term
from energyc.language.syntax import ast
from energyc.mathematics.calculus import DoesNotOccur, gradient
from energyc.mathematics.ir import ONE, Node


def read_grad(scope: Scope, expr: ast.Apply) -> Term:
    """An element of a gradient; its stand-in is noted in the frame of the flow that reads it."""
    arguments = match_arguments(scope, expr, ("energies", "by"))
    if arguments is None:
        return Bad(expr.span)
    if scope.frame.slopes is None:
        help = "in an energy's own state it is already there: a state moves by minus the gradient of the energies"
        _report(scope, "`grad(...)` stands in a `flow` or `next`", expr, help)
        return Bad(expr.span)
    energies, by = _energies(scope, arguments["energies"]), _by(scope, arguments["by"])
    if energies is None or by is None:
        return Bad(expr.span)
    element, tensor = by
    slope = _slope(scope, expr, energies, tensor)
    places = read_places(scope, element, tensor)
    if slope is None or places is None:
        return Bad(expr.span)
    scope.frame.slopes.setdefault(slope.stand_in, slope)
    return Element(expr.span, slope.stand_in, places)


def _slope(scope: Scope, expr: ast.Apply, energies: dict[str, Node], by: Tensor) -> Slope | None:
    graph = scope.context.graph
    total = graph.add([(ONE, node) for node in energies.values()], ())
    try:
        node = gradient(graph, total, [by.node])[by.node]
    except DoesNotOccur:
        verb = "energy {} does" if len(energies) == 1 else "energies {} do"
        labels = [scope.names.entries[name].label() for name in (*energies, by.name)]
        help = f"write the energy in terms of `{by.name}`, or differentiate by what it reads"
        _report(scope, f"{verb.format(quoted(energies))} not depend on `{by.name}`", expr, help, labels)
        return None
    stand_in = graph.input(f"{' + '.join(energies)}, {by.name}", "slope", by.dims)
    return Slope(stand_in, tuple(energies), by.name, by.node, node)


def _energies(scope: Scope, expr: ast.Expr) -> dict[str, Node] | None:
    """The energies of a sum by name; None where something in it is none, which is reported."""
    energies: dict[str, Node] = {}
    for operand in ast.operands(expr, "+"):
        name = ast.plain_name(operand)
        entry = None if name is None else scope.names.get(name.text)
        if name is None or entry is None or entry.kind != "energy":
            _report_no_energy(scope, operand, name)
            return None
        if name.text in energies:
            _report(scope, f"energy `{name.text}` stands twice in this `grad(...)`", operand, "name it once")
            return None
        scope.frame.reads.setdefault(name.text, name.span)
        node = scope.context.definitions.energy(name.text)
        if node is None:
            return None
        energies[name.text] = node
    return energies


def _report_no_energy(scope: Scope, operand: ast.Expr, name: ast.Name | None) -> None:
    energies = [entry.name for entry in scope.names.of_kind("energy")]
    if name is not None and (entry := scope.names.get(name.text)) is not None:
        message, labels = f"`{name.text}` is {entry.with_article}, not an energy", [entry.label()]
    else:
        what = f"there is no energy `{name.text}`" if name is not None else "this is not the name of an energy"
        message, labels = what, []
    help = "the first argument is a sum of energies by name: `grad(att + mem, g[n,d])`"
    if energies:
        help = f"the energies are {listed(energies)}"
    if name is not None:
        help = did_you_mean(name.text, energies, help, name.span) or help
    _report(scope, message, operand, help, labels)


def _by(scope: Scope, expr: ast.Expr) -> tuple[ast.Apply, Tensor] | None:
    """The let or state to differentiate by, with the element that is read; None where it is neither."""
    element = expr if isinstance(expr, ast.Apply) and expr.arguments is None and not expr.prime else None
    entry = None if element is None else scope.names.get(element.name.text)
    if element is None or entry is None or entry.kind not in ("let", "state"):
        text = scope.reporter.source.slice(expr.span)
        message = f"`{text}` is not a let or state that energies could be differentiated by"
        help = "write `let g[n,d] = ...`, read `g` in the energy, and differentiate by `g[n,d]`"
        _report(scope, message, expr, help, [entry.label()] if entry else [])
        return None
    tensor = scope.tensor(element.name)
    return None if tensor is None else (element, tensor)


def _report(scope: Scope, message: str, tree: ast.Expr, help: str, labels: list[Label] | None = None) -> None:
    scope.reporter.error("E0438", message, tree.span, labels=labels or (), help=help)


def differentiated(statements: Iterable[ast.Statement]) -> frozenset[str]:
    """The names that a ``grad(...)`` of a part of a file is taken by."""
    names: set[str] = set()
    for statement in statements:
        for tree in ast.walk(statement) if isinstance(statement, ast.Equation) else ():
            if isinstance(tree, ast.Apply) and tree.name.text == "grad" and len(tree.arguments or ()) == 2:
                by = (tree.arguments or ())[1].value
                names |= {by.name.text} if isinstance(by, ast.Apply) else set()
    return frozenset(names)
