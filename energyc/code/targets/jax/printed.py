"""The text of a module: its head, its imports, its sizes, its equations, its model; and the network as an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from energyc.code.module.context import Options
from energyc.code.module.head import JAX, imports, origin
from energyc.code.module.symbols import Symbols, definitions
from energyc.code.targets.layout import laid_out
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Dict, Name, String, Tuple, call, literal
from energyc.code.tree.prose import wrapped
from energyc.code.tree.quotation import quote
from energyc.code.tree.statements import Assign, Blank, Body, Class, Import
from energyc.language.network import Network
from energyc.runtime import RULES as DECLARED


def module_text(
    network: Network,
    options: Options,
    without: Sequence[str],
    symbols: Sequence[Symbols],
    constants: Body,
    equations: Body,
) -> str:
    """The text of a module: sizes, constants, and what is below them.

    ``without`` are rules that JAX does not support, ``symbols`` the sizes.
    """
    body = (*constants, *equations)
    said = [f"Unsupported in JAX: {', '.join(without)}"] * bool(without)
    about = origin(network, options.rules, options, [line for text in said for line in wrapped(text)])
    imported = imports(facts.free_names(*body), JAX, Import("energyc", ("jax",), "ej"))
    sizes = definitions(symbols, body) or (Blank(),) * bool(constants)
    return laid_out("jax", about, imported, (*sizes, *body))


def bound(rules: Sequence[str], others: Sequence[str]) -> Body:
    """Functions of ``energyc.jax`` with the model given: rules, and others."""
    learned = [DECLARED[rule].function for rule in rules]
    return tuple(_bound(group) for group in (others, learned) if group)


def _bound(functions: Sequence[str]) -> Assign:
    """``relax, step = ej.bind(MODEL, ej.relax, ej.step)``."""
    given = [Attribute(Name("ej"), name) for name in functions]
    own = {"answer_through_steps": "answer"}
    names = Tuple(tuple(Name(own.get(name, name)) for name in functions), bare=len(functions) > 1)
    return Assign(names, call("ej.bind", Name("MODEL"), *given))


def network_class(name: str, rules: Sequence[str], names: Mapping[str, tuple[str, ...]]) -> Class:
    """The network as an object; ``names`` are those of the spec that are no fields of records."""
    named = Dict(tuple((String(rule), Name(DECLARED[rule].function)) for rule in rules))
    body = [Assign(Name("model"), Name("MODEL")), Assign(Name("rules"), named)]
    body += [Assign(Name("names"), literal(dict(names)))] if names else []
    return Class(name, tuple(body), (quote("ej.Network"),), ("The network as an object with params of its own.",))
