"""A sum of products, multiplied out wholly, or as far as some of its nodes are concerned."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Node, Stop, walk

#: The most monomials that a sum is multiplied out into.
MOST = 128


@dataclass(frozen=True)
class Monomial:
    """A product of factors, each with the label of each of its axes, summed over the labels that are not in ``out``."""

    coefficient: Coefficient
    factors: tuple[tuple[Node, tuple[int, ...]], ...]
    labels: Mapping[int, str]
    out: tuple[int, ...]

    def node(self, graph: Graph) -> Node:
        """The product as a node of a graph."""
        return graph.einsum(self.coefficient, self.factors, self.labels, self.out)

    def without(self, k: int) -> Monomial:
        """The product of all factors but the k-th."""
        return replace(self, factors=(*self.factors[:k], *self.factors[k + 1 :]))


def monomials(root: Node, apart: Collection[Node] | None = None, most: int = MOST) -> list[Monomial] | None:
    """The monomials of a node, in the order of its terms; None where there would be more than ``most``.

    Sums and products are taken apart, through ``frozen`` and ``detach``. With nodes ``apart`` only those are that read
    one of them, so that each of them is a factor; a factor that reads none stays as it is.
    """
    holding = None if apart is None else _readers([root], apart)
    axes = tuple(range(len(root.dims)))
    left, found = [Monomial(ONE, ((root, axes),), dict(enumerate(root.dims)), axes)], list[Monomial]()
    while left:
        monomial = left.pop()
        parts = _multiplied_out(monomial, holding)
        if parts is None:
            found.append(monomial)
        else:
            left += reversed(parts)
        if len(left) + len(found) > most:
            return None
    return found


def _readers(roots: Collection[Node], apart: Collection[Node]) -> set[Node]:
    """The sums and products under the roots that read one of the nodes ``apart``."""
    holding: set[Node] = set()
    for node in walk(roots):
        if isinstance(node, Add | Einsum) and any(child in apart or child in holding for child in node.children):
            holding.add(node)
    return holding


def _multiplied_out(monomial: Monomial, holding: Collection[Node] | None) -> list[Monomial] | None:
    """The monomial with one of its factors taken apart; None where no factor is to be."""
    for k, (node, axes) in enumerate(monomial.factors):
        if holding is not None and node not in holding:
            continue
        match node:
            case Add():
                return [_with(monomial.without(k), c, ((term, axes),)) for c, term in node.terms]
            case Einsum() if len(set(node.out)) == len(node.out):
                return [_inlined(monomial.without(k), node, axes)]
            case Stop():
                return [_with(monomial.without(k), ONE, ((node.argument, axes),))]
    return None


def _with(rest: Monomial, coefficient: Coefficient, factors: tuple[tuple[Node, tuple[int, ...]], ...]) -> Monomial:
    return replace(rest, coefficient=rest.coefficient * coefficient, factors=(*rest.factors, *factors))


def _inlined(rest: Monomial, node: Einsum, axes: tuple[int, ...]) -> Monomial:
    """The monomial times a product, whose own sums get labels of their own."""
    fresh = iter(range(max(rest.labels, default=-1) + 1, max(rest.labels, default=-1) + 1 + len(node.labels)))
    place = dict(zip(node.out, axes, strict=True))
    place |= {label: next(fresh) for label in node.contracted}
    labels = {**rest.labels, **{place[k]: node.labels[k] for k in node.contracted}}
    factors = tuple((o.node, tuple(place[a] for a in o.axes)) for o in node.operands)
    return replace(_with(rest, node.coefficient, factors), labels=labels)
