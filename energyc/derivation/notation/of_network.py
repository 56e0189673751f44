"""The notation of a whole network: its lets and ties by name, the spec's own names for indices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from energyc.derivation.notation.notation import Notation
from energyc.language.syntax import ast
from energyc.mathematics.ir import Input, Node

if TYPE_CHECKING:
    from energyc.language.network import Network


def of_network(network: Network, further: Mapping[Node, tuple[str, tuple[str, ...]]] | None = None) -> Notation:
    """A notation in which lets and ties go by their names; ``further`` nodes too."""
    names: dict[Node, tuple[str, tuple[str, ...]]] = {}
    for quantity in network.lets.values():
        if not isinstance(quantity.node, Input):
            names.setdefault(quantity.node, (quantity.name, quantity.indices))
    for tie in network.ties.values():
        if not isinstance(tie.node, Input):
            names.setdefault(tie.node, (tie.name, network.index_names.get(tie.node, ())))
    names.update(further or {})
    written = _as_written(network)
    first = dict(reversed(written))
    habits = tuple(pair for node, indices in written for pair in zip(node.dims, indices, strict=True))
    return Notation(names, {**first, **network.index_names}, network.extents, _declared(network), habits)


def _as_written(network: Network) -> list[tuple[Node, tuple[str, ...]]]:
    """The indices that the spec writes after inputs and lets where all are plain, in the order of the file."""
    tables = (network.clamps, network.noises, network.targets, network.params, network.states, network.lets)
    nodes: dict[str, Node] = {name: item.node for table in tables for name, item in table.items()}
    written: list[tuple[Node, tuple[str, ...]]] = []
    for tree in subtrees(network.tree):
        if isinstance(tree, ast.Apply) and tree.slots and tree.name.text in nodes:
            node = nodes[tree.name.text]
            names = (_plain(slot.expr) for slot in tree.slots)
            plain = tuple(name for name in names if name is not None and name not in nodes)
            if len(set(plain)) == len(tree.slots) == len(node.dims):
                written.append((node, plain))
    return written


def _plain(expr: ast.Expr) -> str | None:
    bare = isinstance(expr, ast.Apply) and expr.slots is None and expr.arguments is None and not expr.prime
    return expr.name.text if isinstance(expr, ast.Apply) and bare else None


def subtrees(tree: ast.Tree) -> Iterator[ast.Tree]:
    """A tree and all inside it, in the order of the file."""
    stack: list[object] = [tree]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Tree):
            yield top
            stack.extend(getattr(top, field.name) for field in reversed(fields(top)))
        elif isinstance(top, tuple):
            stack.extend(reversed(top))


def _declared(network: Network) -> frozenset[str]:
    """Every name that means something in the spec, so that no index gets it."""
    tables: tuple[Mapping[str, object], ...] = (
        network.sizes,
        network.consts,
        network.bindings,
        network.clamps,
        network.noises,
        network.targets,
        network.params,
        network.ties,
        network.states,
        network.lets,
        network.terms,
        network.readouts,
        network.metrics,
    )
    step = () if network.step is None else (network.step.name,)
    return frozenset((*(name for table in tables for name in table), *step))
