"""Checks of the whole network: every declaration is used, every state moves, every energy moves a state."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.language.diagnostics import Label, Span, listed
from energyc.language.network import Network
from energyc.language.resolve.bindings import Bindings
from energyc.language.resolve.context import Context
from energyc.language.resolve.equations import Equations
from energyc.language.resolve.names import Entry
from energyc.language.resolve.words import LANGUAGE_FUNCTIONS
from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import Input, walk

_ROOTS = ("energy", "force", "readout", "cost", "metric", "state")
_MAY_BE_UNUSED = ("dim", "const", "data", "clamp", "noise", "param", "target", "let", "fn", "tie")


def check_part(context: Context, used: set[str], bindings: Bindings) -> None:
    """Report what a part of a file declares and never uses, where its equations are all well formed."""
    used = used | context.sizes.used | bindings.used | LANGUAGE_FUNCTIONS
    for entry in context.names.entries.values():
        if entry.name in used or entry.name not in context.names.own:
            continue
        if entry.kind == "layer":
            _report_unused(context, entry)
        elif entry.kind in _MAY_BE_UNUSED:
            context.reporter.warn("W0201", f"{entry.noun} `{entry.name}` is never used", entry.span)


def _report_unused(context: Context, entry: Entry) -> None:
    context.reporter.error(
        "E0441",
        f"{entry.noun} `{entry.name}` is never used",
        entry.span,
        "nothing depends on it",
        help=f"read its state outside of it, `{entry.name}.x[...]`, or remove it",
    )


def used_names(context: Context, equations: Equations, read: Iterable[str] = ()) -> set[str]:
    """The names that terms, starts and answers read, directly or through lets, functions and ties.

    ``read`` are those that are read from outside of the part.
    """
    starts = [name for name in equations.frames if name.startswith(("start ", "clamped ", "flow "))]
    pending = [*starts, *read, *(entry.name for entry in context.names.own_of_kind(*_ROOTS))]
    used: set[str] = set()
    while pending:
        name = pending.pop()
        if name in used:
            continue
        used.add(name)
        pending.extend(equations.frames[name].reads if name in equations.frames else ())
        pending.extend(_source_of(equations, name))
    return used


def _source_of(equations: Equations, name: str) -> Iterable[str]:
    """The param that a tie renames."""
    tensor = equations.tensors.get(name)
    if tensor is None or tensor.kind != "tie":
        return ()
    return [node.name for node in walk([tensor.node]) if isinstance(node, Input)]


def check_terms(context: Context, network: Network, called: str = "this network", place: Span | None = None) -> None:
    """Report energies that depend on no state, and states that no term moves; ``called`` stands for the network."""
    states = {name: state.node for name, state in network.states.items()}
    if not states:
        message = f"{called} has no state, so nothing relaxes"
        context.reporter.error("E0444", message, place, help="declare one: `state z[D]`")
        return
    moved = {term.state for term in network.forces.values()}
    for term in network.energies.values():
        dependent = depends([term.node], set(states.values()), frozen=False)
        moved_by_term = {name for name, node in states.items() if node in dependent}
        if term.name in network.acting:
            moved |= moved_by_term & network.descending.keys()
        if not moved_by_term:
            context.reporter.error(
                "E0443",
                f"energy `{term.name}` depends on no state, so it moves nothing",
                term.tree.left.span,
                help=f"a term of the cost belongs in `cost`; the states are {listed(states)}",
            )
        elif term.name in network.acting and not moved_by_term & network.descending.keys():
            flow = network.flows[min(moved_by_term, key=list(states).index)]
            context.reporter.error(
                "E0443",
                f"energy `{term.name}` moves nothing: no flow names it, and a state with a `{flow.word}` moves by that "
                "alone",
                term.tree.left.span,
                labels=[Label(flow.tree.left.span, f"`{flow.name}` moves by this")],
                help=f"add it to the {flow.word} of `{flow.name}`: `grad(... + {term.name}, ...)`",
            )
    for name in states:
        if name not in moved:
            context.reporter.error(
                "E0442",
                f"nothing moves state `{name}`",
                context.names.entries[name].span,
                "no energy moves it, no force acts on it, and it has no flow",
                help=f"write an energy of `{name}`, a force on it or its flow; an input that does not move is a clamp",
            )
