"""Which state acts on which, and through which terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from energyc.derivation.derive.derivation import Derivation
from energyc.mathematics.ir import Input, Node, walk

#: The kinds of inputs that act on a state, as the spec declares them.
SOURCES = ("state", "clamp", "noise")


@dataclass(frozen=True)
class Influence:
    """The states that a term moves, each with the states, clamps and noise that its force on it reads.

    ``reads`` are all of these that the term itself reads, and ``params`` its params; a tie counts as its source.
    """

    term: str
    kind: str
    moves: dict[str, tuple[str, ...]]
    reads: tuple[str, ...]
    params: tuple[str, ...]


def influences(derivation: Derivation) -> list[Influence]:
    """Return what each term does, in the order of the spec."""
    return [_influence(derivation, name) for name in derivation.network.terms]


def _influence(derivation: Derivation, name: str) -> Influence:
    term = derivation.network.terms[name]
    moves = {state: tuple(_inputs(node, *SOURCES)) for state, node in derivation.term_forces[name].items()}
    return Influence(name, term.word, moves, tuple(_inputs(term.node, *SOURCES)), tuple(_inputs(term.node, "param")))


def _inputs(node: Node, *kinds: str) -> Iterator[str]:
    """Yield the names of the inputs of some kinds, each once, in the order in which the graph has them."""
    found = {each for each in walk([node]) if isinstance(each, Input) and each.kind in kinds}
    yield from (each.name for each in sorted(found, key=lambda each: each.number))
